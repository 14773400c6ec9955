import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import type { ObjectMeta } from '../../core/objects.ts'
import type { KubernetesClient } from './client.ts'
import { resourcePath } from './resources.ts'

/** The object an event is about. */
export interface EventSubject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid'>
}

export interface EventInput {
  readonly about: EventSubject
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  /** The same reason and message about the same object is not repeated within this time. */
  readonly dedupeMs?: number
}

const defaultDedupeMs = 120_000
/** Events beyond this many a second are dropped: they are hints, and a burst of 500 pods must not flood the API server. */
const perSecond = 20
const burst = 100

/**
 * Records Kubernetes events: named as Karpenter's (reference/karpenter-core.md 6.2), deduplicated and rate limited.
 * Recording never fails and never waits: an event that cannot be written is logged.
 */
export class EventRecorder {
  readonly #client: KubernetesClient
  readonly #log: Logger
  readonly #seen = new Map<string, number>()
  #tokens = burst
  #refilledAt = Date.now()

  constructor(client: KubernetesClient, log: Logger) {
    this.#client = client
    this.#log = log
  }

  record(event: EventInput): void {
    const now = Date.now()
    const key = `${event.about.metadata.uid}/${event.reason}/${event.message}`.toLowerCase()
    if ((this.#seen.get(key) ?? 0) > now || !this.#takeToken(now)) return
    this.#forgetOld(now)
    this.#seen.set(key, now + (event.dedupeMs ?? defaultDedupeMs))
    this.#client
      .create(resourcePath('events', undefined, event.about.metadata.namespace ?? 'default'), eventObject(event))
      .catch((error: unknown) => {
        this.#log.debug(
          { err: error, reason: event.reason, object: event.about.metadata.name },
          'an event could not be written',
        )
      })
  }

  #takeToken(now: number): boolean {
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#refilledAt) / 1000) * perSecond)
    this.#refilledAt = now
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }

  #forgetOld(now: number): void {
    if (this.#seen.size < 5000) return
    for (const [key, until] of this.#seen) if (until <= now) this.#seen.delete(key)
  }
}

function eventObject({ about, type, reason, message }: EventInput): Record<string, unknown> {
  const now = new Date().toISOString()
  const namespace = about.metadata.namespace ?? 'default'
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${about.metadata.name}.${randomBytes(6).toString('hex')}`, namespace },
    involvedObject: {
      apiVersion: about.apiVersion,
      kind: about.kind,
      name: about.metadata.name,
      uid: about.metadata.uid,
      ...(about.metadata.namespace === undefined ? {} : { namespace }),
    },
    type,
    reason,
    message: message.length > 1000 ? `${message.slice(0, 997)}...` : message,
    source: { component: 'karpenter' },
    reportingComponent: 'karpenter',
    reportingInstance: 'joiner',
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  }
}

/** Makes the subject of an event from a decoded object. */
export function subject(object: { readonly kind: string; readonly metadata: ObjectMeta }): EventSubject {
  return { apiVersion: apiVersions[object.kind] ?? 'v1', kind: object.kind, metadata: object.metadata }
}

const apiVersions: Readonly<Record<string, string>> = {
  NodeClaim: 'karpenter.sh/v1',
  NodePool: 'karpenter.sh/v1',
  AKSNodeClass: 'karpenter.azure.com/v1beta1',
}
