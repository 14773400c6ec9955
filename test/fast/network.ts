import type { ConnectionLike } from '@temporalio/client'
import { type ServerName, SimulatedProcess } from './simulated-process.ts'
import { refusal } from './temporal/client/grpc-service.ts'

/** Where in a request a process stops: before it has an effect, after that but without an answer, or with the answer and nothing done about it. */
export const stopPoints = ['sent', 'effected', 'answered'] as const
export type StopPoint = (typeof stopPoints)[number]

export interface PlannedStop {
  /** Counted from 1, over all requests of all processes; with `of`, over those from now on whose names match. */
  readonly request: number
  readonly of?: RegExp
  /** What the body of a request has to have that is counted, as JSON. */
  readonly carrying?: RegExp
  readonly point: StopPoint
  /** Kills the process, or freezes it. A frozen one takes up its request where it stopped. `request`: its name. */
  readonly stop: (process: SimulatedProcess, request: string) => void
}

/** Told of each answer in the process that it is for: the date of the server that made it, and when its request was sent (`performance.now`). */
export type Answered = (date: string, sentMs: number) => void

interface Carried {
  readonly answered?: Answered | undefined
  readonly body?: unknown
}

/** How long a request is under way, and its answer, in ms. */
interface Travel {
  readonly there: number
  readonly back: number
}

async function travel(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
}

/** After how long a client gives up what has no answer. Requests to Azure are given up by the product's own policy. */
const patienceMs = { kubernetes: 10_000, list: 60_000, temporal: 15_000 } as const
/** After how long TCP gives up a watch. */
const deadWatchMs = 20_000

/** A request without an answer. */
class NoAnswer extends Error {}

/** Which server a request of this name is for. */
function serverOf(request: string): ServerName {
  if (request.startsWith('temporal ')) return 'temporal'
  return /^[A-Z]+ /.test(request) ? 'azure' : 'kubernetes'
}

/** Errors: those of a client that has waited for long enough. */
async function noAnswer(request: string): Promise<never> {
  const server = serverOf(request)
  if (server === 'azure') return new Promise(() => {})
  const ms = request.startsWith('list') ? patienceMs.list : patienceMs[server]
  await travel(ms)
  if (server === 'temporal') throw refusal('deadlineExceeded', 'Deadline exceeded')
  throw new NoAnswer(`${request}: no answer in ${ms / 1000} s`)
}

/** Carries a request to its server and the answer back, unless the process is cut off from it at one of the two times. */
async function reached<T>(process: SimulatedProcess, request: string, effect: () => T | Promise<T>): Promise<T> {
  const server = serverOf(request)
  if (process.isCutFrom(server)) return noAnswer(request)
  const answer = await effect()
  return process.isCutFrom(server) ? noAnswer(request) : answer
}

/** A request that was sent and has not taken effect. */
interface UnderWay {
  readonly request: string
  /** Epoch ms. */
  readonly sentMs: number
}

/** What lies between processes and servers: the place where a process is killed or freezes in the midst of a request. */
export class Network {
  /** Requests of processes, oldest first, such as `PUT virtualMachines/aks-a`. */
  readonly requests: string[] = []
  /** Those to Azure that are late: Azure is slow, or their process stands still. One of a process that was killed meanwhile never takes effect. */
  readonly underWay = new Set<UnderWay>()
  #planned: PlannedStop | undefined
  /** How many requests the planned stop has counted. */
  #counted = 0
  readonly #travelMs: (request: string) => Travel

  /** `travelMs`: how long a request and its answer travel. Default: no time at all. */
  constructor(travelMs: (request: string) => Travel = () => ({ there: 0, back: 0 })) {
    this.#travelMs = travelMs
  }

  /** Undefined: none, or it has come about. */
  get planned(): PlannedStop | undefined {
    return this.#planned
  }

  set planned(planned: PlannedStop | undefined) {
    this.#planned = planned
    this.#counted = planned?.of === undefined ? this.requests.length : 0
  }

  /** Counts a request. Returns the stop that is planned at it. */
  #due(request: string, body: unknown): PlannedStop | undefined {
    const planned = this.#planned
    if (planned === undefined || planned.of?.test(request) === false) return undefined
    if (planned.carrying?.test(JSON.stringify(body) ?? '') === false) return undefined
    this.#counted += 1
    if (this.#counted !== planned.request) return undefined
    this.#planned = undefined
    return planned
  }

  /** Notes that a request is under way. Returns what notes that it is no more. */
  #sent(request: string): () => void {
    if (serverOf(request) !== 'azure') return () => {}
    // The clock of its process may be wrong.
    const sent = { request, sentMs: SimulatedProcess.outside(() => Date.now()) }
    this.underWay.add(sent)
    return () => this.underWay.delete(sent)
  }

  /** Carries a request of the process that runs now. Its effect is the server's work, and its answer arrives only where the process still lives. */
  async carry<T>(request: string, effect: () => T | Promise<T>, { answered, body }: Carried = {}): Promise<T> {
    const sentMs = performance.now()
    const process = SimulatedProcess.current
    if (process === undefined) return effect()
    await process.untilRunning()
    this.requests.push(request)
    const arrived = this.#sent(request)
    const planned = this.#due(request, body)
    if (planned?.point === 'sent') {
      planned.stop(process, request)
      await process.untilRunning()
    }
    const { there, back } = this.#travelMs(request)
    const { settled: answer, dateMs } = await SimulatedProcess.outside(async () => {
      await travel(there)
      const [settled] = await Promise.allSettled([reached(process, request, effect)])
      arrived()
      const dateMs = Date.now()
      await travel(back)
      return { settled, dateMs }
    })
    if (planned?.point === 'effected') planned.stop(process, request)
    return process.answered(
      answer.status === 'fulfilled' ? Promise.resolve(answer.value) : Promise.reject(answer.reason as Error),
      () => {
        if (answer.status === 'fulfilled' || !(answer.reason instanceof NoAnswer))
          answered?.(new Date(dateMs).toUTCString(), sentMs)
        if (planned?.point === 'answered') planned.stop(process, request)
      },
    )
  }

  /** A client whose calls go over this network. A list is asked for page by page. */
  clientOf<C extends object>(
    client: C,
    nameOf: (method: string, args: readonly unknown[]) => string,
    answered?: Answered,
  ): C {
    return new Proxy(client, {
      get: (target, method) => {
        const call: unknown = Reflect.get(target, method)
        if (typeof call !== 'function') return call
        return (...args: unknown[]): unknown => {
          if (method === 'withOwnConnections') return this.clientOf(target, nameOf, answered)
          // A turn is the process' own matter; what is sent in it comes through here.
          if (method === 'inTurn') return (args[1] as () => unknown)()
          const name = nameOf(String(method), args)
          const result = () => Reflect.apply(call, target, args) as unknown
          if (method === 'watch') return this.#watch(result as () => AsyncIterable<unknown>)
          if (method === 'listPages') return this.#pages(name, result as () => AsyncIterable<unknown>, answered)
          return this.carry(name, result, { answered, body: args[1] })
        }
      },
    })
  }

  /** A connection to Temporal whose calls go over this network. */
  connectionOf(connection: ConnectionLike): ConnectionLike {
    const services = ['workflowService', 'operatorService'] as const
    const over = services.map((name) => [name, this.clientOf(connection[name], (method) => `temporal ${method}`)])
    return { ...connection, ...(Object.fromEntries(over) as Pick<ConnectionLike, (typeof services)[number]>) }
  }

  async *#pages<T>(name: string, begin: () => AsyncIterable<T>, answered?: Answered): AsyncGenerator<T> {
    const iterator = SimulatedProcess.outside(() => begin()[Symbol.asyncIterator]())
    for (;;) {
      const next = await this.carry(name, () => iterator.next(), { answered })
      if (next.done === true) return
      yield next.value
    }
  }

  /**
   * Events of a watch are no requests: a process cannot be killed at one, but hears of none after its kill, nor while it is cut off. Errors: it was cut
   * off, which TCP has noticed.
   */
  async *#watch<T>(begin: () => AsyncIterable<T>): AsyncGenerator<T> {
    const process = SimulatedProcess.current
    let wake = () => {}
    const end = process?.whenCut('kubernetes', () => wake())
    const iterator = SimulatedProcess.outside(() => begin()[Symbol.asyncIterator]())
    try {
      for (;;) {
        if (process?.isCutFrom('kubernetes') === true) {
          await process.answered(SimulatedProcess.outside(() => travel(deadWatchMs)))
          throw new Error('read ETIMEDOUT')
        }
        const event = SimulatedProcess.outside(() => iterator.next())
        // No race with a promise of the cut: that would keep what each event has brought.
        const either = new Promise<IteratorResult<T> | undefined>((resolve, reject) => {
          wake = () => resolve(undefined)
          event.then(resolve, reject)
        })
        const next = await (process?.answered(either) ?? event)
        if (process?.isCutFrom('kubernetes') === true || next === undefined) continue
        if (next.done === true) return
        yield next.value
      }
    } finally {
      end?.()
      void iterator.return?.()
    }
  }
}
