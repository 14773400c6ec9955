import { isCancellation } from '@temporalio/workflow'
import type { ClaimRef } from '../activities/kubernetes/contract.ts'
import { instanceReads } from './activities.ts'

/** Whether Azure reports that a claim's VM is gone. Without an answer its node is drained as usual. */
export async function isVmGone(claim: ClaimRef): Promise<boolean> {
  try {
    const found = await instanceReads().findInstance.executeWithOptions({ summary: 'does the VM exist?' }, [{ claim }])
    return !found.exists
  } catch (error) {
    if (isCancellation(error)) throw error
    return false
  }
}
