import { isCancellation } from '@temporalio/workflow'
import type { ClaimRef, Ended, PreparedReboot, RebootOutcome } from '../activities/kubernetes/contract.ts'
import { limits } from '../core/node-claim/limits.ts'
import { clusterSteps, kubernetes, readyWaits, restarts } from './activities.ts'
import { causeMessage } from './cause-message.ts'

/** Reboots the VM of a claim: drains the Node, restarts the VM, waits until the Node is ready. On failure the claim is deleted. */
export async function reboot(claim: ClaimRef, enter: (waitingFor: string) => void): Promise<void> {
  enter('pods to leave the Node before its VM restarts')
  const prepared = await clusterSteps().prepareReboot.executeWithOptions({ summary: 'evict pods before the reboot' }, [
    { claim, limits: limits.reboot },
  ])
  let { endedMs } = prepared
  if (prepared.kind === 'over') return
  if (prepared.kind === 'failed') return end(claim, prepared)
  if (prepared.kind === 'drained') {
    enter('Azure to restart the VM')
    const restarted = await restart(claim, endedMs)
    endedMs = restarted.endedMs
    if (restarted.kind === 'over') return
    if (restarted.kind === 'failed') return end(claim, restarted)
  }
  enter('the Node to be ready after the restart of its VM')
  const outcome: RebootOutcome = await readyWaits().awaitReboot.executeWithOptions(
    { summary: 'until the VM has booted' },
    [{ claim, ...idleSince(endedMs), limits: limits.reboot }],
  )
  if (outcome.kind === 'failed') await end(claim, outcome)
}

/** A request that Azure accepted in none of its attempts is a failure of the reboot. */
async function restart(claim: ClaimRef, endedMs: number | undefined): Promise<PreparedReboot & Ended> {
  try {
    return await restarts().restartInstance.executeWithOptions({ summary: 'restart the VM' }, [
      { claim, ...idleSince(endedMs) },
    ])
  } catch (error) {
    if (isCancellation(error)) throw error
    const message = `the VM was not restarted: ${causeMessage(error)}`
    return { kind: 'failed', result: 'provider_error', message }
  }
}

async function end(
  claim: ClaimRef,
  { result, message }: Extract<RebootOutcome, { readonly kind: 'failed' }>,
): Promise<void> {
  const failure = { result, message: message.slice(0, 500) }
  await kubernetes().endReboot.executeWithOptions({ summary: `reboot failed: ${result}` }, [{ claim, failure }])
}

function idleSince(endedMs: number | undefined): { readonly idleSinceMs?: number } {
  return endedMs === undefined ? {} : { idleSinceMs: endedMs }
}
