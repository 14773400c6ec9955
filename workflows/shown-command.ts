import type { DisruptionProposal } from '../activities/disruption/contract.ts'
import { oneLine } from '../core/history/record.ts'
import { namesText } from '../core/history/texts.ts'
import { searchAttributes } from './search-attributes.ts'

/** The line that Temporal's list shows of a disruption command. */
export function commandSummary({ reason, decision, candidates }: DisruptionProposal): string {
  return oneLine(`${reason}: ${decision} ${namesText(candidates.map(({ name }) => name))}`)
}

/** Search attributes of a command: a single NodePool and a single Node are recorded by name; several are not. */
export function commandAttributes(candidates: DisruptionProposal['candidates']) {
  const [first, ...rest] = candidates
  const isOnePool = first !== undefined && rest.every(({ nodePool }) => nodePool === first.nodePool)
  return [
    ...(isOnePool ? [{ key: searchAttributes.nodePool, value: first.nodePool }] : []),
    ...(first !== undefined && rest.length === 0 ? [{ key: searchAttributes.nodeName, value: first.nodeName }] : []),
  ]
}
