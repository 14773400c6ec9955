import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import type { WaitingReport } from '../../../starter/answers/pod-report.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { StagedPool } from '../objects.ts'
import type { Scene } from '../scene.ts'
import { whyPod } from './answers.ts'
import { cpusOf, isGoing, isTrue, isWaiting } from './objects-seen.ts'
import { Lasting, type Untruth } from './wrong.ts'

/** For how long something has to be so, while nothing is wrong, before an account must agree with it. */
export const settledMs = 120_000
/** How long a pod may be said to have a node planned that does not come: longer than a launch in which Azure is slow. */
const mostPlannedMs = 10 * 60_000
/** How far what planners have written down may be behind. */
const mostBehindMs = 3 * 60_000
/** Pods whose account is read at each look: pods of a workload wait for the same. */
const mostPods = 4

/** Holds what `joiner why pod` says at a time of pods that wait against the objects that there are then. */
export class PodAccounts {
  readonly #scene: Scene
  /** Since when each NodePool could have had another node of its smallest and of its largest size, by `POOL smallest` and `POOL largest`. */
  readonly #room = new Map<string, number>()
  /** Since when each pod is said to have a node planned, by UID. */
  readonly #planned = new Map<string, number>()
  /** By UID. */
  readonly #lasting = new Lasting()

  constructor(scene: Scene) {
    this.#scene = scene
  }

  /** Something is wrong that an account may not have caught up with. */
  forget(): void {
    this.#planned.clear()
    this.#lasting.keep([])
  }

  /** Notes which NodePools have room. */
  lookAtRoom(): void {
    for (const pool of this.#scene.pools.values())
      for (const which of ['smallest', 'largest'] as const) {
        const key = `${pool.name} ${which}`
        if (!this.#hasRoom(pool, which)) this.#room.delete(key)
        else if (!this.#room.has(key)) this.#room.set(key, this.#scene.nowMs)
      }
  }

  /** Returns what is said and is not so. */
  async look(): Promise<readonly string[]> {
    const waiting = this.#waiting()
    const uids = waiting.map((pod) => metaOf(pod).uid)
    for (const uid of this.#planned.keys()) if (!uids.includes(uid)) this.#planned.delete(uid)
    this.#lasting.keep(uids)
    const some = [...Map.groupBy(waiting, workloadOf).values()].flatMap((own) => own.slice(0, 1)).slice(0, mostPods)
    return (await Promise.all(some.map((pod) => this.#lookAt(pod)))).flat()
  }

  async #lookAt(pod: Json): Promise<readonly string[]> {
    const { name, uid } = metaOf(pod)
    const said = (await whyPod(this.#scene, name))?.report.waiting
    if (said === undefined) return []
    this.#scene.count(`accounts of pods: ${said.state}${said.cause === undefined ? '' : `, ${said.cause}`}`)
    if (said.state !== 'planned') this.#planned.delete(uid)
    else if (!this.#planned.has(uid)) this.#planned.set(uid, this.#scene.nowMs)
    const untrue = [...this.#untruths(pod, said), ...this.#otherPods(pod, said)]
    const inWords = untrue.map((one) => ({
      mostMs: one.mostMs,
      key: one.key ?? one.what,
      what: `pod ${name} is said to be ${words(said)}; ${one.what}`,
    }))
    return this.#lasting.look(uid, inWords, this.#scene.nowMs)
  }

  #untruths(pod: Json, said: WaitingReport): readonly Untruth[] {
    switch (said.state) {
      case 'planned':
        return this.#ofPlanned(pod, said)
      case 'unschedulable':
        return [...this.#ofCause(pod, said), ...this.#ofFunnel(pod, said)]
      case 'held':
        return said.cause === 'paused' && !this.#isPaused()
          ? [{ what: 'provisioning is not paused', mostMs: mostBehindMs }]
          : []
      case 'unknown':
        return [{ what: 'it has waited for minutes', mostMs: mostBehindMs }]
    }
  }

  #ofPlanned(pod: Json, { plannedOn, finding }: WaitingReport): readonly Untruth[] {
    // Of pods that several nodes are made for, the finding names one.
    const place = plannedOn?.split(' ').at(-1) ?? /NodeClaim (\S+)/.exec(finding ?? '')?.[1]
    const claim = this.#objects('nodeclaims').find((one) => metaOf(one).name === place)
    const isThere = claim !== undefined || this.#objects('nodes').some((one) => metaOf(one).name === place)
    if (place !== undefined && !isThere)
      return [{ what: `neither a NodeClaim nor a Node has that name`, mostMs: settledMs }]
    // What people stop, and what never joins, may take longer.
    if (claim !== undefined && !isTrue(claim, 'Initialized')) return []
    const ms = this.#scene.nowMs - (this.#planned.get(metaOf(pod).uid) ?? this.#scene.nowMs)
    return ms > mostPlannedMs ? [{ what: 'it has not got to its node for ten minutes', mostMs: 0 }] : []
  }

  #ofCause(pod: Json, said: WaitingReport): readonly Untruth[] {
    const { nowMs, wasRefused } = this.#scene
    if (said.cause === 'capacity' && !wasRefused) return [{ what: 'Azure has refused nothing', mostMs: 0 }]
    // What Azure refused may leave the largest size alone, and of zones one.
    if (wasRefused && said.cause !== 'limits') return []
    const which = wasRefused ? 'largest' : 'smallest'
    const roomy = this.#poolsOf(pod).find(
      ({ name }) => nowMs - (this.#room.get(`${name} ${which}`) ?? nowMs) >= settledMs,
    )
    if (roomy === undefined) return []
    return [{ what: `NodePool ${roomy.name} has had room for its ${which} size for two minutes`, mostMs: 0 }]
  }

  /** The funnel has a line for each NodePool but those that the pod's nodeSelector leaves out. */
  #ofFunnel(pod: Json, { funnel }: WaitingReport): readonly Untruth[] {
    if (funnel.length === 0) return []
    const named = funnel.map((line) => /^NodePool (\S+):/.exec(line)?.[1] ?? line)
    const ready = this.#objects('nodepools')
      .filter((pool) => !isGoing(pool) && isTrue(pool, 'Ready'))
      .map((pool) => metaOf(pool).name)
    // Pods get no new node of a static NodePool, so planners do not ask it.
    const possible = this.#poolsOf(pod)
      .filter(({ nodes }) => nodes === undefined)
      .map(({ name }) => name)
    return [
      ...named.filter((name) => !ready.includes(name)).map((name) => `there is no NodePool ${name} that is ready`),
      ...ready
        .filter((name) => possible.includes(name) && !named.includes(name))
        .map((name) => `nothing is said of NodePool ${name}`),
    ].map((what) => ({ what, mostMs: mostBehindMs }))
  }

  /** How many pods like it wait, it says as well. */
  #otherPods(pod: Json, { pods = 1 }: WaitingReport): readonly Untruth[] {
    const alike = this.#objects('pods').filter((one) => workloadOf(one) === workloadOf(pod) && isWaiting(one)).length
    if (pods <= alike) return []
    return [{ key: 'pods', what: `it is said to be one of ${pods}, of which ${alike} wait`, mostMs: mostBehindMs }]
  }

  /** Pods that kube-scheduler has found no node for, for long enough. */
  #waiting(): readonly Json[] {
    return this.#objects('pods').filter((pod) => isWaiting(pod, this.#scene.nowMs - settledMs))
  }

  #isPaused(): boolean {
    return 'provisioning' in this.#scene.storedPauses
  }

  #poolsOf(pod: Json): readonly StagedPool[] {
    const { plan, pools } = this.#scene
    const workload = plan.workloads.find(({ name }) => name === workloadOf(pod))
    return [...pools.values()].filter(({ name }) => workload?.pool === undefined || workload.pool === name)
  }

  /** Whether a NodePool could have another node of a size: it and its class are there and ready, and its limits allow it. */
  #hasRoom(
    { name, nodes, cpus, cpuLimit = Number.POSITIVE_INFINITY }: StagedPool,
    which: 'smallest' | 'largest',
  ): boolean {
    const { objects } = this.#scene.fast.cluster.server
    const pool = objects.find(`/apis/karpenter.sh/v1/nodepools/${name}`)
    const nodeClass = objects.find('/apis/karpenter.azure.com/v1beta1/aksnodeclasses/default')
    if (![pool, nodeClass].every((one) => one !== undefined && !isGoing(one) && isTrue(one, 'Ready'))) return false
    const used = cpusOf(this.#scene, name)
    const size = which === 'smallest' ? Math.min(...cpus.map(Number)) : Math.max(...cpus.map(Number))
    return nodes === undefined && used + size <= cpuLimit && !this.#scene.api.refuses(name)
  }

  #objects(resource: 'pods' | 'nodes' | 'nodeclaims' | 'nodepools'): readonly Json[] {
    return this.#scene.fast.cluster.server.objects.of(resource)
  }
}

const workloadOf = (pod: Json) => metaOf(pod).labels?.['app'] ?? ''

const words = ({ state, cause, finding }: WaitingReport) =>
  `${state}${cause === undefined ? '' : ` (${cause})`}: ${finding}`
