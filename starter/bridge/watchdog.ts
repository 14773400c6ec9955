import type { Client } from '@temporalio/client'
import type { Logger } from 'pino'
import type { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import type { BridgeMetrics } from '../../activities/telemetry/bridge-metrics.ts'
import { claimOfLifecycle } from '../../core/task-queues.ts'
import { type Finding, faults, findingsOf, type Look, merged, type Repair } from '../temporal/findings/finding.ts'
import { temporalLooks } from '../temporal/findings/look.ts'

export interface WatchdogInput {
  readonly deps: {
    readonly cluster: string
    readonly log: Logger
    /** Epoch ms. */
    readonly now: () => number
    readonly cache: Pick<ClusterCache, 'nodeClaims'>
  }
  readonly client: Client
  /** Only a leader looks and repairs. */
  readonly isLeader: () => boolean
  /** Makes loops, the Schedule and search attributes. */
  readonly bootstrap: () => Promise<void>
  /** Has the lifecycle of a NodeClaim started, at the pace of the bridge's queue. */
  readonly start: (nodeClaim: string) => void
  /** Has a lifecycle poked whose NodeClaim is gone, likewise. */
  readonly poke: (workflowId: string) => void
  readonly metrics?: Pick<BridgeMetrics, 'restarted' | 'found'>
}

/** Objects that a line of the log names. */
const mostNamed = 5

/**
 * Watches what Joiner has in Temporal, and repairs what somebody ended, deleted or lost. Each look is by itself: one that fails or hangs keeps no other
 * from its end or its repair.
 */
export class Watchdog {
  readonly #input: WatchdogInput
  readonly #looks: readonly Look[]
  readonly #found = new Map<Look, readonly Finding[]>()
  readonly #busy = new Set<Look>()
  /** What the log has said, and what the metric has, by object and fault. */
  #reported: ReadonlySet<string> = new Set()
  #bootstrap: Promise<void> | undefined

  constructor(input: WatchdogInput) {
    this.#input = input
    const { deps, client } = input
    this.#looks = temporalLooks({ client, cluster: deps.cluster, now: deps.now }, () => deps.cache.nodeClaims.values())
  }

  /** Looks at everything but what it still looks at since a round before. */
  async round(): Promise<void> {
    if (!this.#input.isLeader()) return this.#forget()
    await Promise.all(this.#looks.filter((look) => !this.#busy.has(look)).map((look) => this.#look(look)))
  }

  async #look(look: Look): Promise<void> {
    this.#busy.add(look)
    try {
      const findings = await findingsOf(look)
      if (!this.#input.isLeader()) return
      this.#found.set(look, findings)
      this.#report()
      await this.#repair(findings.flatMap(({ repair }) => repair ?? []))
    } catch (error) {
      this.#input.deps.log.warn({ err: error, what: look.what }, 'failed to repair what is wrong in temporal, retrying')
    } finally {
      this.#busy.delete(look)
    }
  }

  async #repair(repairs: readonly Repair[]): Promise<void> {
    const { start, poke, metrics } = this.#input
    for (const repair of repairs) {
      if (repair.kind === 'start') start(repair.nodeClaim)
      else if (repair.kind === 'poke') poke(repair.workflowId)
      else if (repair.kind === 'restart') {
        await this.#end(repair)
        metrics?.restarted(1)
        const nodeClaim = claimOfLifecycle(repair.workflowId)
        if (nodeClaim !== undefined) start(nodeClaim)
      }
    }
    if (repairs.some(({ kind }) => kind === 'restart' || kind === 'bootstrap')) await this.#bootstrapOnce()
  }

  async #end({ workflowId, runId }: Extract<Repair, { kind: 'restart' }>): Promise<void> {
    const { client, deps } = this.#input
    const { log } = deps
    log.warn({ workflowId, runId }, 'restarting workflow run that this version cannot replay')
    // Of this run alone: another replica may have begun the next one.
    await client.workflow
      .getHandle(workflowId, runId)
      .terminate('this version of the workflow code cannot go on with it; started again (docs/workflow-versions.md)')
      .catch((error: unknown) => log.debug({ workflowId, err: error }, 'stuck run had already ended'))
  }

  /** Two looks that want it at once have it once. */
  async #bootstrapOnce(): Promise<void> {
    this.#bootstrap ??= this.#input.bootstrap().finally(() => {
      this.#bootstrap = undefined
    })
    return this.#bootstrap
  }

  /** Counts all findings, and logs those that were not there before. */
  #report(): void {
    const findings = merged([...this.#found.values()].flat())
    const byFault = Map.groupBy(findings, ({ fault }) => fault)
    this.#input.metrics?.found(new Map(faults.map((fault) => [fault, byFault.get(fault)?.length ?? 0])))
    const before = this.#reported
    this.#reported = new Set(findings.map(keyOf))
    for (const [fault, all] of byFault) {
      const fresh = all.filter((finding) => !before.has(keyOf(finding)))
      const [{ detail, remedy, repair } = {}] = fresh
      if (fresh.length === 0) continue
      const objects = fresh.slice(0, mostNamed).map(({ object }) => object)
      this.#input.deps.log.warn(
        { fault, objects, count: fresh.length, detail, ...(repair === undefined ? { remedy } : {}) },
        repair === undefined ? 'found what is wrong in temporal' : 'repairing what is wrong in temporal',
      )
    }
  }

  /** The next leader counts. */
  #forget(): void {
    this.#found.clear()
    this.#reported = new Set()
    this.#input.metrics?.found(new Map())
  }
}

function keyOf({ fault, object }: Finding): string {
  return `${fault} ${object}`
}
