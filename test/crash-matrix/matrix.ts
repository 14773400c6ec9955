import type { Hold } from '../faults/gate.ts'
import type { FaultyWorld } from '../faulty-world.ts'
import { type Phase, phasesOf, type Server } from './phases.ts'
import {
  describe,
  isPodEvent,
  isTimed,
  laneOf,
  lanes,
  nextBatch,
  type Recorded,
  type Room,
  type Row,
  type Stage,
  stages,
  stateBefore,
} from './rows.ts'
import { Slot } from './slot.ts'
import { isAt, isOfAzure, type SeenStep, type Step, StepReader } from './steps.ts'
import { duplicateIn, Surroundings } from './surroundings.ts'

type Verdict = 'ok' | 'stuck' | 'leaked' | 'duplicated' | 'not reached'

export interface Result<T> {
  readonly row: T
  readonly verdict: Verdict
  /** From the start of the new process to the end state. */
  readonly seconds?: number
  /** What is wrong. */
  readonly detail?: string
}

/** A server that is killed while a claim is in a phase. */
export interface PhaseRow {
  readonly server: Server
  readonly phase: Phase
}

export interface MatrixOptions {
  /** How many nodes are there at a time. */
  readonly slots: number
  /** Within which the end state has to come. */
  readonly limitMs: number
  /** Whether nodes are AKS machines. */
  readonly isMachines?: boolean
  readonly say: (text: string) => void
}

/** How long nothing may be reached before a batch goes on with what it has: held requests are given up and tried again ever later. */
const patienceMs = 20_000
/** The same for a row that is alone in its batch. */
const lonelyPatienceMs = 60_000
/** The same for a write by a clock of its own. */
const timedPatienceMs = 90_000
/** How old a node is whose pods' events are written. */
const eventsAfterMs = 10_000
/** Leases that are renewed all the time. */
const renewed = /leases joiner-(bridge|planner|maintenance)$/
/** How often it is looked whether a stage is over, and a write that did not come will not. */
const lookEveryMs = 2000
const settleMs = 240_000
const quietMs = 5000
/** What lost an optimistic lock has to come again. */
const carryOutMs = 15_000
const notSent = 'Joiner did not send this write'
/** A row that another write of its batch held up has another chance. */
const tries = 3

interface Held {
  readonly slot: Slot
  readonly row?: Row
  readonly hold: Hold
}

interface Armed extends Held {
  readonly row: Row
}

/** Kills Joiner and its servers in the middle of what they do, and looks at what comes of it. */
export class Matrix {
  readonly seen: SeenStep[] = []
  readonly #faulty: FaultyWorld
  readonly #options: MatrixOptions
  readonly #reader = new StepReader()
  readonly #reads = new WeakMap<object, SeenStep | undefined>()
  readonly #slots: readonly Slot[]
  readonly #phases: ReturnType<typeof phasesOf>

  constructor(faulty: FaultyWorld, options: MatrixOptions) {
    this.#faulty = faulty
    this.#options = options
    this.#phases = phasesOf(options.isMachines === true)
    this.#slots = Array.from({ length: options.slots }, () => new Slot(faulty))
    for (const proxy of [faulty.proxy, faulty.azure])
      proxy.listen({
        asked: (call) => {
          const step = this.#reader.read(call)
          this.#reads.set(call, step)
          if (step !== undefined) this.seen.push(step)
        },
        answered: (call, answer) => this.#reader.learn(call, answer),
      })
  }

  /** Untroubled lifecycles of a node: two, since what is created in the first is only changed in the second. */
  async record(): Promise<readonly Recorded[]> {
    const [slot] = this.#slots
    if (slot === undefined) throw new Error('a matrix has a slot at least')
    const recorded: Recorded[] = []
    await this.#untilStarted()
    for (const stage of [...stages, ...stages]) {
      const from = this.seen.length
      await this.#move([slot], stage)
      await this.#untilQuiet()
      recorded.push(...this.seen.slice(from).map((step) => ({ stage, step })))
    }
    return recorded
  }

  /** What a process writes at its start belongs to no node. */
  async #untilStarted(): Promise<void> {
    const isLeading = async () => this.seen.some(({ kind }) => renewed.test(kind))
    await this.#faulty.world.until('Joiner leads', isLeading, settleMs)
    await this.#untilQuiet()
  }

  /** What follows from a stage may come some seconds later. */
  async #untilQuiet(): Promise<void> {
    const count = () => this.seen.filter(({ kind }) => !renewed.test(kind)).length
    let [before, lastMs] = [count(), Date.now()]
    const isQuiet = async () => {
      if (count() !== before) [before, lastMs] = [count(), Date.now()]
      return Date.now() - lastMs > quietMs
    }
    await this.#faulty.world.until('nothing is written', isQuiet, settleMs)
  }

  /** Runs rows as long as there is time. */
  async run(rows: readonly Row[], untilMs: number, onResult: (result: Result<Row>) => void): Promise<void> {
    const pending = [...rows]
    const misses = new Map<Row, number>()
    while (pending.length > 0 && Date.now() < untilMs) {
      const alone = pending.find((row) => misses.get(row) === tries - 1)
      const batch = alone === undefined ? await this.#nextBatch(pending) : [alone]
      for (const row of batch) pending.splice(pending.indexOf(row), 1)
      for (const result of await this.#runBatch(batch)) {
        const missed = (misses.get(result.row) ?? 0) + 1
        if (result.verdict === 'not reached' && missed < tries) {
          misses.set(result.row, missed)
          pending.push(result.row)
        } else onResult(result)
      }
    }
  }

  /** Kills a server with one claim in each phase, and again where a phase was not reached. */
  async runPhases(server: Server, onResult: (result: Result<PhaseRow>) => void): Promise<void> {
    let names = Object.keys(this.#phases) as Phase[]
    for (let round = 1; names.length > 0; round++) {
      const results = await this.#runPhases(server, names)
      const missed = round < tries ? results.filter(({ verdict }) => verdict === 'not reached') : []
      for (const result of results) if (!missed.includes(result)) onResult(result)
      names = missed.map(({ row }) => row.phase)
    }
  }

  async #runPhases(server: Server, names: readonly Phase[]): Promise<readonly Result<PhaseRow>[]> {
    await this.#provide(names.map((phase) => this.#phases[phase].stage))
    const free = [...this.#slots]
    const placed = names.map((phase) => {
      const { stage, step } = this.#phases[phase]
      const slot = taken(free, stage)
      if (phase !== 'ready') slot.prepare(stage)
      return { row: { server, phase }, slot, hold: step === undefined ? undefined : this.#hold(slot, step) }
    })
    await Promise.all(placed.filter(({ row }) => row.phase !== 'ready').map(({ slot }) => slot.begin()))
    const held = placed.flatMap(({ slot, hold }) => (hold === undefined ? [] : { slot, hold }))
    await this.#untilReached(held, lonelyPatienceMs)
    const missed = placed.filter(({ hold }) => hold?.isReached === false).map(({ row }) => [row, notSent] as const)
    const restartedAtMs = await this.#faulty.world.restartServer(server)
    for (const { hold } of held) hold.release()
    this.#faulty.reset()
    return withMissed(await this.#judge(placed, restartedAtMs), new Map(missed))
  }

  /** Ends the lifecycles that are there, and says what is left in the whole cluster. */
  async end(): Promise<Readonly<Record<string, number>>> {
    const whole = this.#slots.filter(({ state }) => state === 'whole')
    // What does not go is in the counts, beside the results of all rows.
    await this.#move(whole, 'terminate').catch((error: Error) => this.#options.say(error.message))
    return this.#faulty.world.left()
  }

  async #nextBatch(pending: readonly Row[]): Promise<readonly Row[]> {
    const batch = nextBatch(pending, this.#room())
    if (batch.length > 0) return batch
    // All nodes are in the other state.
    const [first] = pending
    await this.#provide(Array.from({ length: this.#slots.length }, () => first?.stage ?? 'launch'))
    return nextBatch(pending, this.#room())
  }

  #room(): Room {
    const whole = this.#slots.filter(({ state }) => state === 'whole').length
    return { whole, gone: this.#slots.length - whole }
  }

  /** Has slots in the states from which these stages begin. */
  async #provide(wanted: readonly Stage[]): Promise<void> {
    const needed = wanted.filter((stage) => stateBefore(stage) === 'whole').length
    const { whole, gone } = this.#room()
    const missing = { whole: needed - whole, gone: wanted.length - needed - gone }
    if (missing.whole > 0)
      await this.#move(this.#slots.filter(({ state }) => state === 'gone').slice(0, missing.whole), 'launch')
    if (missing.gone > 0)
      await this.#move(this.#slots.filter(({ state }) => state === 'whole').slice(0, missing.gone), 'terminate')
  }

  /** A stage with nothing in its way. Errors: it does not end. */
  async #move(slots: readonly Slot[], stage: Stage): Promise<void> {
    for (const slot of slots) slot.prepare(stage)
    await Promise.all(slots.map((slot) => slot.begin()))
    await this.#faulty.world.until(
      `${slots.map(({ pool }) => pool).join(', ')}: ${stage}`,
      async () => {
        const seen = await this.#look()
        const missing = slots.map((slot) => slot.missing(seen)).filter((one) => one !== undefined)
        if (missing.length > 0) throw new Error(missing.join('; '))
        return true
      },
      settleMs,
    )
    for (const slot of slots) slot.finish()
  }

  async #runBatch(batch: readonly Row[]): Promise<readonly Result<Row>[]> {
    await this.#provide(batch.map(({ stage }) => stage))
    const free = [...this.#slots]
    const placed = batch.map((row) => ({ row, slot: taken(free, row.stage) }))
    const armed: Armed[] = []
    for (const lane of [undefined, ...lanes]) {
      const group = placed.filter(({ row }) => laneOf(row.step) === lane)
      const held = await Promise.all(group.map((one) => this.#arm(one)))
      armed.push(...held)
      await this.#untilReached(held, batch.length === 1 ? patienceOf(batch) : patienceMs)
    }
    const missed = await this.#kill(armed)
    for (const [row, why] of missed) this.#options.say(`  not reached: ${describe(row)}: ${why}`)
    this.#faulty.reset()
    return withMissed(await this.#judge(armed, Date.now()), missed)
  }

  async #arm({ row, slot }: { readonly row: Row; readonly slot: Slot }): Promise<Armed> {
    slot.prepare(row.stage)
    await this.#forget(row.step)
    if (isPodEvent(row.step))
      await this.#faulty.world.until('a node has events', async () => Date.now() - slot.sinceMs > eventsAfterMs)
    const hold = this.#hold(slot, row.step)
    await slot.begin()
    return { row, slot, hold }
  }

  /** What there is one of is created once, and changed when there is news: it has to go before it is written again. */
  async #forget(step: Step): Promise<void> {
    const { kind } = step
    // It is created again where it is missing, and this is about a change.
    if (isTimed(step) && kind.startsWith('PATCH')) return
    const [, resource, name] = /^(?:POST|PATCH(?= configmaps)) (leases|configmaps) (.+)$/.exec(kind) ?? []
    if (resource === undefined || name === undefined) return
    const { operator } = this.#faulty.world
    const pattern = new RegExp(`/${name.replace(/N$/, '\\d+')}$`)
    const there = (await operator.kubectl(['-n', 'joiner', 'get', resource, '-o', 'name'])).split('\n')
    const old = there.filter((one) => pattern.test(one))
    if (old.length > 0) await operator.kubectl(['-n', 'joiner', 'delete', ...old])
  }

  #hold(slot: Slot, step: Step): Hold {
    const matches = (call: object) => {
      const read = this.#reads.get(call)
      return read !== undefined && (read.pool === undefined || read.pool === slot.pool) && isAt(step, read)
    }
    return (isOfAzure(step) ? this.#faulty.azure : this.#faulty.proxy).hold(matches)
  }

  async #untilReached(armed: readonly Held[], patience: number): Promise<void> {
    let lastMs = Date.now()
    let lookedMs = Date.now()
    let open = armed
    while (open.length > 0 && Date.now() - lastMs < patience) {
      const waiting = open.filter(({ hold }) => !hold.isReached)
      if (waiting.length < open.length) lastMs = Date.now()
      open = waiting
      if (Date.now() - lookedMs > lookEveryMs) {
        const seen = await this.#look()
        open = open.filter(({ slot, row }) => (row && isTimed(row.step)) || slot.missing(seen) !== undefined)
        lookedMs = Date.now()
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** Has the server answer where it should, hands the answers on where they should be, and kills the worker. Returns the rows whose write was not killed at its point, and why. */
  async #kill(armed: readonly Armed[]): Promise<ReadonlyMap<Row, string>> {
    const missed = new Map<Row, string>()
    const relays: (() => Promise<void>)[] = []
    const carryOut = async (one: Armed) => {
      try {
        const relay = await this.#carryOut(one)
        if (one.row.point === 'after relaying it') relays.push(relay)
      } catch (error) {
        missed.set(one.row, error instanceof Error ? error.message : String(error))
      }
    }
    await Promise.all(armed.map(carryOut))
    await Promise.all(relays.map((relay) => relay()))
    await this.#faulty.world.crash()
    return missed
  }

  /** Has the server carry out a held write, unless its row wants it unsent. Returns how to relay the answer. Errors: Joiner did not send it; it was not carried out. */
  async #carryOut({ row, hold }: Armed): Promise<() => Promise<void>> {
    if (!hold.isReached) throw new Error(notSent)
    return row.point === 'before forwarding' ? async () => {} : hold.carryOut(carryOutMs)
  }

  /** Waits for the end state of each slot, or until its time is over. */
  async #judge<T>(
    placed: readonly { readonly row: T; readonly slot: Slot }[],
    sinceMs: number,
  ): Promise<readonly Result<T>[]> {
    const open = new Map(placed.map((one) => [one, 'not looked at']))
    const results: Result<T>[] = []
    const end = (one: { readonly row: T; readonly slot: Slot }, result: Omit<Result<T>, 'row'>) => {
      open.delete(one)
      if (result.verdict === 'ok') one.slot.finish()
      else one.slot.abandon()
      results.push({ row: one.row, ...result })
    }
    while (open.size > 0) {
      const isOver = Date.now() - sinceMs > this.#options.limitMs
      const [seen, journal] = await Promise.all([this.#look(), this.#faulty.world.journal()])
      const seconds = (Date.now() - sinceMs) / 1000
      for (const one of open.keys()) {
        const { slot } = one
        const missing = slot.missing(seen)
        const duplicate = duplicateIn(journal, slot.pool, slot.vmsAtOnce)
        if (duplicate !== undefined) end(one, { verdict: 'duplicated', seconds, detail: duplicate })
        else if (missing === undefined) end(one, { verdict: 'ok', seconds })
        else if (isOver)
          end(one, { verdict: isLeak(missing) ? 'leaked' : 'stuck', seconds, detail: `${slot.pool}: ${missing}` })
      }
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
    return results
  }

  /** While the API server starts again nobody can look. */
  async #look(): Promise<Surroundings> {
    const deadline = Date.now() + this.#options.limitMs
    for (;;) {
      try {
        return await Surroundings.look(this.#faulty, this.#reader)
      } catch (error) {
        if (Date.now() > deadline) throw error
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
    }
  }
}

/** A pool may end well although nothing was killed at the point that its row is about. */
function withMissed<T>(results: readonly Result<T>[], missed: ReadonlyMap<T, string>): readonly Result<T>[] {
  return results.map((result) => {
    const why = missed.get(result.row)
    return result.verdict === 'ok' && why !== undefined
      ? { row: result.row, verdict: 'not reached', detail: why }
      : result
  })
}

/** Takes a slot in the state from which a stage begins. */
/** How long a row that is alone may not be reached. */
function patienceOf([row]: readonly Row[]): number {
  return row !== undefined && isTimed(row.step) ? timedPatienceMs : lonelyPatienceMs
}

function taken(free: Slot[], stage: Stage): Slot {
  const at = free.findIndex(({ state }) => state === stateBefore(stage))
  const [slot] = at < 0 ? [] : free.splice(at, 1)
  if (slot === undefined) throw new Error(`no slot for ${stage}`)
  return slot
}

/** Whether the claim itself is as it should be, and something else is left. */
function isLeak(missing: string): boolean {
  return /^\d+ |^left: (?!.*nodeClaims)|karpenter\.sh|joiner\.sh|DisruptionReason/.test(missing)
}
