// Leases of Joiner for people and programs: who does what only one process does, for how long, and by which clock.
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { isNotFound } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { HeldUp } from '../../../activities/kubernetes/client/request-gate.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { heldUpAnnotation } from '../../../activities/kubernetes/lease-object.ts'
import { leaderLeases } from '../../picture/joiners-client.ts'
import { messageOf } from '../../temporal/problem.ts'

export interface LeaseReport {
  readonly lease: string
  /** Why it could not be read: the account of a process, for one, reads no Leases but its own. */
  readonly unread?: string
  /** Unset: nobody holds it, if it was read. */
  readonly holder?: string
  /** For how long it had been that holder's when it was renewed last, by that holder's clock. Unset: the holder does not say. */
  readonly heldMs?: number
  /** When it was renewed last: by the API server's clock where it says so, else by the holder's. Unset: the holder does not say. */
  readonly renewedMs?: number
  /** How the API server holds its holder up: how many requests that may have in flight, and how many wait. Unset: it does not. */
  readonly heldUp?: HeldUp
  /** By how much the clock of who renewed it last is ahead of the API server's. Unset: the API server does not say when that was. */
  readonly offMs?: number
}

/** A leader renews its Lease every 2 s; clocks of two machines may differ by some seconds. */
const silenceMs = 60_000

/** Returns since when a Lease has not been renewed, epoch ms: its holder is gone, or stands still. Undefined: it is renewed, as far as is known. */
export function silentSince({ renewedMs }: LeaseReport, now: number): number | undefined {
  return renewedMs !== undefined && now - renewedMs >= silenceMs ? renewedMs : undefined
}

/** Reads who leads, as far as that can be read. */
export function readLeases(client: Pick<KubernetesClient, 'get'>, namespace: string): Promise<readonly LeaseReport[]> {
  return Promise.all(
    leaderLeases.map(async (lease) => {
      try {
        return leaseReport(lease, await client.get(resourcePath('leases', lease, namespace)))
      } catch (error) {
        return isNotFound(error) ? { lease } : { lease, unread: messageOf(error) }
      }
    }),
  )
}

/** Returns what a Lease says of its holder. */
export function leaseReport(lease: string, { spec, metadata }: Json): LeaseReport {
  const {
    holderIdentity: holder,
    renewTime,
    acquireTime,
  } = (spec ?? {}) as Readonly<Record<string, string | undefined>>
  if (!holder) return { lease }
  const renewedMs = Date.parse(renewTime ?? '')
  const heldMs = renewedMs - Date.parse(acquireTime ?? '')
  const offMs = renewedMs - writtenMs(metadata)
  return {
    lease,
    holder,
    ...(heldMs >= 0 && { heldMs }),
    ...(!Number.isNaN(renewedMs) && { renewedMs: Number.isNaN(offMs) ? renewedMs : renewedMs - offMs }),
    ...(!Number.isNaN(offMs) && { offMs }),
    ...heldUpIn(holder, metadata),
  }
}

/** What a holder before, or one of another version, has left there says nothing of who holds it now. */
function heldUpIn(holder: string, metadata: unknown): Pick<LeaseReport, 'heldUp'> {
  const { annotations = {} } = (metadata ?? {}) as { readonly annotations?: Readonly<Record<string, string>> }
  const [writer, limit, waiting] = (annotations[heldUpAnnotation] ?? '').split(' ')
  const heldUp = { limit: Number(limit), waiting: Number(waiting) }
  return writer === holder && Object.values(heldUp).every(Number.isInteger) ? { heldUp } : {}
}

/** When the API server took the last write, which is a renewal; whole seconds. */
function writtenMs(metadata: unknown): number {
  const { managedFields = [] } = metadata as { readonly managedFields?: readonly { readonly time?: string }[] }
  const times = managedFields.map(({ time }) => Date.parse(time ?? '')).filter((ms) => !Number.isNaN(ms))
  return times.length === 0 ? Number.NaN : Math.max(...times)
}
