import type { Pod } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'
import { parseGoDuration } from '../values/duration.ts'

/** Meaning of a pod's do-not-disrupt annotation. */
export type Protection =
  | { readonly kind: 'none' }
  | { readonly kind: 'always' }
  /** `endsAt` in epoch ms; unset before the pod starts, since its time has not begun to run. */
  | { readonly kind: 'timed'; readonly endsAt?: number }
  /** The annotation is ignored. */
  | { readonly kind: 'invalid'; readonly value: string; readonly message: string }

const none: Protection = { kind: 'none' }
const always: Protection = { kind: 'always' }

/** Returns when a pod's protection ends or has ended, in epoch ms; undefined when it has none or none that ends, or its time has not begun to run. */
export function protectedUntil(pod: Pick<Pod, 'metadata' | 'startTime'>): number | undefined {
  const protection = protectionOf(pod)
  return protection.kind === 'timed' ? protection.endsAt : undefined
}

/** "true" protects for ever, a positive duration from the pod's start on (reference/karpenter-core.md 4.2). */
export function protectionOf({ metadata, startTime }: Pick<Pod, 'metadata' | 'startTime'>): Protection {
  const value = metadata.annotations[annotations.doNotDisrupt]
  if (value === undefined) return none
  if (value === 'true') return always
  const nanoseconds = parseGoDuration(value)
  const text = JSON.stringify(value)
  if (nanoseconds === undefined) {
    const message = `failed to parse ${text} as a duration, set it to "true" or to one such as "90m" or "24h"`
    return { kind: 'invalid', value, message }
  }
  if (nanoseconds <= 0n) return { kind: 'invalid', value, message: `duration ${text} must be positive` }
  if (startTime === undefined) return { kind: 'timed' }
  return { kind: 'timed', endsAt: Date.parse(startTime) + Number(nanoseconds) / 1e6 }
}
