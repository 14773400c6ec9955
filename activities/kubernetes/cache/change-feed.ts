import type { Logger } from 'pino'
import type { CachedKind, CachedObject } from './cached-kinds.ts'

export interface ClusterChange {
  readonly kind: CachedKind
  readonly key: string
  /** Undefined when the object is new. */
  readonly before: CachedObject | undefined
  /** Undefined when the object is gone. */
  readonly after: CachedObject | undefined
}

/** Which changes matter to a wait. */
export type ChangeFilter = (change: ClusterChange) => boolean

export type ChangeListener = (change: ClusterChange) => void

/** What a change is about. Waits name topics, so that a change costs the same however many others wait. */
export type Topic = `claim ${string}` | `node ${string}` | `budgets ${string}`

/** The topic of a NodeClaim: changes of itself, and of Nodes with its provider id. */
export const claimTopic = (name: string): Topic => `claim ${name}`
/** The topic of a Node: changes of itself, of its pods and of the volumes that are attached to it. */
export const nodeTopic = (name: string): Topic => `node ${name}`
/** The topic of the PodDisruptionBudgets of a namespace. */
export const budgetsTopic = (namespace: string): Topic => `budgets ${namespace}`

/** The changes that end a wait, and its longest time in milliseconds. */
interface Within {
  readonly ms: number
  readonly concerns: ChangeFilter
}

/** How long waits rest on a watch that is interrupted: less than a restart of an API server takes would cost each of them an attempt. */
const untoldMs = 30_000

/** Passes changes on to listeners and waits. */
export abstract class ChangeFeed {
  readonly #log: Logger
  readonly #listeners = new Set<ChangeListener>()
  readonly #byTopic = new Map<Topic, Set<ChangeListener>>()
  /** Aborted while changes have not been reported for too long. */
  #untold = new AbortController()
  #untoldTimer: NodeJS.Timeout | undefined

  constructor(log: Logger) {
    this.#log = log
  }

  /** Calls the listener after each change of the cluster, so it must be cheap. Returns the function that removes it. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Waits until `observe` returns a value, asking at once and after each change of these topics. Rejects when the signal fires, and while changes cannot
   * be told: what waits may be taken up by another process, which is not cut off.
   */
  waitFor<T>(topics: readonly Topic[], observe: () => T | undefined, signal: AbortSignal): Promise<T> {
    const either = AbortSignal.any([signal, this.#untold.signal])
    return wait((listener) => this.#onTopics(topics, listener), observe, either)
  }

  /** Waits for a change that `concerns` lets through, at most `ms`. Returns whether one came. Rejects when the signal fires. */
  changeWithin(ms: number, concerns: ChangeFilter, signal: AbortSignal): Promise<boolean> {
    return changeWithin((listener) => this.onChange(listener), { ms, concerns }, signal)
  }

  /** Waits likewise for a change of these topics. */
  changeOf(topics: readonly Topic[], within: Within, signal: AbortSignal): Promise<boolean> {
    return changeWithin((listener) => this.#onTopics(topics, listener), within, signal)
  }

  /** Errors: changes have not been reported for too long. */
  throwIfUntold(): void {
    this.#untold.signal.throwIfAborted()
  }

  /** Whether changes are reported from now on. */
  protected noteTold(isTold: boolean): void {
    if (isTold) {
      clearTimeout(this.#untoldTimer)
      this.#untoldTimer = undefined
      if (this.#untold.signal.aborted) this.#untold = new AbortController()
      return
    }
    const why = `the API server has told this process nothing for ${untoldMs / 1000} s, so another one should do this`
    this.#untoldTimer ??= setTimeout(() => this.#untold.abort(new Error(why)), untoldMs).unref()
  }

  /** Returns what a change is about. */
  protected abstract topicsOf(change: ClusterChange): readonly Topic[]

  protected notify(change: ClusterChange): void {
    for (const listener of this.#listeners) this.#call(listener, change)
    if (this.#byTopic.size === 0) return
    for (const topic of this.topicsOf(change))
      for (const listener of this.#byTopic.get(topic) ?? []) this.#call(listener, change)
  }

  #onTopics(topics: readonly Topic[], listener: ChangeListener): () => void {
    for (const topic of topics) {
      const waiting = this.#byTopic.get(topic) ?? new Set()
      this.#byTopic.set(topic, waiting.add(listener))
    }
    return () => {
      for (const topic of topics) {
        const waiting = this.#byTopic.get(topic)
        waiting?.delete(listener)
        if (waiting?.size === 0) this.#byTopic.delete(topic)
      }
    }
  }

  #call(listener: ChangeListener, change: ClusterChange): void {
    try {
      listener(change)
    } catch (error) {
      this.#log.error({ kind: change.kind, object: change.key, err: error }, 'cluster cache listener failed')
    }
  }
}

type Subscribe = (listener: ChangeListener) => () => void

function wait<T>(subscribe: Subscribe, observe: () => T | undefined, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const first = observe()
    if (first !== undefined) return resolve(first)
    const end = subscribe(() => {
      const value = observe()
      if (value === undefined) return
      finish()
      resolve(value)
    })
    const cancelled = () => {
      finish()
      reject(cancelledBy(signal))
    }
    const finish = () => {
      end()
      signal.removeEventListener('abort', cancelled)
    }
    if (signal.aborted) cancelled()
    else signal.addEventListener('abort', cancelled, { once: true })
  })
}

/** One promise and one timer: planners and drains wait anew all the time. */
function changeWithin(subscribe: Subscribe, { ms, concerns }: Within, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(cancelledBy(signal))
    const finish = () => {
      end()
      clearTimeout(timer)
      signal.removeEventListener('abort', cancelled)
    }
    const over = (changed: boolean) => {
      finish()
      resolve(changed)
    }
    const cancelled = () => {
      finish()
      reject(cancelledBy(signal))
    }
    const end = subscribe((change) => {
      if (concerns(change)) over(true)
    })
    const timer = setTimeout(over, ms, false)
    signal.addEventListener('abort', cancelled, { once: true })
  })
}

function cancelledBy({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error('the wait was cancelled')
}
