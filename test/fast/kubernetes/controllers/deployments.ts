import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import type { ApiServer } from '../api/api-server.ts'
import { metaOf } from '../api/objects.ts'
import { pathOf } from '../api/paths.ts'
import type { Controller } from './controller.ts'
import { createPod, hashOf, leastWorthFirst, podPathOf, setStatus } from './pods.ts'
import {
  byController,
  isActive,
  isDeleting,
  isReady,
  ownerRef,
  ownKey,
  specOf,
  statusOf,
  type WorkloadSpec,
} from './seen.ts'

interface DeploymentSpec extends WorkloadSpec {
  readonly strategy?: {
    readonly type?: string
    readonly rollingUpdate?: { readonly maxSurge?: number | string; readonly maxUnavailable?: number | string }
  }
}

const deploymentOf = (object: Json) => object['spec'] as DeploymentSpec
const hashLabel = 'pod-template-hash'
const replicasOf = (object: Json) => (specOf(object) as { readonly replicas?: number }).replicas ?? 1
const availableOf = (object: Json) => Number(statusOf(object)['availableReplicas'] ?? 0)
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

/** Makes a ReplicaSet for each template of a Deployment, and moves the replicas to the newest. */
export function deployments(server: ApiServer): Controller {
  return {
    watches: ['deployments', 'replicasets'],
    afterMs: 1,
    reconcile: () => {
      const sets = byController(server.objects.of('replicasets'), 'Deployment')
      for (const deployment of server.objects.of('deployments'))
        if (!isDeleting(deployment)) reconcile(server, deployment, sets.get(ownKey(deployment)) ?? [])
      return undefined
    },
  }
}

function reconcile(server: ApiServer, deployment: Json, sets: readonly Json[]): void {
  const { name, namespace = 'default', generation } = metaOf(deployment)
  const { template } = deploymentOf(deployment)
  const hash = hashOf(template)
  const own = `${name}-${hash}`
  const current = sets.find((set) => metaOf(set).name === own) ?? createSet(server, deployment, hash)
  const others = sets.filter((set) => metaOf(set).name !== own)
  const wanted = wantedReplicas(deployment, current, others)
  for (const [set, replicas] of wanted)
    if (replicasOf(set) !== replicas) {
      const path = pathOf('replicasets', metaOf(set).name, namespace)
      server.change(path, undefined, (object) => ({ ...object, spec: { ...specOf(object), replicas } }))
    }
  const all = [current, ...others].map(
    (set) => server.objects.find(pathOf('replicasets', metaOf(set).name, namespace)) ?? set,
  )
  const count = (field: string) => sum(all.map((set) => Number(statusOf(set)[field] ?? 0)))
  setStatus(server, pathOf('deployments', name, namespace), {
    observedGeneration: generation,
    replicas: count('replicas'),
    updatedReplicas: Number(statusOf(all[0] as Json)['replicas'] ?? 0),
    readyReplicas: count('readyReplicas'),
    availableReplicas: count('availableReplicas'),
    unavailableReplicas: Math.max(0, replicasOf(deployment) - count('availableReplicas')),
  })
}

function createSet(server: ApiServer, deployment: Json, hash: string): Json {
  const { name, namespace = 'default' } = metaOf(deployment)
  const { template, selector } = deploymentOf(deployment)
  const labels = { ...template.metadata?.labels, [hashLabel]: hash }
  return server.create(`/apis/apps/v1/namespaces/${namespace}/replicasets`, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: `${name}-${hash}`, namespace, labels, ownerReferences: [ownerRef(deployment)] },
    spec: {
      replicas: 0,
      selector: { ...selector, matchLabels: { ...selector?.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  })
}

/** Replicas by ReplicaSet: what a rolling update may add and take away now. */
function wantedReplicas(deployment: Json, current: Json, others: readonly Json[]): ReadonlyMap<Json, number> {
  const desired = replicasOf(deployment)
  const olds = others.filter((set) => replicasOf(set) > 0)
  const { strategy } = deploymentOf(deployment)
  const isRecreated = strategy?.type === 'Recreate'
  const oldPods = sum(others.map((set) => Number(statusOf(set)['replicas'] ?? 0)))
  if (olds.length === 0 && (!isRecreated || oldPods === 0)) return new Map([[current, desired]])
  if (isRecreated) return new Map(olds.map((set) => [set, 0]))
  const surge = amountOf(strategy?.rollingUpdate?.maxSurge ?? '25%', desired, Math.ceil)
  const asked = amountOf(strategy?.rollingUpdate?.maxUnavailable ?? '25%', desired, Math.floor)
  const unavailable = surge === 0 && asked === 0 ? 1 : asked
  const total = replicasOf(current) + sum(olds.map(replicasOf))
  const added = Math.max(0, Math.min(desired - replicasOf(current), desired + surge - total))
  const wanted = new Map([[current, Math.min(desired, replicasOf(current)) + added]])
  let spare = total - (desired - unavailable) - (replicasOf(current) - availableOf(current))
  for (const set of olds) {
    const down = Math.max(0, Math.min(spare, replicasOf(set)))
    spare -= down
    wanted.set(set, replicasOf(set) - down)
  }
  return wanted
}

/** A number, or a share of one. */
function amountOf(value: number | string, of: number, rounded: (share: number) => number): number {
  return typeof value === 'number' ? value : rounded((Number.parseFloat(value) / 100) * of)
}

/** Makes and deletes pods of ReplicaSets. */
export function replicaSets(server: ApiServer): Controller {
  return {
    watches: ['replicasets', 'pods'],
    afterMs: 1,
    reconcile: () => {
      const pods = byController(server.objects.of('pods'), 'ReplicaSet')
      for (const set of server.objects.of('replicasets'))
        if (!isDeleting(set)) reconcilePods(server, set, (pods.get(ownKey(set)) ?? []).filter(isActive))
      return undefined
    },
  }
}

function reconcilePods(server: ApiServer, set: Json, pods: readonly Json[]): void {
  const { name, namespace = 'default', generation } = metaOf(set)
  const wanted = replicasOf(set)
  for (let at = pods.length; at < wanted; at++) createPod(server, { owner: set, template: deploymentOf(set).template })
  for (const pod of leastWorthFirst(pods).slice(0, Math.max(0, pods.length - wanted))) server.delete(podPathOf(pod))
  const ready = pods.filter(isReady).length
  setStatus(server, pathOf('replicasets', name, namespace), {
    observedGeneration: generation,
    replicas: pods.length,
    readyReplicas: ready,
    availableReplicas: ready,
  })
}
