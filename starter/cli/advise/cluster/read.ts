import {
  decodeDaemonSet,
  decodeNode,
  decodeNodeClaim,
  decodeNodeClass,
  decodeNodeOverlay,
  decodeNodePool,
  decodePodDisruptionBudget,
} from '../../../../activities/kubernetes/cache/decode.ts'
import { decodePod } from '../../../../activities/kubernetes/cache/decode-pod.ts'
import {
  decodeCsiNode,
  decodeNamespace,
  decodePersistentVolume,
  decodePersistentVolumeClaim,
  decodeStorageClass,
} from '../../../../activities/kubernetes/cache/decode-storage.ts'
import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import type { KubernetesClient } from '../../../../activities/kubernetes/client/client.ts'
import { resourcePath } from '../../../../activities/kubernetes/client/resources.ts'
import type { Pod } from '../../../../core/objects.ts'
import { SharedParts } from '../../../../core/pods/shared-parts.ts'
import type { WholeCluster } from '../../shared/taking-part.ts'
import { autoscalerAnnotations } from './autoscaler-annotations.ts'
import { TolerantReader } from './reader.ts'

/** A Deployment, as far as it tells whether an autoscaler runs. */
export interface SeenDeployment {
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly images: readonly string[]
  /** How many of its pods are ready. */
  readonly ready: number
}

/** A cluster as one person may see it. */
export interface SeenCluster extends WholeCluster {
  /** As the kubeconfig names it. */
  readonly server: string
  readonly deployments: readonly SeenDeployment[]
  /** What Cluster Autoscaler reports about itself; unset: it does not. */
  readonly autoscalerStatus?: string
  /** What was not read, and why. */
  readonly unread: readonly string[]
  /** Whether pods and nodes were read, without which nothing can be planned. */
  readonly isPlannable: boolean
  readonly areClaimsKnown: boolean
}

/** Reads the cluster with gets and lists alone. Errors: what the API server says, except that something may not be read. */
export async function readCluster(client: KubernetesClient): Promise<SeenCluster> {
  const reader = new TolerantReader(client)
  const list = <T>(resource: Parameters<typeof resourcePath>[0], decode: (json: Json) => T) =>
    reader.all(resourcePath(resource), decode)
  const parts = new SharedParts()
  const [pods, nodes, nodePools, nodeClaims, nodeClasses, nodeOverlays, daemonSets, budgets, namespaces] =
    await Promise.all([
      list('pods', (json) => parts.of(podOf(json))),
      list('nodes', decodeNode),
      list('nodepools', decodeNodePool),
      list('nodeclaims', decodeNodeClaim),
      list('aksnodeclasses', decodeNodeClass),
      list('nodeoverlays', decodeNodeOverlay),
      list('daemonsets', decodeDaemonSet),
      list('poddisruptionbudgets', decodePodDisruptionBudget),
      list('namespaces', decodeNamespace),
    ])
  const [persistentVolumeClaims, persistentVolumes, storageClasses, csiNodes, deployments, status] = await Promise.all([
    list('persistentvolumeclaims', decodePersistentVolumeClaim),
    list('persistentvolumes', decodePersistentVolume),
    list('storageclasses', decodeStorageClass),
    list('csinodes', decodeCsiNode),
    reader.all('/apis/apps/v1/deployments', deploymentOf),
    reader.one(
      resourcePath('configmaps', 'cluster-autoscaler-status', 'kube-system'),
      'ConfigMap kube-system/cluster-autoscaler-status',
    ),
  ])
  const autoscalerStatus = (status?.['data'] as Readonly<Record<string, string>> | undefined)?.['status']
  return {
    server: client.server,
    cluster: {
      pods: pods ?? [],
      nodes: nodes ?? [],
      nodePools: nodePools ?? [],
      nodeClaims: nodeClaims ?? [],
      daemonSets: daemonSets ?? [],
      podDisruptionBudgets: budgets ?? [],
      namespaces: namespaces ?? [],
      services: [],
      controllers: [],
      persistentVolumeClaims: persistentVolumeClaims ?? [],
      persistentVolumes: persistentVolumes ?? [],
      storageClasses: storageClasses ?? [],
      csiNodes: csiNodes ?? [],
    },
    nodeClasses: nodeClasses ?? [],
    nodeOverlays: nodeOverlays ?? [],
    deployments: deployments ?? [],
    unread: reader.unread,
    isPlannable: pods !== undefined && nodes !== undefined,
    areClaimsKnown: nodeClaims !== undefined,
    ...(autoscalerStatus === undefined ? {} : { autoscalerStatus }),
  }
}

/** A pod with the annotations that Cluster Autoscaler heeds. */
function podOf(json: Json): Pod {
  const pod = decodePod(json)
  const { annotations } = (json['metadata'] ?? {}) as { readonly annotations?: Readonly<Record<string, string>> }
  const value = annotations?.[autoscalerAnnotations.safeToEvict]
  if (value === undefined) return pod
  const own = { ...pod.metadata.annotations, [autoscalerAnnotations.safeToEvict]: value }
  return { ...pod, metadata: { ...pod.metadata, annotations: own } }
}

interface DeploymentJson {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly spec: {
    readonly template: { readonly spec: { readonly containers?: readonly { readonly image?: string }[] } }
  }
  readonly status?: { readonly readyReplicas?: number }
}

function deploymentOf(json: Json): SeenDeployment {
  const { metadata, spec, status } = json as unknown as DeploymentJson
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    labels: metadata.labels ?? {},
    images: (spec.template.spec.containers ?? []).map(({ image = '' }) => image),
    ready: status?.readyReplicas ?? 0,
  }
}
