import { isCancellation } from '@temporalio/workflow'
import type { KubernetesActivities, Observation } from '../activities/kubernetes/contract.ts'
import { kubernetes, localReads } from './activities.ts'

type Request = Parameters<KubernetesActivities['observe']>[0]

/** Observes a claim: without a separate activity where the API server answers at once. */
export async function observe(request: Request): Promise<Observation> {
  try {
    return await localReads().observe(request)
  } catch (error) {
    if (isCancellation(error)) throw error
    return kubernetes().observe.executeWithOptions({ summary: 'read NodeClaim, Node and deadlines' }, [request])
  }
}
