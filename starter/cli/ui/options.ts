import type { TemporalOptions } from '../operate/temporal-options.ts'

/** How the page is served. */
export interface UiOptions extends TemporalOptions {
  /** 0: any that is free. */
  readonly port: number
  readonly readOnly?: true
  readonly open: boolean
  readonly behindProxy?: string
  readonly temporalUi?: string
}
