import { providerId } from '../../activities/azure/launch/virtual-machine.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { sampleTime } from '../samples/sample-objects.ts'
import { azureConfig } from './azure-config.ts'

/** Objects as they travel, valid ones with as little in them as possible; and what a test changes. */

/** The time so many seconds after the sample objects were created. */
export const at = (seconds: number) => new Date(sampleTime + seconds * 1000).toISOString()

/** The provider id of a claim's VM. */
export const vmProviderId = (claimName: string) => providerId(azureConfig, claimName)

/** A condition since the objects' creation. */
export const condition = (type: string, status = 'True', seconds = 0, reason = type): Json => ({
  type,
  status,
  reason,
  message: '',
  lastTransitionTime: at(seconds),
})

interface Change {
  readonly metadata?: Json
  readonly spec?: Json
  readonly status?: Json
}

/** A registered claim of the pool `default` whose Node is `aks-NAME`. */
export function claimJson(name: string, { metadata, spec, status }: Change = {}): Json {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name,
      uid: `uid-${name}`,
      creationTimestamp: at(0),
      labels: {
        'karpenter.sh/nodepool': 'default',
        'karpenter.sh/capacity-type': 'on-demand',
        'topology.kubernetes.io/zone': 'westus2-1',
        'node.kubernetes.io/instance-type': 'Standard_D4s_v5',
      },
      annotations: {},
      finalizers: ['karpenter.sh/termination'],
      ...metadata,
    },
    spec: {
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requirements: [],
      resources: { requests: { cpu: '1', memory: '1Gi' } },
      ...spec,
    },
    status: {
      nodeName: `aks-${name}`,
      providerID: vmProviderId(name),
      conditions: [condition('Launched'), condition('Registered'), condition('Initialized')],
      ...status,
    },
  }
}

/** The same, being deleted since `seconds`. */
export const goingClaim = (name: string, { metadata, ...change }: Change = {}, seconds = 0) =>
  claimJson(name, { ...change, metadata: { deletionTimestamp: at(seconds), ...metadata } })

/** The ready Node of a claim. */
export function nodeJson(claimName: string, { metadata, spec, status }: Change = {}): Json {
  return {
    metadata: {
      name: `aks-${claimName}`,
      uid: `uid-aks-${claimName}`,
      creationTimestamp: at(0),
      labels: {
        'kubernetes.io/hostname': `aks-${claimName}`,
        'karpenter.sh/nodepool': 'default',
        'karpenter.sh/registered': 'true',
        'karpenter.sh/initialized': 'true',
        'karpenter.sh/capacity-type': 'on-demand',
      },
      finalizers: ['karpenter.sh/termination'],
      ownerReferences: [{ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: claimName, uid: `uid-${claimName}` }],
      ...metadata,
    },
    spec: { providerID: vmProviderId(claimName), ...spec },
    status: {
      capacity: { cpu: '4', memory: '16Gi', pods: '110' },
      allocatable: { cpu: '4', memory: '16Gi', pods: '110' },
      conditions: [condition('Ready')],
      ...status,
    },
  }
}

/** A running pod of a ReplicaSet on the Node of a claim. */
export function podJson(name: string, claimName: string, { metadata, spec, status }: Change = {}): Json {
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      creationTimestamp: at(0),
      labels: { app: name },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'uid-r', controller: true }],
      ...metadata,
    },
    spec: {
      nodeName: `aks-${claimName}`,
      containers: [{ name: 'c', resources: { requests: { cpu: '100m' } } }],
      terminationGracePeriodSeconds: 30,
      ...spec,
    },
    status: { phase: 'Running', startTime: at(0), ...status },
  }
}

/** Of a DaemonSet. */
export const daemonJson = (name: string, claimName: string, { metadata, ...change }: Change = {}) =>
  podJson(name, claimName, {
    ...change,
    metadata: {
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'uid-d', controller: true }],
      ...metadata,
    },
  })

/** Of the kubelet itself. */
export const mirrorJson = (name: string, claimName: string) =>
  podJson(name, claimName, {
    metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'uid-n', controller: true }] },
  })

/** A budget for the pods with `app: NAME`. */
export const budgetJson = (name: string, disruptionsAllowed: number): Json => ({
  metadata: { name, namespace: 'default' },
  spec: { selector: { matchLabels: { app: name } }, maxUnavailable: 0 },
  status: { disruptionsAllowed },
})

/** A volume that is attached to the Node of a claim. */
export const attachmentJson = (name: string, claimName: string, volume = name): Json => ({
  metadata: { name },
  spec: { nodeName: `aks-${claimName}`, attacher: 'disk.csi.azure.com', source: { persistentVolumeName: volume } },
})

export function poolJson(name = 'default', { metadata, spec, status }: Change = {}): Json {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name, generation: 1, annotations: {}, ...metadata },
    spec: {
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
          requirements: [],
        },
      },
      disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] },
      ...spec,
    },
    status: { conditions: [condition('Ready')], ...status },
  }
}

/** A node class that is ready. */
export function nodeClassJson(name = 'default', { metadata, spec, status }: Change = {}): Json {
  return {
    apiVersion: 'karpenter.azure.com/v1beta1',
    kind: 'AKSNodeClass',
    metadata: { name, generation: 1, ...metadata },
    spec: { ...spec },
    status: {
      kubernetesVersion: '1.36.3',
      images: [
        {
          id: '/CommunityGalleries/g/images/2204gen2containerd/versions/202601.01.0',
          requirements: [
            { key: 'karpenter.azure.com/sku-hyperv-generation', operator: 'In', values: ['2'] },
            { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
          ],
        },
      ],
      conditions: [{ ...condition('Ready'), observedGeneration: 1 }],
      ...status,
    },
  }
}
