import { AsyncLocalStorage } from 'node:async_hooks'
import { RestError } from '@azure/core-rest-pipeline'
import type { AksMachineId } from '../../../core/node-claim/aks-machine.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import { armErrorCode } from '../arm/azure-error.ts'
import { armMachine, type MachineBody } from './machine-body.ts'
import { type MachinesApiDeps, machineIdText, putMachine } from './machines-api.ts'

type BatchesDeps = MachinesApiDeps & Pick<Parts, 'log'>

/** Limits of a batch (reference/azure-provider.md 4.7). */
const idleMs = 1000
const longestMs = 5000
const mostMachines = 50
/** Characters of a batch's header. Tags of an AKSNodeClass can be long, and servers refuse headers of 16 KiB. */
const longestHeader = 12_000

interface MachineRequest {
  readonly id: AksMachineId
  readonly body: MachineBody
  readonly settle: (error?: Error) => void
}

interface Batch {
  readonly requests: MachineRequest[]
  /** Characters of the header. */
  length: number
  readonly startedAt: number
  timer: NodeJS.Timeout
}

/**
 * Collects machines that differ by name, zone and tags only, and asks AKS for them in one PUT. Batches are in memory only: one that is lost is
 * repeated, since each launch looks for its machine first.
 */
export class MachineBatches {
  readonly #deps: BatchesDeps
  readonly #batches = new Map<string, Batch>()
  /** Runs the shared request outside of the activity that happened to ask first: it goes on when that activity ends. */
  readonly #forAll = AsyncLocalStorage.snapshot()

  constructor(deps: BatchesDeps) {
    this.#deps = deps
  }

  /** Resolves when AKS has accepted the machine. Errors: ARM's about this machine, or about the whole batch; `signal` ends the wait; the machine is asked for all the same once its batch is sent. */
  put(id: AksMachineId, body: MachineBody, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancelled = () => {
        const why = signal.reason instanceof Error ? signal.reason : new Error('the wait was cancelled')
        this.#withdraw(id, why)
        settle(why)
      }
      const settle = (error?: Error) => {
        signal.removeEventListener('abort', cancelled)
        if (error === undefined) resolve()
        else reject(error)
      }
      if (signal.aborted) return cancelled()
      signal.addEventListener('abort', cancelled, { once: true })
      this.#add({ id, body, settle })
    })
  }

  /** Nobody waits for a machine any more whose batch was not sent yet: its NodeClaim may be gone, or another process may ask for it. */
  #withdraw(id: AksMachineId, why: Error): void {
    const text = machineIdText(id)
    for (const [key, batch] of this.#batches) {
      const at = batch.requests.findIndex((request) => machineIdText(request.id) === text)
      if (at < 0) continue
      const [request] = batch.requests.splice(at, 1) as [MachineRequest]
      batch.length -= headerOf([request]).length
      request.settle(why)
      if (batch.requests.length > 0) continue
      clearTimeout(batch.timer)
      this.#batches.delete(key)
    }
  }

  #add(request: MachineRequest): void {
    this.#withdraw(request.id, new Error('a later try asks for the machine'))
    const key = keyOf(request)
    const now = performance.now()
    const { length } = headerOf([request])
    if ((this.#batches.get(key)?.length ?? 0) + length > longestHeader) void this.#forAll(() => this.#send(key))
    const send = () => void this.#forAll(() => this.#send(key))
    const batch = this.#batches.get(key) ?? { requests: [], length: 0, startedAt: now, timer: setTimeout(send, idleMs) }
    this.#batches.set(key, batch)
    batch.requests.push(request)
    batch.length += length
    clearTimeout(batch.timer)
    if (batch.requests.length >= mostMachines) return send()
    batch.timer = setTimeout(send, Math.max(0, Math.min(idleMs, batch.startedAt + longestMs - now)))
  }

  async #send(key: string): Promise<void> {
    const batch = this.#batches.get(key)
    this.#batches.delete(key)
    const [first] = batch?.requests ?? []
    if (batch === undefined || first === undefined) return
    clearTimeout(batch.timer)
    const { requests } = batch
    this.#deps.log.info({ machines: requests.length }, 'asking AKS for a batch of machines')
    try {
      await putMachine(this.#deps, first.id, requestFor(requests, first))
      for (const { settle } of requests) settle()
    } catch (error) {
      const errors = errorsOf(
        error,
        requests.map(({ id }) => id.name.toLowerCase()),
      )
      for (const { id, settle } of requests)
        settle(errors === undefined ? errorFrom(error) : errors.get(id.name.toLowerCase()))
    }
  }
}

const errorFrom = (reason: unknown) => (reason instanceof Error ? reason : new Error('the PUT of a batch failed'))

/** One machine whose tags fill a header is asked for without one. */
function requestFor(requests: readonly MachineRequest[], { body }: MachineRequest): Parameters<typeof putMachine>[2] {
  const header = headerOf(requests)
  if (header.length > longestHeader) return { body: armMachine(body), headers: { 'if-none-match': '*' } }
  // Zones are a part of the key where they are shared.
  const shared = armMachine({ ...body, zones: sharedZones(body), tags: {} })
  return { body: shared, headers: { BatchPutMachine: header } }
}

function headerOf(requests: readonly MachineRequest[]): string {
  const batchMachines = requests.map(({ id, body }) => ({ machineName: id.name, zones: body.zones, tags: body.tags }))
  // A header holds no other characters.
  return JSON.stringify({ batchMachines }).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Machines of one key have all in common that the header cannot say. Those with ultra disks have their zone in common as well. */
function keyOf({ id, body }: MachineRequest): string {
  return JSON.stringify([machineIdText({ ...id, name: '' }), body.shared, sharedZones(body)])
}

function sharedZones({ zones, shared }: MachineBody): readonly string[] {
  const { ultraSsdEnabled } = shared['hardware'] as { readonly ultraSsdEnabled?: boolean }
  return ultraSsdEnabled === true ? zones : []
}

interface MachineRefusal {
  readonly code?: string
  readonly message?: string
  readonly target?: string
}

/**
 * Returns the errors of the machines that AKS names in its refusal of a batch, by name in lower case: it accepted the others (reference/azure-provider.md
 * 4.7). Undefined: the error is about all of them, as one that names a machine that was not asked for.
 */
function errorsOf(error: unknown, asked: readonly string[]): ReadonlyMap<string, Error> | undefined {
  const code = armErrorCode(error)
  if (!(error instanceof RestError) || !/^BatchMachine(Client|InternalServer)Error$/.test(code ?? '')) return undefined
  const details = detailsOf(error)?.filter(({ target }) => target !== undefined) ?? []
  if (details.length === 0) return undefined
  const errors = new Map(
    details.map(({ code: own = 'UnknownError', message = '', target = '' }) => {
      const { statusCode } = error
      const of = new RestError(message, { code: own, ...(statusCode === undefined ? {} : { statusCode }) })
      of.details = { error: { code: own, message } }
      // AKS may name a machine by its id.
      return [target.toLowerCase().split('/').at(-1) ?? '', of]
    }),
  )
  return [...errors.keys()].every((name) => asked.includes(name)) ? errors : undefined
}

interface RefusalBody {
  readonly message?: string
  readonly details?: unknown
}

/** AKS answers without the field `error` that ARM has around its errors. An internal error has its details as JSON in its message. */
function detailsOf({ details }: RestError): readonly MachineRefusal[] | undefined {
  const answer = Object(details) as RefusalBody & { readonly error?: RefusalBody }
  const body = answer.error ?? answer
  if (Array.isArray(body.details)) return body.details as readonly MachineRefusal[]
  try {
    const inner = Object(JSON.parse(body.message ?? '')) as {
      readonly details?: unknown
      readonly error?: { readonly details?: unknown }
    }
    const found = inner.details ?? inner.error?.details
    return Array.isArray(found) ? (found as readonly MachineRefusal[]) : undefined
  } catch {
    return undefined
  }
}
