// Findings of Temporal for people and programs, with who repairs them.

import { isNotFound } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { timeText } from '../../../core/values/time.ts'
import { few } from '../../document/words.ts'
import type { Finding } from '../../temporal/findings/finding.ts'
import { leaseReport } from './leases.ts'

/** A leader renews its Lease every 3 s; clocks of two machines may differ by some seconds. */
const silenceMs = 60_000
const mostNamed = 3

/** Whether a process of Joiner repairs what it finds in Temporal. */
export type Repairer = { readonly kind: 'there' } | { readonly kind: 'none' | 'unknown'; readonly why: string }

/** Reads whether a process holds the Lease of the bridge. `namespace`: Joiner's; `now`: epoch ms. */
export async function readRepairer(
  client: Pick<KubernetesClient, 'get'>,
  namespace: string,
  now: number,
): Promise<Repairer> {
  const lease = `the Lease joiner-bridge in the namespace "${namespace}"`
  try {
    const found = leaseReport('joiner-bridge', await client.get(resourcePath('leases', 'joiner-bridge', namespace)))
    const { holder, renewedMs = Number.NaN } = found
    if (holder === undefined) return { kind: 'none', why: `no process holds ${lease}` }
    if (Math.abs(now - renewedMs) < silenceMs) return { kind: 'there' }
    const since = Number.isNaN(renewedMs) ? '' : ` since ${timeText(renewedMs)}`
    return { kind: 'none', why: `${holder} has not renewed ${lease}${since}` }
  } catch (error) {
    return isNotFound(error)
      ? { kind: 'none', why: `nobody has taken ${lease}` }
      : { kind: 'unknown', why: `${lease} could not be read` }
  }
}

/** Findings that say the same of several objects. */
export interface FindingGroup {
  /** What is wrong with which objects, and what becomes of it. */
  readonly text: string
  /** Unset: Joiner repairs it. */
  readonly remedy?: string
  readonly fault: Finding['fault']
}

/** Returns findings for people, those of the same fault and remedy together. */
export function findingGroups(findings: readonly Finding[], repairer: Repairer): readonly FindingGroup[] {
  const groups = Map.groupBy(findings, ({ fault, detail, remedy }) => JSON.stringify([fault, detail, remedy]))
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const { fault, detail, remedy } = first
    const objects = few(
      group.map(({ object }) => object),
      mostNamed,
    )
    const text = `${objects}: ${fault}${detail === undefined ? '' : `, ${detail}`}`
    if (isBeingRepaired(first, repairer)) return [{ text: `${text}; Joiner repairs this by itself within 30 s`, fault }]
    if (first.repair === undefined || repairer.kind === 'there') return [{ text, remedy, fault }]
    const unrepaired = repairer.kind === 'none' ? 'nobody repairs it' : 'whether it is being repaired is not known'
    return [{ text: `${text}; ${unrepaired}, since ${repairer.why}`, remedy, fault }]
  })
}

/** The findings for programs. */
export function findingsJson(findings: readonly Finding[], repairer: Repairer) {
  return findings.map((finding) => {
    const { object, fault, detail, remedy } = finding
    return { object, fault, ...(detail && { detail }), remedy, isBeingRepaired: isBeingRepaired(finding, repairer) }
  })
}

function isBeingRepaired({ repair }: Finding, { kind }: Repairer): boolean {
  return repair !== undefined && kind === 'there'
}
