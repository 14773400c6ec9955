import type { TemporalOptions } from '../operate/temporal-options.ts'
import type { OutputFormat } from '../shared/options.ts'

export interface HistoryOptions extends TemporalOptions {
  /** Epoch ms. */
  readonly since: number
  readonly output: OutputFormat | 'csv'
}
