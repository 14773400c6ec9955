import { type CommitDeps, commitDisruptions } from '../../activities/disruption/commit/commit.ts'
import type { DisruptionProposal } from '../../activities/disruption/contract.ts'
import { Fence } from '../../activities/provisioning/fence.ts'
import type { Proposed, Validation } from '../../core/disruption/validate.ts'
import { FakeCluster } from './cluster.ts'
import { claimJson, nodeClassJson, nodeJson, poolJson } from './objects.ts'
import { plannedClaim, planningDeps } from './planning.ts'
import { ended } from './time.ts'

export const id = 'multi-node-0123456789-01234567'

export const stampKey = 'joiner.sh/disruption-command'

export const replacementKey = 'joiner.sh/replacement-for'

export const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }

export function proposal(names: readonly string[], change: Partial<DisruptionProposal> = {}): DisruptionProposal {
  return {
    id,
    method: 'multi-node',
    reason: 'Underutilized',
    decision: 'replace',
    forced: false,
    order: [0, 0],
    candidates: names.map((name) => ({ name, uid: `uid-${name}`, nodeName: `aks-${name}`, nodePool: 'default' })),
    replacements: 1,
    savings: 0.5,
    ...change,
  }
}

export const empty = (names: readonly string[], change: Partial<DisruptionProposal> = {}) =>
  proposal(names, {
    id: 'emptiness-0123456789-01234567',
    method: 'emptiness',
    reason: 'Empty',
    decision: 'delete',
    replacements: 0,
    ...change,
  })

export async function world(
  names: readonly string[] = ['a', 'b'],
  look?: (proposed: Proposed) => Validation | undefined,
) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson())
  cluster.put('aksnodeclasses', nodeClassJson())
  for (const name of names) {
    cluster.put('nodeclaims', claimJson(name))
    cluster.put('nodes', nodeJson(name))
  }
  const known = await planningDeps(cluster, look)
  known.plan.replacements = [plannedClaim()]
  return {
    cluster,
    ...known,
    /** Commits as an attempt of the activity, counted from 1. */
    commit: (proposals: readonly DisruptionProposal[], attempt = 1) =>
      ended(commitAs(known.deps, proposals, attempt === 1)),
  }
}

/** Errors: that of the first proposal whose attempt is to be repeated, too. */
async function commitAs(deps: CommitDeps, proposals: readonly DisruptionProposal[], isFirst: boolean) {
  const fence = await Fence.take(deps, 'joiner-disruption-fence', 'test')
  const outcomes = await commitDisruptions(
    deps,
    fence,
    proposals.map((one) => ({ proposal: one, isFirst })),
  )
  return outcomes.map((outcome) => {
    if (outcome.kind === 'failed') throw outcome.error
    return outcome
  })
}

/** What a command has left on each claim and its Node; `free`: nothing. */
export function marksOf(cluster: FakeCluster, names: readonly string[] = ['a', 'b']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.map((name) => {
      const claim = cluster.object('nodeclaims', name)
      const node = cluster.object('nodes', `aks-${name}`)
      const why = claim?.status.conditions.find(({ type }) => type === 'DisruptionReason')?.reason
      const stamp = claim?.metadata.annotations[stampKey]
      const marks = [
        ...(node?.spec.taints.some(({ key }) => key === disrupted.key) ? ['taint'] : []),
        ...(why === undefined ? [] : [why]),
        ...(stamp === undefined ? [] : [stamp]),
      ]
      return [name, marks.join(' ') || 'free']
    }),
  )
}

export const free = { a: 'free', b: 'free' }

export const begun = { a: `taint Underutilized ${id}`, b: `taint Underutilized ${id}` }

export const replacementsIn = (cluster: FakeCluster) =>
  cluster.all('nodeclaims').filter(({ metadata }) => metadata.annotations[replacementKey] !== undefined)
