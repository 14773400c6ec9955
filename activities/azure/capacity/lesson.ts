import type { AzureParts } from '../parts.ts'
import type { RefusalDeps } from './refusal.ts'
import type { AttemptedLaunch } from './refused-size.ts'

export type LearnDeps = RefusalDeps & Pick<AzureParts, 'launchHealth'>

/** A launch that Azure accepted. */
export type JoinedLaunch = Pick<AttemptedLaunch, 'nodeClass' | 'instanceType' | 'image'>

/** Another offering is to be tried at once, or none is left that could help. */
export interface Lesson {
  readonly kind: 'capacity' | 'exhausted'
  /** Of the condition Launched. */
  readonly reason: string
  readonly message: string
}
