/** How much sleep an alert is worth: `critical` wakes somebody, `warning` waits for the morning. */
type Severity = 'critical' | 'warning'

/** Durations of alerts: `range` of a selector and of `for`, and `seconds` of a threshold. A test runs through them sixty times as fast. */
export interface Durations {
  readonly range: (minutes: number) => string
  readonly seconds: (minutes: number) => number
}

/** An alert. Its runbook is the section of its name in `docs/runbooks.md`. */
export interface Alert {
  readonly name: string
  readonly severity: Severity
  readonly expr: (durations: Durations) => string
  /** How long the condition has to hold. */
  readonly forMinutes: number
  /** A line with the labels that say what it is about. */
  readonly summary: string
}

/** Durations as they are. */
export const realDurations: Durations = {
  range: (minutes) => (minutes % 60 === 0 && minutes > 0 ? `${minutes / 60}h` : `${minutes}m`),
  seconds: (minutes) => minutes * 60,
}

/** Seconds in place of minutes. */
export const sixtyTimesFaster: Durations = {
  range: (minutes) => `${minutes}s`,
  seconds: (minutes) => minutes,
}
