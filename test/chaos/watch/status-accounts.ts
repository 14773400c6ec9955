import { decodeNodeClaim } from '../../../activities/kubernetes/cache/decode.ts'
import { phaseOf } from '../../../core/node-claim/phase.ts'
import { storedPauses } from '../../../core/pauses/pauses.ts'
import { disruptionCommandId, lifecycleId, singletonIds } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import type { Fault, Finding } from '../../../starter/temporal/findings/finding.ts'
import { traceKeys } from '../../command-writes.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Scene } from '../scene.ts'
import { type StatusAnswer, statusOf } from './answers.ts'
import { owningUids, poolOf } from './lost-vms.ts'
import { isGoing, isWaiting } from './objects-seen.ts'
import { runningIds, runningOf } from './row-untruths.ts'
import { everyNth, Lasting, type Untruth } from './wrong.ts'

/** How far what planners write down of pods may be behind, what processes tell of themselves, and lists of Temporal's. */
const mostBehindMs = 3 * 60_000
/** How far what is written down of the last search for nodes to disrupt may be behind: it is made each five minutes. */
const mostOldMs = 12 * 60_000
/** How far what only garbage collection finds may be behind: two runs of maintenance and their jitter. */
const mostUnseenMs = 25 * 60_000
/** A younger NodeClaim may have no lifecycle yet. */
const youngMs = 60_000
/** A clock may be so far ahead. */
const skewMs = 60_000

/** What `joiner status` says of Temporal only where something is wrong that no plan of chaos brings about. */
const impossible: readonly Fault[] = [
  'cannot be read',
  'not allowed',
  'of another form',
  'schedule missing',
  'schedule paused',
  'search attribute missing',
  'search attribute of another type',
  'server too old',
]

/** Holds what `joiner status` says at a time against the objects, workflows and VMs that there are then. */
export class StatusAccounts {
  readonly #scene: Scene
  readonly #lasting = new Lasting()

  constructor(scene: Scene) {
    this.#scene = scene
  }

  /** Something is wrong that an answer may not have caught up with. */
  forget(): void {
    this.#lasting.keep([])
  }

  /** Returns what has not been so for too long. */
  async look(): Promise<readonly string[]> {
    if (!this.#lasting.isDue(everyNth.status)) return []
    this.#scene.count('accounts of all')
    const answer = await statusOf(this.#scene)
    const untrue = [
      ...this.#ofNodePools(answer),
      ...this.#ofMoney(answer),
      ...this.#ofPods(answer),
      ...this.#ofCommands(answer),
      ...this.#ofProcesses(answer),
      ...this.#ofTemporal(answer),
      ...this.#ofMachines(answer),
      ...(answer.json.unread.length === 0 ? [] : [{ what: `not read: ${answer.json.unread[0]}`, mostMs: 0 }]),
    ]
    return this.#lasting.look('status', untrue, this.#scene.nowMs)
  }

  /** How many nodes each NodePool has, in which phases. */
  #ofNodePools({ json }: StatusAnswer): readonly Untruth[] {
    const claims = this.#objects('nodeclaims').map((claim) => ({
      pool: poolOf(claim),
      phase: phaseOf(decodeNodeClaim(claim)).phase,
    }))
    const is = Map.groupBy(claims, ({ pool }) => pool)
    const said = new Map((json.nodePools ?? []).map((pool) => [pool.nodePool, pool]))
    return [...new Set([...is.keys(), ...said.keys()])].flatMap((pool) => {
      const own = is.get(pool) ?? []
      const told = said.get(pool)
      const isSo = [...Map.groupBy(own, ({ phase }) => phase)].every(
        ([phase, some]) => told?.phases[phase] === some.length,
      )
      if (isSo && told?.nodes === own.length) return []
      const what = `${pool} has ${own.length} nodes, and is said to have ${told?.nodes ?? 0}: ${JSON.stringify(told?.phases)}`
      return [{ key: `nodes of ${pool}`, what, mostMs: 0 }]
    })
  }

  /** Nodes cost no more than Azure is paid for their VMs. */
  #ofMoney({ json }: StatusAnswer): readonly Untruth[] {
    const rows = this.#scene.fast.azure.deps.bill.rows.filter(({ toMs }) => toMs === undefined)
    return (json.nodePools ?? []).flatMap(({ nodePool, pricePerHour = 0 }) => {
      const own = rows.filter(({ tags }) => tags['karpenter.sh_nodepool'] === nodePool)
      const paid = own.reduce((sum, row) => sum + (row.pricePerHour ?? 0), 0)
      if (pricePerHour <= paid + 0.0001) return []
      const what = `nodes of ${nodePool} are said to cost ${pricePerHour} USD an hour, and Azure is paid ${paid}`
      return [{ key: `money of ${nodePool}`, what, mostMs: mostUnseenMs }]
    })
  }

  #ofPods({ json, known }: StatusAnswer): readonly Untruth[] {
    const waiting = this.#objects('pods').filter((pod) => isWaiting(pod))
    const { planned = 0, unschedulable = 0, held = 0 } = json.pendingPods ?? {}
    const count = planned + unschedulable + held
    const names = new Set(waiting.map((pod) => `default/${metaOf(pod).name}`))
    const named = [...(known.waiting?.classes.values() ?? [])].flatMap(({ pods }) => pods)
    return [
      ...(count === waiting.length
        ? []
        : [{ key: 'pods', what: `${count} pods are said to wait, of ${waiting.length}`, mostMs: mostBehindMs }]),
      ...named
        .filter((name) => !names.has(name))
        .map((name) => ({ what: `pod ${name} is said to wait, and does not`, mostMs: mostBehindMs })),
    ]
  }

  #ofCommands({ json, known }: StatusAnswer): readonly Untruth[] {
    const running = runningOf(this.#scene, 'disruptionCommand')
    const said = (json.commands ?? []).map(({ id }) => disruptionCommandId(clusterName, id))
    const isPaused = known.disruption?.wholeLoop !== undefined
    const [taken] = this.#objects('nodeclaims').filter(
      (claim) => !isGoing(claim) && metaOf(claim).annotations?.[traceKeys.stamp] !== undefined,
    )
    return [
      ...said
        .filter((id) => !running.includes(id))
        .map((id) => ({ what: `${id} is said to be under way, and is not`, mostMs: mostBehindMs })),
      ...running
        .filter((id) => !said.includes(id))
        .map((id) => ({ what: `${id} is under way, and nothing is said of it`, mostMs: mostBehindMs })),
      ...(said.length > 0 || taken === undefined
        ? []
        : [
            {
              key: 'taken',
              what: `no command is said to be under way, and ${metaOf(taken).name} has one`,
              mostMs: mostOldMs,
            },
          ]),
      ...this.#ofEvaluation(known.evaluations?.lastPass?.atMs, isPaused),
    ]
  }

  /** The cluster is looked at each five minutes, unless that is paused. */
  #ofEvaluation(atMs: number | undefined, isPaused: boolean): readonly Untruth[] {
    if (atMs === undefined) return []
    const ageMs = this.#scene.nowMs - atMs
    if (ageMs >= -skewMs && (ageMs <= mostOldMs || isPaused)) return []
    const what = `the cluster was last evaluated at ${new Date(atMs).toISOString()}`
    return [{ key: 'evaluation', what, mostMs: mostBehindMs }]
  }

  /** Who does what only one process does, and what is paused. */
  #ofProcesses({ json }: StatusAnswer): readonly Untruth[] {
    const names = [...this.#scene.fast.joiners.keys()]
    return [
      ...(json.leases ?? [])
        .filter(({ holder }) => holder !== null && !names.includes(holder))
        .map(({ name, holder }) => ({
          what: `the Lease ${name} is said to be held by ${holder}`,
          mostMs: mostBehindMs,
        })),
      // Planners obey what is stored: a loop does not hear of a pause that a restore of etcd brings back.
      ...json.loops.flatMap(({ loop, pauses: told }) => {
        const { length } = storedPauses(this.#scene.storedPauses, loop, this.#scene.nowMs).inForce
        if (told == null || told.length === length) return []
        const what = `${loop} is said to be paused ${told.length} times, and ${length} pauses are in force`
        return [{ key: `pauses of ${loop}`, what, mostMs: 0 }]
      }),
    ]
  }

  /** What is wrong is said, and nothing else. */
  #ofTemporal({ report, isWhole }: StatusAnswer): readonly Untruth[] {
    const running = runningIds(this.#scene)
    const findings = report.findings ?? []
    const isFound = (fault: Fault, object: string) =>
      !isWhole && findings.some((one) => one.fault === fault && one.object === object)
    const lost = this.#objects('nodeclaims')
      .map((claim) => metaOf(claim))
      .filter(({ creationTimestamp = '' }) => this.#scene.nowMs - Date.parse(creationTimestamp) > youngMs)
      .filter((claim) => !running.has(lifecycleId(clusterName, claim)))
    const loops = Object.values(singletonIds)
      .map((idOf) => idOf(clusterName))
      .filter((id) => !running.has(id))
    return [
      ...lost
        .filter(({ name }) => !isFound('lifecycle missing', `NodeClaim ${name}`))
        .map(({ name }) => ({ what: `NodeClaim ${name} has no lifecycle, and nothing is said of it`, mostMs: 0 })),
      ...loops
        .filter((id) => !isFound('loop not running', `workflow ${id}`))
        .map((id) => ({ what: `${id} does not run, and nothing is said of it`, mostMs: 0 })),
      ...findings
        .filter((one) => !this.#isSo(one, running))
        .map(({ object, fault }) => ({ what: `${object} is said to be ${fault}`, mostMs: 0 })),
    ]
  }

  #isSo({ fault, object }: Finding, running: ReadonlySet<string>): boolean {
    const name = object.split(' ').at(-1) ?? ''
    const claims = this.#objects('nodeclaims').map((claim) => metaOf(claim))
    switch (fault) {
      case 'lifecycle missing':
        return claims.some((claim) => claim.name === name && !running.has(lifecycleId(clusterName, claim)))
      case 'lifecycle without NodeClaim':
        return claims.every((claim) => lifecycleId(clusterName, claim) !== name)
      case 'loop not running':
        return !running.has(name)
      default:
        return !impossible.includes(fault)
    }
  }

  /** Machines without a NodeClaim are there, and without one. */
  #ofMachines({ json }: StatusAnswer): readonly Untruth[] {
    const uids = owningUids(this.#objects('nodeclaims'))
    return (json.withheldMachines?.machines ?? []).flatMap(({ kind, name, uid = '' }) => {
      const isThere = kind !== 'VM' || this.#scene.fast.azure.deps.machines.get(name) !== undefined
      if (isThere && !uids.has(uid)) return []
      return [{ what: `${kind} ${name} is said to be without a NodeClaim`, mostMs: mostUnseenMs }]
    })
  }

  #objects(resource: 'pods' | 'nodeclaims') {
    return this.#scene.fast.cluster.server.objects.of(resource)
  }
}
