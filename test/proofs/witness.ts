import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Agent, request } from 'undici'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'

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
  readonly #cluster: LocalCluster
  readonly #agent: Agent
  #failure: Error | undefined
  #closed = false

  private constructor(cluster: LocalCluster, agent: Agent) {
    this.#cluster = cluster
    this.#agent = agent
  }

  static async start(cluster: LocalCluster): Promise<Witness> {
    const ca = await readFile(cluster.pki.caFile, 'utf8')
    const witness = new Witness(cluster, new Agent({ connect: { ca }, bodyTimeout: 0 }))
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
    this.#closed = true
    await this.#agent.destroy()
  }

  async #follow(kind: WitnessedKind): Promise<void> {
    const list = (await (await this.#get(watched[kind])).json()) as {
      readonly metadata: { readonly resourceVersion: string }
      readonly items: readonly Witnessed[]
    }
    this.#present.set(kind, new Map())
    for (const item of list.items) this.#see(kind, 'ADDED', item)
    void this.#read(kind, list.metadata.resourceVersion)
  }

  /** The API server ends watches that it finds slow; each goes on from the last version that was seen, so nothing is missed. */
  async #read(kind: WitnessedKind, listed: string): Promise<void> {
    let version = listed
    try {
      for (;;) {
        const body = await this.#get(`${watched[kind]}?watch=1&resourceVersion=${version}`)
        for await (const line of createInterface({ input: body })) {
          const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: Witnessed }
          if (type === 'ERROR') throw new Error(line)
          this.#see(kind, type, object)
          version = object.metadata.resourceVersion
        }
      }
    } catch (error) {
      if (!this.#closed) this.#failure = new Error(`the watch of kind ${kind} ended: ${String(error)}`)
    }
  }

  async #get(path: string) {
    const { body, statusCode } = await request(`${this.#cluster.server}${path}`, {
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${this.#cluster.adminToken}` },
    })
    if (statusCode !== 200) throw new Error(`${path} was answered with ${statusCode}: ${await body.text()}`)
    return body
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
