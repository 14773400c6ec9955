// Stands for core/node-claim/limits.ts in the workflow bundle of test/outage.servers.test.ts.
import type { Limits } from '../core/node-claim/limits.ts'

/** A claim that nothing holds up takes a quarter of these, also on a busy machine. */
export const limits: Limits = {
  launch: { attemptMs: 30_000, claimMs: 60_000 },
  registrationMs: 60_000,
  reboot: { issueMs: 60_000, recoveryMs: 60_000 },
}
