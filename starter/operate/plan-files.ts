import { KubernetesClient } from '../../activities/kubernetes/client.ts'
import { PlanStore } from '../../activities/planning/plan-store.ts'
import type { DisruptionPlan } from '../../core/disruption/plan.ts'
import { reason } from '../doctor/check.ts'
import { kubeconfig } from '../kubeconfig.ts'
import { CommandError } from './temporal-options.ts'

/** A plan that the cluster keeps. Errors: `CommandError` when it is not there or the cluster does not answer. */
export async function readPlan(id: string, namespace: string): Promise<DisruptionPlan> {
  const found = await withStore(namespace, (store) => store.read(id, Date.now()))
  if (found.kind === 'found') return found.plan
  throw new CommandError(found.message)
}

async function withStore<T>(namespace: string, work: (store: PlanStore) => Promise<T>): Promise<T> {
  try {
    const client = await KubernetesClient.load(kubeconfig())
    try {
      return await work(new PlanStore(client, namespace))
    } finally {
      await client.close()
    }
  } catch (error) {
    throw new CommandError(
      `plans are kept in ConfigMaps of the cluster, which cannot be read: ${reason(error)}; check KUBECONFIG and --namespace "${namespace}"`,
    )
  }
}
