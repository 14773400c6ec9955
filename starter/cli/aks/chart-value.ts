/** A value of the chart, and where it comes from. */
export interface ChartValue {
  readonly path: readonly string[]
  readonly value: string | readonly string[]
  /** The field of ARM that it is read from, or why it is not known. */
  readonly source: string
  /** What to do about a value that is not known. */
  readonly remedy?: string
  /** Whether the chart installs nothing without it. */
  readonly isNeeded?: boolean
}
