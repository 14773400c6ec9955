// How a lifecycle ended, as Temporal's UI shows it: the result of its run, and the failure of one whose node never served.
import type { Death, LifeFacts } from './life.ts'
import { oneLine } from './record.ts'
import { deathText, offeringText } from './texts.ts'

/**
 * Every outcome. Those of a node that something kept from ever being ready have a type: their runs fail with it, so that Temporal's list of failed
 * workflows is the list of these nodes.
 */
export const outcomes = {
  disruption: undefined,
  interrupted: undefined,
  repaired: undefined,
  expired: undefined,
  forced: undefined,
  'vm-lost': undefined,
  'node-gone': undefined,
  'scaled-down': undefined,
  deleted: undefined,
  cancelled: undefined,
  /** The NodeClaim was gone when the run first looked: another run has recorded its end. */
  gone: undefined,
  /** A time limit was over: of the launch, the registration, the Node's health or `expireAfter`. */
  'gave-up': 'GaveUp',
  /** VM or Node vanished, or Azure took the VM back. */
  lost: 'Lost',
  /** Azure or a rule refused every VM. */
  refused: 'Refused',
} as const satisfies Readonly<Record<Death['kind'] | 'gone' | 'lost' | 'refused', string | undefined>>

export type Outcome = keyof typeof outcomes

/** The result of a lifecycle. `vm`, `hours` and `price` are of its last VM. */
export interface LifeResult {
  readonly outcome: Outcome
  /** Why, in words. */
  readonly reason: string
  /** Size, capacity type and zone; absent: there was no VM. */
  readonly vm?: string
  /** USD an hour; absent: unknown. */
  readonly price?: number
  /** How long the VM lived. */
  readonly hours?: number
}

/** Why and with which type a run fails. */
export interface LifeFailure {
  readonly type: NonNullable<(typeof outcomes)[Outcome]>
  readonly message: string
}

/** The result of a run that never saw its NodeClaim. */
export const goneResult: LifeResult = { outcome: 'gone', reason: 'the NodeClaim was gone when this run began' }

const limitReasons: ReadonlySet<string> = new Set(['launch_timeout', 'registration_timeout'])
const longestFailure = 500

/** Returns the result of a lifecycle that has ended. */
export function resultOf(facts: LifeFacts): LifeResult {
  const { vms, went = { kind: 'deleted' } } = facts
  const vm = vms.at(-1)
  const result = { outcome: facts.readyMs === undefined ? neverReady(went) : went.kind, reason: deathText(went) }
  if (vm === undefined) return result
  const { pricePerHour, fromMs, toMs = fromMs } = vm
  return {
    ...result,
    vm: offeringText(vm),
    ...(pricePerHour === undefined ? {} : { price: pricePerHour }),
    hours: Math.round((toMs - fromMs) / 36_000) / 100,
  }
}

function neverReady(went: Death): Outcome {
  switch (went.kind) {
    case 'gave-up':
      return limitReasons.has(went.reason) ? 'gave-up' : 'refused'
    case 'expired':
    case 'repaired':
      return 'gave-up'
    case 'interrupted':
    case 'vm-lost':
    case 'node-gone':
      return 'lost'
    default:
      return went.kind
  }
}

/** Returns the failure that a result stands for; undefined when the run completes. */
export function failureOf(
  nodeClaim: string,
  { attempts, vms, refused }: LifeFacts,
  { outcome, reason }: LifeResult,
): LifeFailure | undefined {
  const type = outcomes[outcome]
  if (type === undefined) return undefined
  const [vm, refusal] = [vms.at(-1), refused.at(-1)]
  const tried = [
    attempts === 1 ? '1 launch attempt' : `${attempts} launch attempts`,
    ...(vm === undefined ? [] : [`the last VM ${offeringText(vm)}`]),
    ...(refusal === undefined ? [] : [`last refused ${offeringText(refusal)} (${refusal.reason})`]),
  ]
  const message = `NodeClaim ${nodeClaim} never became ready: ${tried.join(', ')}; ${reason}`
  return { type, message: oneLine(message, longestFailure) }
}
