import type { LateEntry } from '../../../activities/azure/answers/late-list.ts'
import type { StoredWaiting } from '../../../api/waiting-pods.ts'
import type { WithheldMachines } from '../../../api/withheld-machines.ts'
import type { LastPass } from '../../../core/disruption/verdicts/verdict.ts'
import type { Phase } from '../../../core/node-claim/phase.ts'
import type { LoopName, Pause } from '../../../core/pauses/pauses.ts'
import type { QuarantineEntry } from '../../../core/quarantine.ts'
import type { TaskQueueRole } from '../../../core/task-queues.ts'
import type { Finding } from '../../temporal/findings/finding.ts'
import type { LeaseReport } from '../shared/leases.ts'
import { findingGroups, type Repairer } from '../shared/temporal-findings.ts'

/** One loop, as Temporal and the loop itself tell. */
export interface LoopReport {
  readonly loop: LoopName
  /** `silent`: it runs, and no worker answers for it. */
  readonly state: 'running' | 'silent' | 'not running' | 'not read'
  readonly doing?: string
  /** Epoch ms. */
  readonly sinceMs?: number
  /** What it says of its pauses, of every scope; absent: it does not answer. */
  readonly pauses?: readonly Pause[]
  /** What Temporal tries again and again, in words. */
  readonly troubles: readonly string[]
}

/** What is read from the cluster rather than from Temporal; what is absent could not be read. */
export interface ClusterReport {
  /** The NodeClaims of Joiner's NodePools. */
  readonly nodes?: readonly NodeReport[]
  /** Whether a process of Joiner repairs what is wrong in Temporal. */
  readonly repairer?: Repairer
  /** Who does what only one process does. */
  readonly leases?: readonly LeaseReport[]
  /** What could not be read, with the reason. */
  readonly unread?: readonly string[]
  /** Documents that Joiner keeps in ConfigMaps and that are not as it writes them, a line each with the remedy. */
  readonly damaged?: readonly string[]
  readonly priceOf?: PriceOf
  /** Objects that planners leave out. */
  readonly quarantined?: readonly QuarantineEntry[]
  /** Why pods wait, as planners found it last. */
  readonly waiting?: StoredWaiting
  /** Machines without a NodeClaim that garbage collection keeps since pods run there. */
  readonly withheld?: WithheldMachines
  /** What is to say of lifecycles that were cancelled in Temporal and go on; empty: nothing. */
  readonly refusedCancellations?: string
  /** Lists of Azure's that waits share and that do not come. */
  readonly lateLists?: readonly LateEntry[]
  /** The last search for nodes to disrupt, as it was recorded: once a minute at most. */
  readonly lastPass?: LastPass
  /** The pauses that planners obey. */
  readonly pauses?: Readonly<Record<LoopName, readonly Pause[]>>
}

/** The pauses of a loop: those that planners read, else what the loop says; undefined: nobody could be asked. */
export function pausesOf({ loop, pauses }: LoopReport, cluster: ClusterReport): readonly Pause[] | undefined {
  return cluster.pauses?.[loop] ?? pauses
}

export interface CommandReport {
  readonly id: string
  readonly startedMs: number
  /** Absent: no worker answered. */
  readonly doing?: string
  readonly candidates: readonly string[]
}

/** A NodeClaim, as the cluster has it. */
export interface NodeReport {
  readonly nodePool: string
  readonly phase: Phase
  readonly instanceType: string
  readonly capacityType: string
}

export interface QueueReport {
  readonly role: TaskQueueRole
  readonly queue: string
  /** Workers that ask for work now. */
  readonly workers: number
}

/** What Joiner does in one cluster at one moment, as Temporal tells; what is absent could not be read. */
export interface StatusReport {
  readonly cluster?: string
  readonly loops: readonly LoopReport[]
  readonly commands?: readonly CommandReport[]
  readonly queues: readonly QueueReport[]
  /** What is not in Temporal as it should be. */
  readonly findings: readonly Finding[]
  /** What could not be read, with the reason. */
  readonly unread: readonly string[]
}

/** The status where Temporal cannot be used. `why`: with the remedy. */
export function unreadStatus(why: string): StatusReport {
  return { loops: [unreadLoop('provisioning'), unreadLoop('disruption')], queues: [], findings: [], unread: [why] }
}

/** A loop of which Temporal says nothing. */
export function unreadLoop(loop: LoopName): LoopReport {
  return { loop, state: 'not read', troubles: [] }
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
  { loops, queues, findings }: StatusReport,
  { lateLists = [], damaged = [], repairer = unknownRepairer }: ClusterReport,
): readonly string[] {
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
    ...loops.flatMap(({ loop, state, troubles }) => [
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

/** An hour's price of a size in USD; undefined: no list names it. */
export type PriceOf = (instanceType: string, capacityType: string) => number | undefined

/** Pools by name. `priceOf` absent: prices could not be read. */
export function poolSummaries(nodes: readonly NodeReport[], priceOf: PriceOf | undefined): readonly PoolSummary[] {
  const pools = Map.groupBy(nodes, ({ nodePool }) => nodePool)
  return [...pools]
    .map(([nodePool, members]): PoolSummary => {
      const phases: Partial<Record<Phase, number>> = {}
      for (const { phase } of members) phases[phase] = (phases[phase] ?? 0) + 1
      const prices = members.map(({ instanceType, capacityType }) => priceOf?.(instanceType, capacityType))
      const known = prices.filter((price) => price !== undefined)
      return {
        nodePool,
        nodes: members.length,
        phases,
        ...(priceOf === undefined ? {} : { pricePerHour: known.reduce((sum, price) => sum + price, 0) }),
        unpriced: prices.length - known.length,
      }
    })
    .sort((a, b) => (a.nodePool < b.nodePool ? -1 : 1))
}
