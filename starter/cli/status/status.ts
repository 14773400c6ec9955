import type { NodeClaim } from '../../../core/objects.ts'
import type { Pause } from '../../../core/pauses/pauses.ts'
import type { TaskQueueRole } from '../../../core/task-queues.ts'
import { ownClaims } from '../../picture/from-cluster.ts'
import type { LoopReport, TemporalStatus } from '../../picture/from-temporal.ts'
import {
  disruptionPauses,
  evaluations,
  keptMs,
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
import { poolsOf } from '../../picture/pools.ts'
import type { PoolPicture } from '../../picture/watch/cluster-view.ts'
import { factOfClaim } from '../../picture/watch/facts.ts'
import { nodeView } from '../../picture/watch/node-view.ts'
import type { Finding } from '../../temporal/findings/finding.ts'
import { readLeases } from '../shared/leases.ts'
import { findingGroups, type Repairer, readRepairer } from '../shared/temporal-findings.ts'

/** What is read from the cluster rather than from Temporal. */
export const statusParts = {
  /** Of Joiner's NodePools. */
  nodeClaims: ownClaims(),
  /** Whether a process of Joiner repairs what is wrong in Temporal. */
  repairer: {
    what: 'Lease joiner-bridge',
    limitMs: keptMs,
    read: ({ client, namespace, now }: Scene) => readRepairer(client, namespace, now),
  },
  /** Who does what only one process does. */
  leases: { what: 'Leases', limitMs: keptMs, read: ({ client, namespace }: Scene) => readLeases(client, namespace) },
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

/** Whether all that the answer needs was read and nothing is broken. Prices adorn it: without them a column is unknown. */
export function isWell(report: StatusReport, known: ClusterReport): boolean {
  const { missing = [] } = known
  const lacking = missing.filter(({ what }) => what !== prices.what)
  return problemsOf(report, known).length + (report.missing ?? []).length + lacking.length === 0
}

/** A lifecycle without a NodeClaim harms nobody, and may be about to end in the moment of the look. */
function isEnding({ fault }: Finding, { kind }: Repairer): boolean {
  return fault === 'lifecycle without NodeClaim' && kind === 'there'
}

/** Pools by name; undefined: which NodeClaims there are is not known. */
export function poolsIn({ nodeClaims, prices }: ClusterReport, now: number): readonly PoolPicture[] | undefined {
  const context = { now, priceOf: prices?.list?.priceOf }
  const viewOf = (claim: NodeClaim) =>
    nodeView({ key: claim.metadata.name, node: undefined, claim: factOfClaim(claim), pods: [] }, context).view
  return nodeClaims && poolsOf(nodeClaims.map(viewOf))
}
