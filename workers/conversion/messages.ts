import type { WebhookLimits } from './limits.ts'
import type { Refusal, Serving } from './webhook.ts'

/** What the webhook's thread is started with. */
export interface ThreadInput {
  readonly port: number
  readonly serving: Serving
  readonly limits: WebhookLimits
}

/** What the thread is reported while it runs. */
export type ToWebhook = { readonly kind: 'use'; readonly serving: Serving }

/** What it says: where it listens, and, at most once a second, what became of requests since. */
export type FromWebhook =
  | { readonly kind: 'listening'; readonly port: number }
  | {
      readonly kind: 'requests'
      readonly answered: number
      readonly refused: readonly (readonly [Refusal, number])[]
      /** The last conversion that failed. */
      readonly failure?: string
    }
