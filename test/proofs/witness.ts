import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import type { World } from '../world.ts'

const watched = {
  pod: '/api/v1/namespaces/default/pods',
  node: '/api/v1/nodes',
  nodeClaim: '/apis/karpenter.sh/v1/nodeclaims',
  podDisruptionBudget: '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
} as const

export type WitnessedKind = keyof typeof watched

/** A Kubernetes object, as far as the proofs look into it. */
export interface Witnessed {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
  }
  readonly spec: {
    readonly nodeName?: string
    readonly taints?: readonly { readonly key: string }[]
  }
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[]
    /** Of a NodeClaim. */
    readonly nodeName?: string
    /** Of a PodDisruptionBudget. */
    readonly currentHealthy?: number
    readonly desiredHealthy?: number
  }
}

/** One change of one object. */
export interface Moment {
  readonly revision: number
  /** By the clock of this process, when it was told of the change. */
  readonly atMs: number
  readonly kind: WitnessedKind
  readonly name: string
  /** Undefined: it is gone. */
  readonly object: Witnessed | undefined
}

/** Watches pods, nodes, NodeClaims and PodDisruptionBudgets, and keeps every change: what is proven is proven of each moment, not of the end. */
export class Witness {
  readonly #moments: Moment[] = []
  readonly #present = new Map<WitnessedKind, Map<string, Witnessed>>()
  readonly #client: KubernetesClient
  readonly #end = new AbortController()
  #failure: Error | undefined

  private constructor(client: KubernetesClient) {
    this.#client = client
  }

  static async start(world: World): Promise<Witness> {
    const witness = new Witness(await world.servers.kubernetes())
    for (const kind of Object.keys(watched) as WitnessedKind[]) await witness.#follow(kind)
    return witness
  }

  /** What is there now, as far as told. Errors: a watch has ended, so nobody knows. */
  now(kind: WitnessedKind): readonly Witnessed[] {
    if (this.#failure !== undefined) throw this.#failure
    return [...(this.#present.get(kind)?.values() ?? [])]
  }

  /**
   * Every change in the order in which the cluster made them: kinds are told of separately, but all their versions are revisions of one etcd.
   * Errors: a watch has ended, so that something may be missing.
   */
  moments(): readonly Moment[] {
    if (this.#failure !== undefined) throw this.#failure
    return this.#moments.toSorted((a, b) => a.revision - b.revision)
  }

  async stop(): Promise<void> {
    this.#end.abort()
    await this.#client.close()
  }

  async #follow(kind: WitnessedKind): Promise<void> {
    const { items, resourceVersion } = await this.#client.list(watched[kind])
    this.#present.set(kind, new Map())
    for (const item of items) this.#see(kind, 'ADDED', item as unknown as Witnessed)
    void this.#read(kind, resourceVersion)
  }

  /** The API server ends watches that it finds slow; each goes on from the last version that was seen, so nothing is missed. */
  async #read(kind: WitnessedKind, listed: string): Promise<void> {
    const { signal } = this.#end
    let version = listed
    try {
      while (!signal.aborted) {
        const events = this.#client.watch(watched[kind], { resourceVersion: version, signal, idleMs: 600_000 })
        for await (const { type, object } of events) {
          if (type === 'ERROR') throw new Error(JSON.stringify(object))
          const seen = object as unknown as Witnessed
          if (type !== 'BOOKMARK') this.#see(kind, type, seen)
          version = seen.metadata.resourceVersion
        }
      }
    } catch (error) {
      if (!signal.aborted) this.#failure = new Error(`the watch of kind ${kind} ended: ${String(error)}`)
    }
  }

  #see(kind: WitnessedKind, type: string, object: Witnessed): void {
    const { name, resourceVersion } = object.metadata
    const isGone = type === 'DELETED'
    if (isGone) this.#present.get(kind)?.delete(name)
    else this.#present.get(kind)?.set(name, object)
    this.#moments.push({
      revision: Number(resourceVersion),
      atMs: Date.now(),
      kind,
      name,
      object: isGone ? undefined : object,
    })
  }
}
