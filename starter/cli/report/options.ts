import type { TemporalOptions } from '../operate/temporal-options.ts'

export type ReportFormat = 'markdown' | 'html' | 'json'

export interface ReportOptions extends TemporalOptions {
  /** Epoch ms. */
  readonly since: number
  readonly output: ReportFormat
  readonly outputFile?: string
  readonly prometheus?: URL
  readonly prometheusMatch: Readonly<Record<string, string>>
}
