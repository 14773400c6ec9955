import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import type { LabelSelector } from '../../../../core/objects.ts'
import { selects } from '../../../../core/scheduling/topology/label-selector.ts'
import type { ApiServer } from '../api/api-server.ts'
import { metaOf } from '../api/objects.ts'
import { pathOf } from '../api/paths.ts'
import type { Controller } from './controller.ts'
import { setStatus } from './pods.ts'
import { controllerOf, hasEnded, isDeleting, isReady, now, specOf } from './seen.ts'

interface BudgetSpec {
  readonly selector?: LabelSelector
  readonly minAvailable?: number | string
  readonly maxUnavailable?: number | string
}

const scaled: Readonly<Record<string, 'replicasets' | 'statefulsets' | 'deployments'>> = {
  ReplicaSet: 'replicasets',
  StatefulSet: 'statefulsets',
}

/** Counts how many pods of each PodDisruptionBudget may be disrupted. */
export function budgets(server: ApiServer): Controller {
  return {
    watches: ['poddisruptionbudgets', 'pods', 'replicasets', 'statefulsets'],
    afterMs: 1,
    reconcile: () => {
      for (const budget of server.objects.of('poddisruptionbudgets')) count(server, budget)
      return undefined
    },
  }
}

function count(server: ApiServer, budget: Json): void {
  const { name, namespace = 'default', generation } = metaOf(budget)
  const spec = specOf(budget) as BudgetSpec
  const pods = server.objects
    .of('pods', namespace)
    .filter((pod) => selects(spec.selector, metaOf(pod).labels ?? {}) && !hasEnded(pod))
  const expected = expectedPods(server, spec, pods)
  const desiredHealthy = desired(spec, expected)
  const currentHealthy = pods.filter((pod) => !isDeleting(pod) && isReady(pod)).length
  const disruptionsAllowed = expected > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0
  const time = now()
  const condition = {
    type: 'DisruptionAllowed',
    status: disruptionsAllowed > 0 ? 'True' : 'False',
    reason: disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods',
    message: '',
    observedGeneration: generation,
  }
  const { conditions: [before] = [] } = (budget['status'] ?? {}) as { readonly conditions?: readonly Json[] }
  const since = before?.['status'] === condition.status ? before['lastTransitionTime'] : time
  setStatus(server, pathOf('poddisruptionbudgets', name, namespace), {
    observedGeneration: generation,
    expectedPods: expected,
    desiredHealthy,
    currentHealthy,
    disruptionsAllowed,
    conditions: [{ ...condition, lastTransitionTime: since }],
  })
}

/** With a number of healthy pods that has to stay, those count that are there; otherwise those that their controllers want. */
function expectedPods(server: ApiServer, { minAvailable }: BudgetSpec, pods: readonly Json[]): number {
  if (typeof minAvailable === 'number') return pods.length
  const owners = new Map<string, number>()
  for (const pod of pods) {
    const owner = controllerOf(pod)
    const resource = owner && scaled[owner.kind]
    if (owner === undefined || resource === undefined) continue
    const found = server.objects.find(pathOf(resource, owner.name, metaOf(pod).namespace))
    if (found !== undefined) owners.set(`${owner.kind}/${owner.uid}`, Number(specOf(found)['replicas'] ?? 1))
  }
  return [...owners.values()].reduce((sum, one) => sum + one, 0)
}

/** Shares are rounded up, as Kubernetes does for both. */
function desired({ minAvailable, maxUnavailable }: BudgetSpec, expected: number): number {
  const amount = (value: number | string) =>
    typeof value === 'number' ? value : Math.ceil((Number.parseFloat(value) / 100) * expected)
  if (maxUnavailable !== undefined) return Math.max(0, expected - amount(maxUnavailable))
  return amount(minAvailable ?? 1)
}
