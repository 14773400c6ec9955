import {
  decodeDaemonSet,
  decodeNodeOverlay,
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
import type { Pod } from '../../../../core/objects.ts'
import { SharedParts } from '../../../../core/pods/shared-parts.ts'
import { CommandError } from '../../../document/reported-error.ts'
import type { WholeCluster } from '../../../files/taking-part.ts'
import { ifServed, listed, nodeClaims, nodeClasses, nodePools, nodes, object } from '../../../picture/from-cluster.ts'
import { gapLines, missingLines } from '../../../picture/gaps.ts'
import { readPicture } from '../../../picture/picture.ts'

/** A Deployment, as far as it shows whether an autoscaler runs. */
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
  const { missing, damaged, autoscaler, deployments, nodeClasses, nodeOverlays, ...cluster } = await readPicture(
    { client, namespace: '', now: 0 },
    seenParts(),
  )
  const failed = missing.find(({ isForbidden }) => isForbidden !== true)
  if (failed !== undefined) throw new CommandError(missingLines([failed]).join())
  const [autoscalerStatus] = autoscaler ?? []
  return {
    server: client.server,
    cluster: {
      pods: cluster.pods ?? [],
      nodes: cluster.nodes ?? [],
      nodePools: cluster.nodePools ?? [],
      nodeClaims: cluster.nodeClaims ?? [],
      daemonSets: cluster.daemonSets ?? [],
      podDisruptionBudgets: cluster.podDisruptionBudgets ?? [],
      namespaces: cluster.namespaces ?? [],
      services: [],
      controllers: [],
      persistentVolumeClaims: cluster.persistentVolumeClaims ?? [],
      persistentVolumes: cluster.persistentVolumes ?? [],
      storageClasses: cluster.storageClasses ?? [],
      csiNodes: cluster.csiNodes ?? [],
    },
    nodeClasses: nodeClasses ?? [],
    nodeOverlays: nodeOverlays ?? [],
    deployments: deployments ?? [],
    unread: gapLines({ missing, damaged }),
    isPlannable: cluster.pods !== undefined && cluster.nodes !== undefined,
    areClaimsKnown: cluster.nodeClaims !== undefined,
    ...(autoscalerStatus === undefined ? {} : { autoscalerStatus }),
  }
}

function seenParts() {
  const shared = new SharedParts()
  return {
    pods: listed('pods', (json) => shared.of(podOf(json))),
    nodes,
    nodePools: ifServed(nodePools),
    nodeClaims: ifServed(nodeClaims),
    nodeClasses: ifServed(nodeClasses),
    nodeOverlays: ifServed(listed('nodeoverlays', decodeNodeOverlay)),
    daemonSets: listed('daemonsets', decodeDaemonSet),
    podDisruptionBudgets: listed('poddisruptionbudgets', decodePodDisruptionBudget),
    namespaces: listed('namespaces', decodeNamespace),
    persistentVolumeClaims: listed('persistentvolumeclaims', decodePersistentVolumeClaim),
    persistentVolumes: listed('persistentvolumes', decodePersistentVolume),
    storageClasses: listed('storageclasses', decodeStorageClass),
    csiNodes: listed('csinodes', decodeCsiNode),
    deployments: listed('deployments', deploymentOf),
    autoscaler: object('configmaps', statusOf, { name: 'cluster-autoscaler-status', namespace: 'kube-system' }),
  }
}

function statusOf({ data }: Json): string | undefined {
  return (data as Readonly<Record<string, string>> | undefined)?.['status']
}

/** A pod with the annotations that Cluster Autoscaler reads. */
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

/** Annotations that make Cluster Autoscaler leave a node or pod alone. */
export const autoscalerAnnotations = {
  /** On a pod: `"false"` keeps its node. */
  safeToEvict: 'cluster-autoscaler.kubernetes.io/safe-to-evict',
  /** On a Node: `"true"` keeps it. */
  scaleDownDisabled: 'cluster-autoscaler.kubernetes.io/scale-down-disabled',
} as const
