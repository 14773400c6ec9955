import type { ClaimRef, KubernetesActivities, Observation } from '../activities/kubernetes/contract.ts'
import { instanceReads, kubernetes, localReads } from './activities.ts'
import { isFailedAttempt } from './cause-message.ts'

type Request = Parameters<KubernetesActivities['observe']>[0]

/** Observes a claim: without a separate activity where the API server answers at once. */
export async function observe(request: Request): Promise<Observation> {
  try {
    return await localReads().observe(request)
  } catch (error) {
    if (!isFailedAttempt(error)) throw error
    return kubernetes().observe.executeWithOptions({ summary: 'read NodeClaim, Node and deadlines' }, [request])
  }
}

/** Whether Azure reports that a claim's VM is gone. Without an answer its node is drained as usual. */
export async function isVmGone(claim: ClaimRef): Promise<boolean> {
  try {
    const found = await instanceReads().findInstance.executeWithOptions({ summary: 'does the VM exist?' }, [{ claim }])
    return !found.exists
  } catch (error) {
    if (!isFailedAttempt(error)) throw error
    return false
  }
}
