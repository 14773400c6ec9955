import { createHash } from 'node:crypto'
import { type DisruptionCommand, type DisruptionMethod, methodFacts, reasonOf } from '../../core/disruption/command.ts'
import { isUnknownPrice } from '../azure/catalogue/pricing.ts'
import type { DisruptionProposal } from './contract.ts'

/** Most candidates of one proposal and of one answer, which is kept in a history. The next pass proposes the rest. */
const mostOfProposal = 100
const mostOfAnswer = 300

/** Returns commands as proposals, in their order. Empty nodes need not go together, so many of them are several proposals. */
export function proposalsOf(
  commands: readonly DisruptionCommand[],
  forced: boolean,
  most = mostOfAnswer,
): readonly DisruptionProposal[] {
  const proposals: DisruptionProposal[] = []
  let left = most
  for (const command of commands.flatMap(inParts)) {
    if (command.candidates.length > left && proposals.length > 0) break
    left -= command.candidates.length
    proposals.push(proposalOf(command, forced))
  }
  return proposals
}

function inParts(command: DisruptionCommand): readonly DisruptionCommand[] {
  const { method, candidates } = command
  if (!methodFacts[method].holdsInPart || candidates.length <= mostOfProposal) return [command]
  const parts = Math.ceil(candidates.length / mostOfProposal)
  return Array.from({ length: parts }, (_, at) => {
    const own = candidates.slice(at * mostOfProposal, (at + 1) * mostOfProposal)
    return { ...command, candidates: own, savings: own.reduce((sum, { price }) => sum + price, 0) }
  })
}

function proposalOf(command: DisruptionCommand, forced: boolean): DisruptionProposal {
  const { method, decision, candidates, replacements, repair } = command
  return {
    id: commandIdOf(command),
    method,
    reason: reasonOf(command),
    decision,
    forced,
    candidates: candidates.map(({ nodeClaim, node, nodePool }) => ({
      name: nodeClaim.metadata.name,
      uid: nodeClaim.metadata.uid,
      nodeName: node.metadata.name,
      nodePool: nodePool.metadata.name,
    })),
    replacements: replacements.length,
    savings: knownSavings(command),
    ...(repair && { repair }),
  }
}

/**
 * Derives the id from the method and from the candidates' state. An evaluation that is run twice proposes the same. What failed and
 * was undone has changed, and is proposed under a new id.
 */
function commandIdOf({ method, candidates }: Pick<DisruptionCommand, 'method' | 'candidates'>): string {
  const stood = candidates
    .map(({ nodeClaim: { metadata } }) => `${metadata.uid} ${metadata.resourceVersion}`)
    .sort()
    .join(',')
  return `${method}-${createHash('sha256').update(stood).digest('hex').slice(0, 10)}`
}

/** Returns the digest of an id, which the names of replacements carry. */
export function commandDigest(id: string): string {
  return id.slice(id.lastIndexOf('-') + 1)
}

/** Returns the method of a command; undefined when it is not an id of this release. */
export function commandMethod(id: string): DisruptionMethod | undefined {
  const method = id.slice(0, Math.max(0, id.lastIndexOf('-')))
  return Object.hasOwn(methodFacts, method) ? (method as DisruptionMethod) : undefined
}

/** Returns why a command disrupts its nodes. */
export function commandReason(id: string) {
  const method = commandMethod(id)
  return method && methodFacts[method].reason
}

/** Returns what a command saves, in USD an hour to six decimals, for people and histories: nothing where the price of a node is not known. */
export function knownSavings({
  savings,
  candidates,
  replacements,
}: Pick<DisruptionCommand, 'savings' | 'candidates' | 'replacements'>): number {
  const isUnknown = [...candidates, ...replacements].some(({ price }) => isUnknownPrice(price))
  return isUnknown ? 0 : Math.round(savings * 1e6) / 1e6
}
