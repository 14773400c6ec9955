import { parseEvaluations } from '../../api/disruption-move.ts'
import type { Evaluation } from '../../core/disruption/evaluate.ts'
import {
  boundedVerdict,
  formatLastPass,
  formatVerdict,
  type LastPass,
  lastPassKey,
  sameVerdict,
  type Verdict,
  verdictMapName,
  verdictShard,
  verdictShards,
} from '../../core/disruption/verdicts/verdict.ts'
import { type VerdictView, verdictsOf } from '../../core/disruption/verdicts/verdicts.ts'
import { stateNodes } from '../../core/scheduling/state-nodes.ts'
import { hasPassed } from '../../core/values/time.ts'
import { type KeptSource, readConfigMap, writeConfigMap } from '../kubernetes/client/config-map.ts'
import type { Parts } from '../kubernetes/parts.ts'
import { type CatalogueOfPools, instanceTypes } from '../node-overlays/pool-types.ts'
import { type Fence, FenceLostError } from '../provisioning/fence.ts'

type StoreDeps = KeptSource & Pick<Parts, 'log' | 'now'>

/** Where verdicts are kept, and the right to write them. */
type Keeping = StoreDeps & { readonly fence: Pick<Fence, 'checkIfStale'> }

export interface VerdictsDeps extends StoreDeps, CatalogueOfPools {
  readonly verdicts: VerdictRecorder
}

/** Shortest time between two writes of a ConfigMap. */
const writeEveryMs = 30_000
/** Interval of writing the time of the last evaluation where nothing else is written. */
const lastPassEveryMs = 60_000
/** Time after which the ConfigMaps are read again for writes of others, also when this process has not evaluated for a while. */
const readEveryMs = 10 * 60_000
const longestGapMs = 30_000
/** Longest text of a verdict, and the share of a ConfigMap's megabyte that its verdicts take. */
const longestVerdict = 2000
const mostInMap = 900_000

/** Keeps the last verdict about each node in ConfigMaps. Evaluations never wait for it, and never fail by it. */
export class VerdictRecorder {
  readonly #shards = Array.from({ length: verdictShards }, (_, shard) => new Shard(shard))
  #readAt = Number.NEGATIVE_INFINITY
  #recordedAt = Number.NEGATIVE_INFINITY
  #next: { readonly evaluation: Evaluation; readonly view: VerdictView; readonly fence: Keeping['fence'] } | undefined
  #working: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  /** Of the evaluation that is kept. */
  #fence: Keeping['fence'] | undefined

  /** Records an evaluation by the holder of a fence. Of those that come during a write, the last one counts. */
  record({ fence, ...deps }: Keeping, evaluation: Evaluation, view: VerdictView): void {
    this.#next = { evaluation, view, fence }
    this.#begin(deps)
  }

  /** Resolves when no write is under way. */
  async settled(): Promise<void> {
    await this.#working
  }

  #begin(deps: StoreDeps): void {
    this.#working ??= this.#work(deps).finally(() => {
      this.#working = undefined
      this.#later(deps)
    })
  }

  /** Schedules the next write: the next evaluation may be minutes away. */
  #later(deps: StoreDeps): void {
    const isBehind = this.#next !== undefined || this.#shards.some((shard) => shard.isBehind)
    if (this.#timer !== undefined || !isBehind) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#begin(deps)
    }, writeEveryMs)
    this.#timer.unref()
  }

  async #work(deps: StoreDeps): Promise<void> {
    try {
      do {
        if (this.#next !== undefined) {
          await this.#readIfNeeded(deps)
          const { evaluation, view, fence } = this.#next
          this.#next = undefined
          this.#fence = fence
          this.#keep(evaluation, view)
        }
        await this.#write(deps)
      } while (this.#next !== undefined)
    } catch (error) {
      if (!(error instanceof FenceLostError)) return deps.log.warn({ err: error }, 'failed to store verdicts, retrying')
      this.#forget()
      if (this.#next !== undefined) await this.#work(deps)
    }
  }

  /**
   * Another attempt evaluates now, here or elsewhere: what this one has found, and what is known of the ConfigMaps, is of no use any more. What the other
   * one has found meanwhile stays.
   */
  #forget(): void {
    if (this.#next?.fence === this.#fence) this.#next = undefined
    this.#readAt = Number.NEGATIVE_INFINITY
    for (const shard of this.#shards) shard.forget()
  }

  async #readIfNeeded(deps: StoreDeps): Promise<void> {
    const now = deps.now()
    const isLate = hasPassed(readEveryMs, this.#readAt, now) || hasPassed(longestGapMs, this.#recordedAt, now)
    if (isLate) {
      await Promise.all(this.#shards.map((shard) => shard.read(deps)))
      this.#readAt = now
    }
    this.#recordedAt = now
  }

  #keep(evaluation: Evaluation, view: VerdictView): void {
    const verdicts = verdictsOf(evaluation, view, (name) => this.#shardOf(name).found(name))
    const byShard = Map.groupBy(verdicts, ({ nodeClaim }) => this.#shardOf(nodeClaim))
    const lastPass = { atMs: view.now, commands: evaluation.commands.length }
    for (const shard of this.#shards) shard.keep(byShard.get(shard) ?? [], lastPass)
  }

  async #write(deps: StoreDeps): Promise<void> {
    const due = this.#shards.filter((shard) => shard.isDue(deps.now()))
    if (due.length === 0) return
    // A process that stood still would write over what its successor has found, and the successor writes only what changes.
    await this.#fence?.checkIfStale()
    const written = await Promise.allSettled(due.map((shard) => shard.write(deps)))
    for (const one of written) if (one.status === 'rejected') throw one.reason
  }

  #shardOf(nodeClaim: string): Shard {
    return this.#shards[verdictShard(nodeClaim)] as Shard
  }
}

/** A verdict as it was found, and shortened for the ConfigMap. */
interface Kept {
  readonly found: Verdict
  readonly shown: Verdict
}

/** One of the ConfigMaps. */
class Shard {
  /** By NodeClaim. */
  #kept: ReadonlyMap<string, Kept> = new Map()
  /** Verdicts in the ConfigMap; undefined for those that cannot be read, or are others than were found. */
  #stored = new Map<string, Verdict | undefined>()
  #writtenAt = Number.NEGATIVE_INFINITY
  /** The last evaluation, in the first ConfigMap only. */
  #lastPass: LastPass | undefined
  #passWrittenAt = Number.NEGATIVE_INFINITY
  readonly #index: number

  constructor(index: number) {
    this.#index = index
  }

  found(nodeClaim: string): Verdict | undefined {
    return this.#kept.get(nodeClaim)?.found
  }

  async read({ client, namespace, note }: StoreDeps): Promise<void> {
    const name = verdictMapName(this.#index)
    const data = (await readConfigMap(client, { name, namespace })) ?? {}
    const { verdicts, faults } = parseEvaluations(data)
    note?.(name, faults)
    const names = Object.keys(data).filter((key) => key !== lastPassKey)
    this.#stored = new Map(names.map((each) => [each, verdicts.get(each)]))
    this.#kept = new Map([...verdicts].map(([each, shown]) => [each, { found: shown, shown }]))
  }

  forget(): void {
    this.#kept = new Map()
    this.#stored = new Map()
    this.#lastPass = undefined
  }

  /** Keeps verdicts. A verdict with the same text keeps its time. */
  keep(verdicts: readonly Verdict[], lastPass: LastPass): void {
    const most = Math.min(longestVerdict, Math.floor(mostInMap / Math.max(1, verdicts.length)))
    this.#kept = new Map(verdicts.map((found) => [found.nodeClaim, this.#again(found, most)]))
    if (this.#index === 0) this.#lastPass = lastPass
  }

  #again(found: Verdict, most: number): Kept {
    const before = this.#kept.get(found.nodeClaim)
    if (before !== undefined && sameVerdict(before.found, found)) return before
    const shown = boundedVerdict(found, most)
    return { found, shown: before !== undefined && sameVerdict(before.shown, shown) ? before.shown : shown }
  }

  /** Whether something kept is not written. */
  get isBehind(): boolean {
    const { changed, gone } = this.#news()
    return changed.length + gone.length > 0
  }

  #news() {
    return {
      changed: [...this.#kept].filter(([name, { shown }]) => this.#stored.get(name) !== shown),
      gone: [...this.#stored.keys()].filter((name) => !this.#kept.has(name)),
    }
  }

  /** Whether it is time to write. */
  isDue(now: number): boolean {
    const isPassDue = this.#lastPass !== undefined && hasPassed(lastPassEveryMs, this.#passWrittenAt, now)
    return isPassDue || (this.isBehind && hasPassed(writeEveryMs, this.#writtenAt, now))
  }

  /** Writes what is new. Errors: the API server's. */
  async write(deps: StoreDeps): Promise<void> {
    const { now } = deps
    this.#stored = this.#verdictsIn(await this.#send(deps))
    this.#writtenAt = now()
    this.#passWrittenAt = now()
    if (!this.isBehind) return
    // A restore of etcd brings back what was overwritten or removed. What comes back each time waits for the next read.
    await this.#send(deps)
    this.#stored = new Map([...this.#kept].map(([name, { shown }]) => [name, shown]))
  }

  /** Returns all entries as they are afterwards. */
  #send({ client, namespace }: StoreDeps): Promise<Readonly<Record<string, string>>> {
    const { changed, gone } = this.#news()
    const entries = {
      ...Object.fromEntries(changed.map(([name, { shown }]) => [name, formatVerdict(shown)])),
      ...Object.fromEntries(gone.map((name) => [name, null])),
      ...(this.#lastPass === undefined ? {} : { [lastPassKey]: formatLastPass(this.#lastPass) }),
    }
    return writeConfigMap(client, { name: verdictMapName(this.#index), namespace }, entries)
  }

  /** Returns the verdicts in entries: those that are kept, and undefined for any other. */
  #verdictsIn(entries: Readonly<Record<string, string>>): Map<string, Verdict | undefined> {
    const names = Object.keys(entries).filter((key) => key !== lastPassKey)
    const known = (name: string) => {
      const shown = this.#kept.get(name)?.shown
      return shown !== undefined && formatVerdict(shown) === entries[name] ? shown : undefined
    }
    return new Map(names.map((name) => [name, known(name)]))
  }
}

/** Keeps the verdicts of an evaluation by the holder of a fence, for `joiner why`; at once, and without an error. */
export function recordVerdicts(deps: VerdictsDeps, fence: Keeping['fence'], evaluation: Evaluation): void {
  const { cache } = deps
  const nodes = stateNodes({ nodes: [...cache.nodes.values()], nodeClaims: [...cache.nodeClaims.values()] })
  const { client, namespace, note, log, now } = deps
  const keeping = { client, namespace, log, now, fence, ...(note && { note }) }
  deps.verdicts.record(keeping, evaluation, {
    nodes,
    nodePools: new Map([...cache.nodePools.values()].map((pool) => [pool.metadata.name, pool])),
    instanceTypes: instanceTypes(deps),
    now: now(),
  })
}
