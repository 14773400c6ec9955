import type { PriceOf } from '../../../core/cost/report.ts'
import { type Phase, phaseOf } from '../../../core/node-claim/phase.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import type { Pause } from '../../../core/pauses/pauses.ts'
import { labels } from '../../../core/requirements/labels.ts'
import type { TaskQueueRole } from '../../../core/task-queues.ts'
import { ownClaims } from '../../picture/from-cluster.ts'
import type { LoopReport, TemporalStatus } from '../../picture/from-temporal.ts'
import {
  disruptionPauses,
  evaluations,
  lateLists,
  ofProcesses,
  prices,
  provisioningPauses,
  quarantined,
  refusedCancellations,
  waiting,
  withheld,
} from '../../picture/kept.ts'
import type { ClusterPicture, Scene } from '../../picture/picture.ts'
import type { Finding } from '../../temporal/findings/finding.ts'
import { readLeases } from '../shared/leases.ts'
import { findingGroups, type Repairer, readRepairer } from '../shared/temporal-findings.ts'

const limitMs = 3000

/** What is read from the cluster rather than from Temporal. */
export const statusParts = {
  /** Of Joiner's NodePools. */
  nodeClaims: ownClaims(),
  /** Whether a process of Joiner repairs what is wrong in Temporal. */
  repairer: {
    what: 'Lease joiner-bridge',
    limitMs,
    read: ({ client, namespace, now }: Scene) => readRepairer(client, namespace, now),
  },
  /** Who does what only one process does. */
  leases: { what: 'Leases', limitMs, read: ({ client, namespace }: Scene) => readLeases(client, namespace) },
  prices,
  provisioning: provisioningPauses,
  disruption: disruptionPauses,
  quarantined,
  waiting,
  withheld,
  lateLists,
  refusedCancellations,
  /** With the last search for nodes to disrupt, as it was recorded: once a minute at most. */
  evaluations: evaluations(0),
  ...ofProcesses,
}

/** What is absent could not be read. */
export type ClusterReport = Partial<ClusterPicture<typeof statusParts>>

/** Returns the pauses of a loop: those that planners read, else what the loop says; undefined: nobody could be asked. */
export function pausesOf({ loop, pauses }: LoopReport, cluster: ClusterReport): readonly Pause[] | undefined {
  return (loop === 'disruption' ? cluster.disruption?.inForce : cluster.provisioning) ?? pauses
}

/** What Joiner does in one cluster at one moment, as Temporal reports it; what is absent could not be read. */
export interface StatusReport extends Partial<TemporalStatus> {
  readonly cluster?: string
}

/** The loops, also where Temporal says nothing of them. */
export function loopsOf({ loops }: StatusReport): readonly LoopReport[] {
  return (['provisioning', 'disruption'] as const).map(
    (loop) => loops?.find((each) => each.loop === loop) ?? { loop, state: 'not read', troubles: [] },
  )
}

/** The roles that work on each queue, as JOINER_ROLES names them. */
const rolesOf: Readonly<Record<TaskQueueRole, string>> = {
  core: 'core',
  wait: 'core',
  azure: 'azure',
  plan: 'planner',
  maintenance: 'azure',
}

/** Where the cluster could not be read. */
export const unknownRepairer: Repairer = { kind: 'unknown', why: 'the Lease joiner-bridge could not be read' }

/** What is broken, a line each with the remedy; none: all is well. */
export function problemsOf(
  report: StatusReport,
  { lateLists = [], damaged = [], repairer = unknownRepairer }: ClusterReport,
): readonly string[] {
  const { queues = [], findings = [] } = report
  return [
    ...damaged,
    ...lateLists.map(
      ({ list, sinceMs, process, why }) =>
        `Azure has sent no list of ${list} to ${process} since ${new Date(sinceMs).toISOString()}, so launches wait; it is asked again: ${why}`,
    ),
    ...queues
      .filter(({ workers }) => workers === 0)
      .map(
        ({ queue, role }) =>
          `no worker asks for work on the task queue ${queue} (role ${rolesOf[role]}): kubectl get pods --namespace joiner`,
      ),
    ...findingGroups(
      findings.filter((finding) => !isEnding(finding, repairer)),
      repairer,
    ).map(({ text, remedy }) => (remedy === undefined ? text : `${text}: ${remedy}`)),
    ...loopsOf(report).flatMap(({ loop, state, troubles }) => [
      ...(state === 'silent' ? [`the ${loop} loop does not answer: no worker of the role core works for it`] : []),
      ...troubles.map((trouble) => `${loop}: ${trouble}`),
    ]),
  ]
}

/** A lifecycle without a NodeClaim harms nobody, and may be about to end in the moment of the look. */
function isEnding({ fault }: Finding, { kind }: Repairer): boolean {
  return fault === 'lifecycle without NodeClaim' && kind === 'there'
}

/** The nodes of one pool: how many in each phase, and what they cost an hour in USD; `unpriced` have no known price. */
export interface PoolSummary {
  readonly nodePool: string
  readonly nodes: number
  readonly phases: Partial<Readonly<Record<Phase, number>>>
  readonly pricePerHour?: number
  readonly unpriced: number
}

/** Pools by name. `priceOf` absent: prices could not be read. */
export function poolSummaries(claims: readonly NodeClaim[], priceOf: PriceOf | undefined): readonly PoolSummary[] {
  const pools = Map.groupBy(claims, ({ metadata }) => metadata.labels[labels.nodePool] ?? '(none)')
  return [...pools]
    .map(([nodePool, members]): PoolSummary => {
      const phases: Partial<Record<Phase, number>> = {}
      for (const { phase } of members.map(phaseOf)) phases[phase] = (phases[phase] ?? 0) + 1
      const pricesOf = members.map(({ metadata: { labels: own } }) =>
        priceOf?.(own[labels.instanceType] ?? '', own[labels.capacityType] ?? ''),
      )
      const known = pricesOf.filter((price) => price !== undefined)
      return {
        nodePool,
        nodes: members.length,
        phases,
        ...(priceOf === undefined ? {} : { pricePerHour: known.reduce((sum, price) => sum + price, 0) }),
        unpriced: pricesOf.length - known.length,
      }
    })
    .sort((a, b) => (a.nodePool < b.nodePool ? -1 : 1))
}
