import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { dedupeKey, type EventReason, eventRule, rateLimits, transitions } from '../../core/events.ts'
import type { Condition, ObjectMeta } from '../../core/objects.ts'
import { printableLines } from '../../core/values/printable.ts'
import { hasPassed } from '../../core/values/time.ts'
import type { KubernetesClient } from './client/client.ts'
import { resourcePath } from './client/resources.ts'
import { TokenBucket } from './client/token-bucket.ts'

export interface EventSubject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid'>
}

export interface EventInput {
  readonly about: EventSubject
  readonly reason: EventReason
  readonly message: string
  /** Another object that the event has to do with. */
  readonly related?: Pick<EventSubject, 'apiVersion' | 'kind'> & { readonly name: string }
  /** Key of deduplication within a reason, by default the object: the same values are not recorded again for a while, whatever the message. */
  readonly values?: readonly string[]
  /** The budget that it shares with others, where that is not the one of its reason. */
  readonly limit?: keyof typeof rateLimits
}

interface Waiting {
  readonly about: EventSubject
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  readonly related: EventInput['related']
  readonly at: number
}

/** Rate of writes: a burst of 500 pods must not take the API server from other callers. */
const pace = { perSecond: 20, burst: 100 }
/** Most waiting events; new ones beyond it are dropped. Events are hints, and memory is limited. */
const mostWaiting = 1000
/** Most requests at once to an API server that hangs; the client gives each request up in time. */
const mostInFlight = 4
const forgetAt = 5000
/** Interval of forgetting: on a large cluster nothing may have expired, and searching again and again frees nothing. */
const forgetEveryMs = 10_000

/**
 * Records Kubernetes events by the table of `core/events.ts`: deduplicated and rate limited (reference/karpenter-core.md 6.2).
 * Recording never fails and never waits: an event that cannot be written is logged.
 */
export class EventRecorder {
  readonly #client: Pick<KubernetesClient, 'create'>
  readonly #log: Pick<Logger, 'debug'>
  readonly #now: () => number
  /** When what was recorded last, and for how long it is not recorded again. */
  readonly #reported = new Map<string, { readonly atMs: number; readonly dedupeMs: number }>()
  readonly #limits: Readonly<Record<keyof typeof rateLimits, TokenBucket>>
  readonly #pace: TokenBucket
  readonly #waiting: Waiting[] = []
  #inFlight = 0
  #forgotAt = 0
  #timer: NodeJS.Timeout | undefined

  constructor(client: Pick<KubernetesClient, 'create'>, log: Pick<Logger, 'debug'>, now = () => Date.now()) {
    this.#client = client
    this.#log = log
    this.#now = now
    this.#limits = {
      nomination: new TokenBucket(rateLimits.nomination, now()),
      lostLaunch: new TokenBucket(rateLimits.lostLaunch, now()),
      passing: new TokenBucket(rateLimits.passing, now()),
    }
    this.#pace = new TokenBucket(pace, now())
  }

  record({ about, reason, message, related, values = [about.metadata.uid], ...input }: EventInput): void {
    const rule = eventRule(reason, about.kind)
    const { type, dedupeMs } = rule
    const limit = input.limit ?? rule.limit
    const at = this.#now()
    const key = dedupeKey(reason, values)
    const last = this.#reported.get(key)
    if (last !== undefined && !hasPassed(dedupeMs, last.atMs, at)) return
    this.#forgetOld(at)
    this.#reported.set(key, { atMs: at, dedupeMs })
    if (limit !== undefined && !this.#limits[limit].take(at)) return
    this.#enqueue({ about, type, reason, message, related, at })
  }

  /** Records conditions whose status changed. Each change is recorded, without deduplication. */
  recordTransitions(about: EventSubject, before: readonly Condition[], after: readonly Condition[]): void {
    const at = this.#now()
    for (const event of transitions(about.kind, before, after))
      this.#enqueue({ about, type: 'Normal', ...event, related: undefined, at })
  }

  #enqueue(event: Waiting): void {
    if (this.#waiting.length >= mostWaiting) {
      this.#log.debug({ reason: event.reason, object: event.about.metadata.name }, 'dropped event, queue is full')
      return
    }
    this.#waiting.push(event)
    this.#writeMore()
  }

  #writeMore(): void {
    while (this.#waiting.length > 0 && this.#inFlight < mostInFlight) {
      const now = this.#now()
      if (!this.#pace.take(now)) {
        this.#later(this.#pace.waitMs(now))
        return
      }
      void this.#write(this.#waiting.shift() as Waiting)
    }
  }

  #later(ms: number): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#writeMore()
    }, ms)
    this.#timer.unref()
  }

  async #write(event: Waiting): Promise<void> {
    const { about, reason } = event
    this.#inFlight += 1
    try {
      const path = resourcePath('events', undefined, about.metadata.namespace ?? 'default')
      await this.#client.create(path, eventObject(event))
    } catch (error) {
      this.#log.debug({ err: error, reason, object: about.metadata.name }, 'failed to write event')
    }
    this.#inFlight -= 1
    this.#writeMore()
  }

  #forgetOld(now: number): void {
    if (this.#reported.size < forgetAt || !hasPassed(forgetEveryMs, this.#forgotAt, now)) return
    this.#forgotAt = now
    for (const [key, { atMs, dedupeMs }] of this.#reported)
      if (hasPassed(dedupeMs, atMs, now)) this.#reported.delete(key)
  }
}

/** Longest message that the API server accepts. */
const longestMessage = 1024

function eventObject({ about, type, reason, message, related, at }: Waiting): Record<string, unknown> {
  const time = new Date(at).toISOString()
  const namespace = about.metadata.namespace ?? 'default'
  return {
    apiVersion: 'v1',
    kind: 'Event',
    // A name has at most 253 characters.
    metadata: { name: `${about.metadata.name.slice(0, 240)}.${randomBytes(6).toString('hex')}`, namespace },
    involvedObject: {
      apiVersion: about.apiVersion,
      kind: about.kind,
      name: about.metadata.name,
      uid: about.metadata.uid,
      ...(about.metadata.namespace === undefined ? {} : { namespace }),
    },
    ...(related === undefined ? {} : { related }),
    type,
    reason,
    // It may quote any user's text, and is read in terminals.
    message: printableLines(message.length > 1000 ? `${message.slice(0, 997)}...` : message).slice(0, longestMessage),
    source: { component: 'karpenter' },
    reportingComponent: 'karpenter',
    reportingInstance: 'joiner',
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  }
}

/** Returns the subject of an event from a decoded object. */
export function subject(object: { readonly kind: string; readonly metadata: ObjectMeta }): EventSubject {
  return { apiVersion: apiVersions[object.kind] ?? 'v1', kind: object.kind, metadata: object.metadata }
}

const apiVersions: Readonly<Record<string, string>> = {
  NodeClaim: 'karpenter.sh/v1',
  NodePool: 'karpenter.sh/v1',
  AKSNodeClass: 'karpenter.azure.com/v1beta1',
}
