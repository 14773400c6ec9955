import type { LaunchHealth } from './launch-health.ts'
import type { RefusalDeps } from './refusal.ts'
import type { AttemptedLaunch } from './refused-size.ts'

export interface LearnDeps extends RefusalDeps {
  readonly launchHealth: LaunchHealth
}

/** A launch that Azure accepted. */
export type JoinedLaunch = Pick<AttemptedLaunch, 'nodeClass' | 'instanceType' | 'image'>

/** Another offering is to be tried at once, or none is left that could help. */
export interface Lesson {
  readonly kind: 'capacity' | 'exhausted'
  /** Of the condition Launched. */
  readonly reason: string
  readonly message: string
}
