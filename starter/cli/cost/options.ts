import type { TemporalOptions } from '../operate/temporal-options.ts'
import type { OutputFormat } from '../shared/options.ts'

/** What costs are listed by. */
export type CostKey =
  | { readonly kind: 'nodepool' | 'namespace' | 'workload' }
  | { readonly kind: 'label'; readonly label: string }

export interface CostOptions extends TemporalOptions {
  readonly groupBy: CostKey
  /** Epoch ms. */
  readonly since: number
  readonly output: OutputFormat | 'csv'
}
