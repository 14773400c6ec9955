import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import type { WaitingReport } from '../../../starter/answers/pod-report.ts'
import { podReport } from '../../../starter/answers/pod-report.ts'
import { readPod } from '../../../starter/picture/pod-picture.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Scene, StagedPool } from '../scene.ts'
import { LifeAccounts } from './life-accounts.ts'
import { NodeAccounts } from './node-accounts.ts'
import { type Condition, cpusOf, isGoing, isTrue } from './objects-seen.ts'

const everyMs = 60_000
/** For how long something has to be so, while nothing is wrong, before an account must agree with it. */
const settledMs = 120_000
/** How long a pod may be said to have a node planned that does not come: longer than a launch in which Azure is slow. */
const mostPlannedMs = 10 * 60_000
/** Pods whose account is read at each look: pods of a workload wait for the same. */
const mostPods = 4

interface PodSeen extends Json {
  readonly spec?: { readonly nodeName?: string }
  readonly status?: { readonly conditions?: readonly (Condition & { readonly lastTransitionTime?: string })[] }
}

interface Untrue {
  readonly ofPods: readonly string[]
  readonly ofNodes: readonly string[]
  readonly ofLives: readonly string[]
}

const nothing: Untrue = { ofPods: [], ofNodes: [], ofLives: [] }

/** Holds what `joiner why pod`, `joiner why node` and `joiner node list` say at a time against the objects that there are then. */
export class Accounts {
  readonly #scene: Scene
  #lookedMs = 0
  /** Since when there has been nothing wrong that an account may not have caught up with. */
  #calmSinceMs: number
  /** Since when each NodePool could have had another node of its smallest and of its largest size, by `POOL smallest` and `POOL largest`. */
  readonly #room = new Map<string, number>()
  /** Since when each pod is said to have a node planned, by UID. */
  readonly #planned = new Map<string, number>()
  readonly #nodes: NodeAccounts
  readonly #lives: LifeAccounts

  constructor(scene: Scene) {
    this.#scene = scene
    this.#nodes = new NodeAccounts(scene)
    this.#lives = new LifeAccounts(scene)
    this.#calmSinceMs = scene.nowMs
  }

  /** Returns what is said and is not so. */
  async look(): Promise<Untrue> {
    const { nowMs } = this.#scene
    if (!this.#isCalm()) this.#calmSinceMs = nowMs
    for (const pool of this.#scene.pools.values())
      for (const which of ['smallest', 'largest'] as const) {
        const key = `${pool.name} ${which}`
        if (!this.#hasRoom(pool, which)) this.#room.delete(key)
        else if (!this.#room.has(key)) this.#room.set(key, nowMs)
      }
    if (nowMs - this.#lookedMs < everyMs) return nothing
    this.#lookedMs = nowMs
    const waiting = this.#waiting()
    const uids = new Set(waiting.map((pod) => metaOf(pod).uid))
    for (const uid of this.#planned.keys()) if (!uids.has(uid)) this.#planned.delete(uid)
    if (nowMs - this.#calmSinceMs < settledMs) {
      this.#planned.clear()
      this.#nodes.forget()
      this.#lives.forget()
      return nothing
    }
    const byWorkload = Map.groupBy(waiting, (pod) => metaOf(pod).labels?.['app'] ?? '')
    const some = [...byWorkload.values()].flatMap((own) => own.slice(0, 1)).slice(0, mostPods)
    const [ofPods, ofNodes, ofLives] = await Promise.all([
      Promise.all(some.map((pod) => this.#lookAt(pod))),
      this.#nodes.look(),
      this.#lives.look(),
    ])
    return { ofPods: ofPods.flat(), ofNodes, ofLives }
  }

  /** Whether Joiner sees what there is, and can do something about it. */
  #isCalm(): boolean {
    const { fast, api } = this.#scene
    const isTrouble = fast.temporal.isAway || api.isTroubled || fast.cluster.watching.lagMs > 0
    const processes = [...fast.joiners.values()]
    return (
      !isTrouble &&
      processes.length > 0 &&
      processes.every(({ process }) => process.skewMs === 0) &&
      this.#scene.isCalmFor(settledMs)
    )
  }

  async #lookAt(pod: Json): Promise<readonly string[]> {
    const { fast, nowMs } = this.#scene
    const { name, uid } = metaOf(pod)
    const picture = await readPod('default', name, { client: fast.cluster.client, namespace: 'joiner', now: nowMs })
    const said = picture && podReport(picture).waiting
    if (said === undefined) return []
    this.#scene.count(`accounts of pods: ${said.state}${said.cause === undefined ? '' : `, ${said.cause}`}`)
    if (said.state !== 'planned') this.#planned.delete(uid)
    else if (!this.#planned.has(uid)) this.#planned.set(uid, nowMs)
    const untrue = this.#untruth(pod, said)
    return untrue === undefined ? [] : [`pod ${name} is said to be ${words(said)}; ${untrue}`]
  }

  /** In what an account is wrong; undefined: in nothing. */
  #untruth(pod: Json, said: WaitingReport): string | undefined {
    const { nowMs, wasRefused } = this.#scene
    if (said.state === 'planned') {
      const ms = nowMs - (this.#planned.get(metaOf(pod).uid) ?? nowMs)
      return ms > mostPlannedMs && this.#isLate(said) ? `no node has come for ${ms / 60_000} minutes` : undefined
    }
    if (said.state !== 'unschedulable') return undefined
    if (said.cause === 'capacity' && !wasRefused) return 'Azure has refused nothing'
    // What Azure refused may leave the largest size alone, and of zones one.
    if (wasRefused && said.cause !== 'limits') return undefined
    const which = wasRefused ? 'largest' : 'smallest'
    const roomy = this.#poolsOf(pod).find(
      ({ name }) => nowMs - (this.#room.get(`${name} ${which}`) ?? nowMs) >= settledMs,
    )
    return roomy && `NodePool ${roomy.name} has had room for its ${which} size for two minutes`
  }

  /** Whether the node that a pod is said to get should be there by now: what people stop, and what never joins, may take longer. */
  #isLate({ plannedOn = '' }: WaitingReport): boolean {
    const claim = this.#objects('nodeclaims').find((one) => plannedOn.endsWith(metaOf(one).name))
    return claim === undefined || isTrue(claim, 'Initialized')
  }

  /** Pods that kube-scheduler has found no node for, for long enough. */
  #waiting(): readonly Json[] {
    return (this.#objects('pods') as readonly PodSeen[]).filter((pod) => {
      const found = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
      const sinceMs = Date.parse(found?.lastTransitionTime ?? '')
      return (
        pod.spec?.nodeName === undefined &&
        !isGoing(pod) &&
        found?.reason === 'Unschedulable' &&
        this.#scene.nowMs - sinceMs >= settledMs
      )
    })
  }

  #poolsOf(pod: Json): readonly StagedPool[] {
    const { plan, pools } = this.#scene
    const workload = plan.workloads.find(({ name }) => name === metaOf(pod).labels?.['app'])
    return [...pools.values()].filter(({ name }) => workload?.pool === undefined || workload.pool === name)
  }

  /** Whether a NodePool could have another node of a size: it and its class are there and ready, and its limits allow it. */
  #hasRoom({ name, cpus, cpuLimit = Number.POSITIVE_INFINITY }: StagedPool, which: 'smallest' | 'largest'): boolean {
    const { objects } = this.#scene.fast.cluster.server
    const pool = objects.find(`/apis/karpenter.sh/v1/nodepools/${name}`)
    const nodeClass = objects.find('/apis/karpenter.azure.com/v1beta1/aksnodeclasses/default')
    if (![pool, nodeClass].every((one) => one !== undefined && !isGoing(one) && isTrue(one, 'Ready'))) return false
    const used = cpusOf(this.#objects('nodeclaims'), name)
    const size = which === 'smallest' ? Math.min(...cpus.map(Number)) : Math.max(...cpus.map(Number))
    return used + size <= cpuLimit
  }

  #objects(resource: 'pods' | 'nodeclaims'): readonly Json[] {
    return this.#scene.fast.cluster.server.objects.of(resource)
  }
}

const words = ({ state, cause, finding }: WaitingReport) =>
  `${state}${cause === undefined ? '' : ` (${cause})`}: ${finding}`
