import type { Duration } from '../server/durations.ts'

/** How Azure takes spot VMs back. */
export interface EvictionSettings {
  /**
   * Time from the notice on the Node to the end of the VM; Azure promises up to 30 s and often gives less (reference/azure-limits.md 4).
   * Default 0: without a notice.
   */
  readonly noticeMs?: Duration
  /** How often an hour Azure takes back each spot VM, on average. Default 0. */
  readonly perHour?: number
}
