import { isDeepStrictEqual } from 'node:util'
import { KubernetesClient } from '../../activities/kubernetes/client.ts'
import { PlanStore } from '../../activities/planning/plan-store.ts'
import { parseDisruptionPlan } from '../../api/disruption-plan.ts'
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

/** Keeps a plan that was saved to a file in the cluster, so that it can be applied. Returns its id. Errors: it is no plan, or the cluster's. */
export async function keepPlan(text: string, file: string, namespace: string): Promise<string> {
  const read = parseDisruptionPlan(text)
  if (read.kind === 'refused') throw new CommandError(`"${file}" is no plan of joiner plan: ${read.message}`)
  const { plan } = read
  return withStore(namespace, async (store) => {
    const now = Date.now()
    const kept = await store.read(plan.id, now)
    if (kept.kind === 'found' && isDeepStrictEqual(kept.plan, plan)) return plan.id
    const id = await store.newId(plan.id.slice(1), now)
    await store.write({ ...plan, id }, now)
    return id
  })
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
      `plans are kept in ConfigMaps of the cluster, which cannot be read or written: ${reason(error)}; check KUBECONFIG and --namespace "${namespace}"`,
    )
  }
}
