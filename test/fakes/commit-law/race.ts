import pino from 'pino'
import { vi } from 'vitest'
import { pauseOf } from '../../../activities/abortable-wait.ts'
import { Committer } from '../../../activities/disruption/commit/committer.ts'
import type { CommitOutcome, DisruptionProposal } from '../../../activities/disruption/contract.ts'
import type { DisruptDeps } from '../../../activities/disruption/disrupt.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { Fence } from '../../../activities/provisioning/fence.ts'
import { SolverThread } from '../../../activities/scheduler-thread/solver-thread.ts'
import { neverFirst } from '../../../core/disruption/methods/context.ts'
import { inProcessSolver } from '../../fast/in-process-solver.ts'
import { sampleType } from '../../samples/sample-objects.ts'
import type { FakeCluster } from '../cluster.ts'
import { stampKey } from '../commit-world.ts'
import { planningDeps } from '../planning.ts'

/** What pools can buy. The nodes that are there have four cores. */
const types = [2, 4, 8].map((cpu) => sampleType(`Standard_D${cpu}s_v5`, cpu))

/** How a process fares with one of its writes. `lost answer`: it takes effect, and the process ends. */
export type Fate = 'killed' | 'lost answer' | 'fence lost' | 'refused'

/** What happens to the first process. */
export interface Fault {
  readonly fate: Fate
  /** Counted from 1. */
  readonly write: number
  /** Whether stamps alone are counted: between the first mark and the last stamp a command is neither begun nor not begun. */
  readonly ofStamps: boolean
  /** How long it takes the next process to plan. */
  readonly afterMs: number
}

/** How a proposal comes to be committed. */
export interface Arrival {
  readonly proposal: DisruptionProposal
  readonly afterMs: number
  /** The time between two attempts. */
  readonly retryMs: number
  /** Whether an attempt that never began anything is told so when the next one is made. */
  readonly isKnownUnbegun: boolean
}

const writes = new Set(['create', 'mergePatch', 'patchStatus', 'jsonPatch', 'delete'])
const reads = new Set(['get', 'list'])
/** Longer than an attempt believes the fence to be its own. */
const suspendedMs = 10_000
const never = new AbortController().signal

/** Called before each write of a process that plans. What it returns is called afterwards. */
type Befall = (write: readonly unknown[]) => Promise<() => void>

/** A process that can plan: its own client, cache, solver and committer. */
class Process {
  readonly committer = new Committer()
  /** Fires when its activities are given up. */
  readonly activities = new AbortController()
  /** Fires when it ends. */
  readonly life = new AbortController()
  /** Proposals that it has looked at. */
  readonly #seen = new Set<string>()
  readonly #cluster: FakeCluster
  readonly #latency: () => number
  #deps: DisruptDeps | undefined

  /** `latency`: of the next request, in milliseconds. */
  constructor(cluster: FakeCluster, latency: () => number) {
    this.#cluster = cluster
    this.#latency = latency
  }

  async start(befall: Befall): Promise<void> {
    const { deps } = await planningDeps(this.#cluster)
    const log = pino({ level: 'silent' })
    const evaluator = new SolverThread(deps.cache, log, { start: inProcessSolver })
    const validateTogether: SolverThread['validateTogether'] = (request, proposals) => {
      for (const { method, candidates } of proposals) this.#seen.add(keyOf(method, candidates))
      return evaluator.validateTogether(request, proposals)
    }
    this.#deps = {
      ...deps,
      client: this.#client(befall),
      evaluator: { validateTogether } as unknown as SolverThread,
      catalogue: { instanceTypesFor: () => types } as unknown as DisruptDeps['catalogue'],
      terminateFirst: neverFirst,
    }
  }

  /** Takes the fence and plans, as `disrupt` begins. */
  async lead(name: string): Promise<void> {
    const deps = this.#deps as DisruptDeps
    const fence = await Fence.take(deps, 'joiner-disruption-fence', name)
    await deps.cache.catchUp(['NodeClaim', 'Node'])
    this.committer.lead({ deps, fence, signal: this.life.signal })
  }

  /** Whether an attempt may have left something of a proposal behind. */
  hasSeen({ method, candidates }: DisruptionProposal): boolean {
    return this.#seen.has(
      keyOf(
        method,
        candidates.map(({ uid }) => uid),
      ),
    )
  }

  #client(befall: Befall): KubernetesClient {
    const { client } = this.#cluster
    const call = async (name: string, words: readonly unknown[]) => {
      const act = (client as unknown as Record<string, (...all: readonly unknown[]) => Promise<unknown>>)[name]
      this.life.signal.throwIfAborted()
      await pauseOf(this.#latency(), never)
      this.life.signal.throwIfAborted()
      const after = writes.has(name) && this.committer.isLeading ? await befall(words) : () => {}
      this.life.signal.throwIfAborted()
      const answer = await act?.(...words)
      after()
      this.life.signal.throwIfAborted()
      return answer
    }
    return new Proxy(client, {
      get: (target, name) =>
        typeof name === 'string' && (writes.has(name) || reads.has(name))
          ? (...words: readonly unknown[]) => call(name, words)
          : Reflect.get(target, name),
    })
  }
}

const keyOf = (method: string, uids: readonly string[]) => `${method} ${[...uids].sort().join(' ')}`

/** What a race is run under. */
interface Conditions {
  readonly fault: Fault | undefined
  /** Of the next request, in milliseconds. */
  readonly latency: () => number
}

/** Two processes of which the second leads when something happens to the first. */
export class Race {
  readonly outcomes = new Map<string, CommitOutcome>()
  /** What has happened to the first process. */
  suffered: Fate | undefined
  readonly #cluster: FakeCluster
  readonly #fault: Fault | undefined
  readonly #processes: readonly [Process, Process]
  #leader: Process
  /** Of the first process, as far as they are counted. */
  #writes = 0

  constructor(cluster: FakeCluster, { fault, latency }: Conditions) {
    this.#cluster = cluster
    this.#fault = fault
    this.#processes = [new Process(cluster, latency), new Process(cluster, latency)]
    this.#leader = this.#processes[0]
  }

  async begin(): Promise<void> {
    const [first, second] = this.#processes
    await first.start((write) => this.#befall(write))
    await second.start(async () => () => {})
    await first.lead('1')
  }

  /** Commits a proposal until there is an answer, as its workflow does. */
  async commit({ proposal, afterMs, retryMs, isKnownUnbegun }: Arrival): Promise<void> {
    await pauseOf(afterMs, never)
    for (let isFirst = true; ; ) {
      const process = this.#leader
      try {
        this.outcomes.set(proposal.id, await process.committer.commit(proposal, isFirst, process.activities.signal))
        return
      } catch {
        // The next attempt knows of the failure alone.
      }
      isFirst = isFirst && isKnownUnbegun && !process.hasSeen(proposal)
      await pauseOf(retryMs, never)
    }
  }

  async #befall([, body]: readonly unknown[]): Promise<() => void> {
    const { fate, write, ofStamps = false, afterMs } = this.#fault ?? {}
    const [first, second] = this.#processes
    if (!ofStamps || JSON.stringify([body]).includes(`"${stampKey}":"`)) this.#writes += 1
    if (this.#writes !== write || this.suffered !== undefined) return () => {}
    this.suffered = fate
    if (fate === 'refused') throw new Error('etcd is away')
    this.#leader = second
    if (fate === 'fence lost') {
      // It was suspended for so long: what it has sent still comes, and what it sends next finds the other one.
      this.#cluster.catchUp()
      vi.setSystemTime(Date.now() + suspendedMs)
      await second.lead('2')
      first.activities.abort()
      return () => {}
    }
    const end = () => {
      first.activities.abort()
      first.life.abort()
      void pauseOf(afterMs ?? 0, never).then(() => second.lead('2'))
    }
    if (fate === 'lost answer') return end
    end()
    return () => {}
  }
}
