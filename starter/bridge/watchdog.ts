import { type Client, WorkflowNotFoundError } from '@temporalio/client'
import type { Logger } from 'pino'
import { pauseOf } from '../../activities/abortable-wait.ts'
import { forEachOf } from '../../activities/concurrency.ts'
import type { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import type { BridgeMetrics } from '../../activities/telemetry/bridge-metrics.ts'
import { claimOfLifecycle } from '../../core/task-queues.ts'
import { runningOf } from '../../core/workflow-queries.ts'
import {
  type Finding,
  faults,
  findingsOf,
  type Look,
  type LookContext,
  merged,
  type Repair,
} from '../temporal/findings/finding.ts'
import { temporalLooks } from '../temporal/findings/look.ts'
import { lookForOtherForms } from '../temporal/findings/other-forms.ts'

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
/** How long a new leader waits for the list of runs: Nodes that are interrupted meanwhile have half a minute. */
const beginMs = 5000
/** Runs that are ended at a time. */
const endedAtOnce = 20

/**
 * Watches what Joiner has in Temporal, and repairs what somebody ended, deleted or lost. Each look is by itself: one that fails or hangs keeps no other
 * from its end or its repair.
 */
export class Watchdog {
  readonly #input: WatchdogInput
  readonly #context: LookContext
  readonly #looks: readonly Look[]
  readonly #found = new Map<Look, readonly Finding[]>()
  readonly #busy = new Set<Look>()
  /** What the log has said, and what the metric has, by object and fault. */
  #reported: ReadonlySet<string> = new Set()
  #bootstrap: Promise<void> | undefined

  constructor(input: WatchdogInput) {
    this.#input = input
    const { deps, client } = input
    this.#context = { client, cluster: deps.cluster, now: deps.now }
    this.#looks = temporalLooks(this.#context, () => deps.cache.nodeClaims.values())
  }

  /**
   * Ends the runs of another form as a leader begins: it starts nothing before, so that no NodeClaim has two lifecycles. Where they cannot be listed or
   * ended, the leader goes on, and the looks end them. `ends`: it leads no longer.
   */
  async begin(ends: AbortSignal): Promise<void> {
    const { deps } = this.#input
    const listed = new AbortController()
    const late = async () => {
      await pauseOf(beginMs, AbortSignal.any([ends, listed.signal]))
      throw new Error(`Temporal has not listed them within ${beginMs} ms`)
    }
    try {
      const looking = lookForOtherForms(this.#context, runningOf(deps.cluster))
      const findings = await Promise.race([looking, late()]).finally(() => listed.abort())
      if (!ends.aborted) await this.#repair(repairsOf(findings))
    } catch (error) {
      if (!ends.aborted)
        deps.log.warn(
          { err: error },
          'runs of another form may go on beside those that begin now: they could not be listed or ended; the next look ends them',
        )
    }
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
      await this.#repair(repairsOf(findings))
    } catch (error) {
      this.#input.deps.log.warn({ err: error, what: look.what }, 'failed to repair what is wrong in temporal, retrying')
    } finally {
      this.#busy.delete(look)
    }
  }

  async #repair(repairs: readonly Repair[]): Promise<void> {
    const { start, poke, deps } = this.#input
    // Before anything starts. Errors of these keep the rest for the next look.
    await forEachOf(
      repairs.filter((repair) => repair.kind === 'restart'),
      endedAtOnce,
      (repair) => this.#end(repair),
    )
    for (const repair of repairs) {
      if (repair.kind === 'start') start(repair.nodeClaim)
      else if (repair.kind === 'poke') poke(repair.workflowId)
      else if (repair.kind === 'restart') {
        const claim = claimOfLifecycle(deps.cluster, repair.workflowId)
        if (claim !== undefined) start(claim.name)
      }
    }
    if (repairs.some(({ kind }) => kind === 'restart' || kind === 'bootstrap')) await this.#bootstrapOnce()
  }

  async #end({ workflowId, runId, why }: Extract<Repair, { kind: 'restart' }>): Promise<void> {
    const { client, deps, metrics } = this.#input
    const { log } = deps
    log.warn({ workflowId, runId }, `ending a workflow run, to begin it anew: Joiner ${why}`)
    try {
      // Of this run alone: another replica may have begun the next one.
      await client.workflow
        .getHandle(workflowId, runId)
        .terminate(`Joiner ${why}; begun anew (docs/workflow-versions.md)`)
      metrics?.restarted(1)
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error
      log.debug({ workflowId }, 'the run had already ended')
    }
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

function repairsOf(findings: readonly Finding[]): readonly Repair[] {
  return findings.flatMap(({ repair }) => repair ?? [])
}

function keyOf({ fault, object }: Finding): string {
  return `${fault} ${object}`
}
