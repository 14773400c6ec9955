import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import type { ApiServer } from '../api/api-server.ts'
import { metaOf } from '../api/objects.ts'
import { pathOf } from '../api/paths.ts'
import type { Controller } from './controller.ts'
import { createPod, hashOf, podPathOf, setStatus } from './pods.ts'
import { byController, hasEnded, isDeleting, isReady, ownKey, type WorkloadSpec } from './seen.ts'

interface StatefulSetSpec extends WorkloadSpec {
  readonly podManagementPolicy?: 'OrderedReady' | 'Parallel'
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string }; readonly spec: Json }[]
}

/** Makes the pods of StatefulSets by their number, one after the other where that is wanted, with a volume claim of their own. */
export function statefulSets(server: ApiServer): Controller {
  return {
    watches: ['statefulsets', 'pods'],
    afterMs: 1,
    reconcile: () => {
      const pods = byController(server.objects.of('pods'), 'StatefulSet')
      for (const set of server.objects.of('statefulsets'))
        if (!isDeleting(set)) reconcile(server, set, pods.get(ownKey(set)) ?? [])
      return undefined
    },
  }
}

function reconcile(server: ApiServer, set: Json, pods: readonly Json[]): void {
  const { name, namespace = 'default', generation } = metaOf(set)
  const { replicas = 1, podManagementPolicy = 'OrderedReady' } = set['spec'] as StatefulSetSpec
  const isOrdered = podManagementPolicy === 'OrderedReady'
  const byName = new Map(pods.map((pod) => [metaOf(pod).name, pod]))
  for (let at = 0; at < replicas; at++) {
    const pod = byName.get(`${name}-${at}`)
    if (pod === undefined) createNumbered(server, set, at)
    else if (hasEnded(pod)) server.delete(podPathOf(pod))
    if (isOrdered && (pod === undefined || isDeleting(pod) || !isReady(pod))) break
  }
  const surplus = pods.filter((pod) => numberOf(pod) >= replicas).sort((a, b) => numberOf(b) - numberOf(a))
  for (const pod of isOrdered ? surplus.slice(0, 1) : surplus) if (!isDeleting(pod)) server.delete(podPathOf(pod))
  const ready = pods.filter((pod) => !isDeleting(pod) && isReady(pod)).length
  setStatus(server, pathOf('statefulsets', name, namespace), {
    observedGeneration: generation,
    replicas: pods.length,
    currentReplicas: pods.length,
    readyReplicas: ready,
    availableReplicas: ready,
  })
}

const numberOf = (pod: Json) => Number(/-(\d+)$/.exec(metaOf(pod).name)?.[1] ?? 0)

function createNumbered(server: ApiServer, set: Json, at: number): void {
  const { name: owner, namespace = 'default' } = metaOf(set)
  const name = `${owner}-${at}`
  const { template, volumeClaimTemplates = [] } = set['spec'] as StatefulSetSpec
  const volumes = volumeClaimTemplates.map((one) => ({
    name: one.metadata.name,
    persistentVolumeClaim: { claimName: `${one.metadata.name}-${name}` },
  }))
  for (const { metadata, spec } of volumeClaimTemplates) {
    const claim = { ...metadata, name: `${metadata.name}-${name}`, namespace }
    if (server.objects.find(pathOf('persistentvolumeclaims', claim.name, namespace)) === undefined)
      server.create(`/api/v1/namespaces/${namespace}/persistentvolumeclaims`, {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: claim,
        spec,
        status: { phase: 'Pending' },
      })
  }
  const { spec = {} } = template
  const others = (spec['volumes'] ?? []) as readonly Json[]
  createPod(server, {
    owner: set,
    template: volumes.length === 0 ? template : { ...template, spec: { ...spec, volumes: [...others, ...volumes] } },
    name,
    labels: {
      'apps.kubernetes.io/pod-index': String(at),
      'controller-revision-hash': `${owner}-${hashOf(template)}`,
      'statefulset.kubernetes.io/pod-name': name,
    },
  })
}
