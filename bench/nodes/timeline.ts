import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Agent, request } from 'undici'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'
import type { Seen } from '../../test/world.ts'

/** Marks the Nodes that are there for the cluster itself, which no autoscaler has made. */
export const systemModeLabel = 'kubernetes.azure.com/mode'

const watched = {
  pods: '/api/v1/namespaces/default/pods?labelSelector=app%3Dinflate',
  nodes: `/api/v1/nodes?labelSelector=${encodeURIComponent(`${systemModeLabel}!=system`)}`,
  nodeClaims: '/apis/karpenter.sh/v1/nodeclaims?',
} as const

type Watched = keyof typeof watched

/** What is timed, once for each object. */
export type Stage =
  | 'podCreated'
  | 'podRunning'
  | 'nodeCreated'
  | 'nodeUsable'
  | 'nodeTainted'
  | 'claimCreated'
  | 'claimLaunched'
  | 'claimRegistered'
  | 'claimInitialized'
  | 'claimGone'

/** When each object reached each stage, by this process's clock and from watches: creation times in objects have whole seconds only. */
export class Timeline {
  readonly #stages = new Map<Stage, Map<string, number>>()
  readonly #present = new Map<Watched, Set<string>>()
  readonly #cluster: LocalCluster
  readonly #agent: Agent
  #failure: Error | undefined
  #closed = false

  private constructor(cluster: LocalCluster, agent: Agent) {
    this.#cluster = cluster
    this.#agent = agent
  }

  static async start(cluster: LocalCluster): Promise<Timeline> {
    const ca = await readFile(cluster.pki.caFile, 'utf8')
    const timeline = new Timeline(cluster, new Agent({ connect: { ca }, bodyTimeout: 0 }))
    for (const kind of Object.keys(watched) as Watched[]) {
      const version = await timeline.#list(kind)
      void timeline.#follow(kind, version)
    }
    return timeline
  }

  /** Forgets all stages, not what is there. */
  reset(): void {
    this.#stages.clear()
  }

  /** How many objects ever reached a stage, also those that are gone. */
  count(stage: Stage): number {
    return this.#stages.get(stage)?.size ?? 0
  }

  /** When the object of a UID reached a stage; undefined: it has not. */
  at(stage: Stage, uid: string): number | undefined {
    return this.#stages.get(stage)?.get(uid)
  }

  /** How many of the objects that are there now have reached a stage. */
  now(kind: Watched, stage: Stage): number {
    const reached = this.#stages.get(stage)
    return [...(this.#present.get(kind) ?? [])].filter((uid) => reached?.has(uid)).length
  }

  present(kind: Watched): number {
    return this.#present.get(kind)?.size ?? 0
  }

  first(stage: Stage): number | undefined {
    const times = this.#stages.get(stage)?.values().toArray() ?? []
    return times.length === 0 ? undefined : Math.min(...times)
  }

  last(stage: Stage): number | undefined {
    const times = this.#stages.get(stage)?.values().toArray() ?? []
    return times.length === 0 ? undefined : Math.max(...times)
  }

  /** Waits for a condition on what was seen. Returns when it held. Errors: the deadline, or a watch that ended. */
  async until(what: string, holds: () => boolean, ms: number): Promise<number> {
    const deadline = Date.now() + ms
    while (!holds()) {
      if (this.#failure !== undefined) throw this.#failure
      if (Date.now() > deadline) throw new Error(`not within ${ms / 1000} s: ${what}; ${this.#picture()}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return Date.now()
  }

  async stop(): Promise<void> {
    this.#closed = true
    await this.#agent.destroy()
  }

  /** Watches, and lists again where the API server ended a watch. */
  async #follow(kind: Watched, listed: string): Promise<void> {
    try {
      for (let version = listed; ; version = await this.#listAgain(kind)) {
        const body = await this.#get(`${watched[kind]}&watch=1&resourceVersion=${version}`)
        for await (const line of createInterface({ input: body })) {
          const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: Seen }
          if (type === 'ERROR') break
          this.#see(kind, type, object)
        }
      }
    } catch (error) {
      if (!this.#closed) this.#failure = new Error(`the watch of ${kind} ended: ${String(error)}`)
    }
  }

  /** What happens meanwhile is seen late, which a reader of figures should know. */
  async #listAgain(kind: Watched): Promise<string> {
    const startedMs = Date.now()
    const version = await this.#list(kind)
    const blindMs = Date.now() - startedMs
    if (blindMs > 1000) console.error(`changes of ${kind} were not seen for ${(blindMs / 1000).toFixed(1)} s`)
    return version
  }

  /** Takes over what is there now. Returns the version from which to watch. */
  async #list(kind: Watched): Promise<string> {
    const list = (await (await this.#get(watched[kind])).json()) as {
      readonly metadata: { readonly resourceVersion: string }
      readonly items: readonly Seen[]
    }
    const before = this.#present.get(kind) ?? new Set()
    const now = new Set<string>()
    this.#present.set(kind, now)
    for (const item of list.items) this.#see(kind, 'ADDED', item)
    if (kind === 'nodeClaims') for (const uid of before.difference(now)) this.#reach('claimGone', uid)
    return list.metadata.resourceVersion
  }

  /** The API server answers 429 for a while after a CRD was made, and 504 if that takes it long; it is asked again then. */
  async #get(path: string) {
    const deadline = Date.now() + 120_000
    for (;;) {
      const { body, statusCode } = await request(`${this.#cluster.server}${path}`, {
        dispatcher: this.#agent,
        headers: { authorization: `Bearer ${this.#cluster.adminToken}` },
      })
      if (statusCode === 200) return body
      await body.dump()
      if ((statusCode !== 429 && statusCode < 500) || Date.now() > deadline)
        throw new Error(`${path} was answered with ${statusCode}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  #see(kind: Watched, type: string, { metadata, spec, status }: Seen): void {
    const { uid } = metadata
    if (type === 'DELETED') {
      this.#present.get(kind)?.delete(uid)
      if (kind === 'nodeClaims') this.#reach('claimGone', uid)
      return
    }
    this.#present.get(kind)?.add(uid)
    const isTrue = (wanted: string) =>
      status?.conditions?.some(({ type: name, status: value }) => name === wanted && value === 'True') ?? false
    switch (kind) {
      case 'pods':
        this.#reach('podCreated', uid)
        if (status?.phase === 'Running') this.#reach('podRunning', uid)
        return
      case 'nodes':
        this.#reach('nodeCreated', uid)
        if (isTrue('Ready') && (spec.taints ?? []).length === 0) this.#reach('nodeUsable', uid)
        if (spec.taints?.some(({ key }) => key === 'karpenter.sh/disrupted') === true) this.#reach('nodeTainted', uid)
        return
      case 'nodeClaims':
        this.#reach('claimCreated', uid)
        if (isTrue('Launched')) this.#reach('claimLaunched', uid)
        if (isTrue('Registered')) this.#reach('claimRegistered', uid)
        if (isTrue('Initialized')) this.#reach('claimInitialized', uid)
    }
  }

  #reach(stage: Stage, uid: string): void {
    let times = this.#stages.get(stage)
    if (times === undefined) {
      times = new Map()
      this.#stages.set(stage, times)
    }
    if (!times.has(uid)) times.set(uid, Date.now())
  }

  #picture(): string {
    const stages = [...this.#stages].map(([stage, times]) => `${stage} ${times.size}`)
    const present = [...this.#present].map(([kind, uids]) => `${kind} ${uids.size}`)
    return `seen: ${stages.join(', ')}; there now: ${present.join(', ')}`
  }
}
