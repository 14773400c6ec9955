import { entryOf } from '../../../core/values/records.ts'
import {
  anyOf,
  flag,
  list,
  map,
  number,
  oneOf,
  type Problem,
  quantity,
  record,
  type Shape,
  text,
  time,
  wholeNumber,
} from './shape.ts'

// Of each kind the fields that placement reads, so that what is not as it should be is told of and not misread. The API server knows more.

const texts = map(text)
const amounts = map(quantity)
const metadata = record(
  {
    name: text,
    namespace: text,
    uid: text,
    resourceVersion: text,
    generation: number,
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: number,
    labels: texts,
    annotations: texts,
    finalizers: list(text),
    ownerReferences: list(
      record({ apiVersion: text, kind: text, name: text, uid: text, controller: flag }, ['kind', 'name']),
    ),
  },
  ['name'],
)
const operators = oneOf('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte')
const selectorOperators = oneOf('In', 'NotIn', 'Exists', 'DoesNotExist')
export const requirement = record({ key: text, operator: operators, values: list(text), minValues: wholeNumber }, [
  'key',
  'operator',
])
const expressions = list(record({ key: text, operator: operators, values: list(text) }, ['key', 'operator']))
const selector = record({
  matchLabels: texts,
  matchExpressions: list(record({ key: text, operator: selectorOperators, values: list(text) }, ['key', 'operator'])),
})
const effect = oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute')
const taint = record({ key: text, value: text, effect, timeAdded: time }, ['key', 'effect'])
const conditions = list(
  record({ type: text, status: text, reason: text, message: text, lastTransitionTime: text }, ['type']),
)
const nodeTerm = record({ matchExpressions: expressions, matchFields: expressions })
const podTerm = record(
  { labelSelector: selector, namespaceSelector: selector, namespaces: list(text), topologyKey: text },
  ['topologyKey'],
)
const podTerms = record({
  requiredDuringSchedulingIgnoredDuringExecution: list(podTerm),
  preferredDuringSchedulingIgnoredDuringExecution: list(
    record({ weight: number, podAffinityTerm: podTerm }, ['weight', 'podAffinityTerm']),
  ),
})
const affinity = record({
  nodeAffinity: record({
    requiredDuringSchedulingIgnoredDuringExecution: record({ nodeSelectorTerms: list(nodeTerm) }),
    preferredDuringSchedulingIgnoredDuringExecution: list(
      record({ weight: number, preference: nodeTerm }, ['weight', 'preference']),
    ),
  }),
  podAffinity: podTerms,
  podAntiAffinity: podTerms,
})
const resources = record({ requests: amounts, limits: amounts, claims: list(record({ name: text }, ['name'])) })
const container = record({
  name: text,
  restartPolicy: text,
  resources,
  ports: list(record({ containerPort: number, hostPort: number, hostIP: text, protocol: text })),
})
const spread = record(
  {
    maxSkew: wholeNumber,
    topologyKey: text,
    whenUnsatisfiable: oneOf('DoNotSchedule', 'ScheduleAnyway'),
    labelSelector: selector,
    minDomains: wholeNumber,
    nodeAffinityPolicy: oneOf('Honor', 'Ignore'),
    nodeTaintsPolicy: oneOf('Honor', 'Ignore'),
    matchLabelKeys: list(text),
  },
  ['maxSkew', 'topologyKey', 'whenUnsatisfiable'],
)
const podSpec = record({
  nodeName: text,
  priority: number,
  priorityClassName: text,
  terminationGracePeriodSeconds: number,
  nodeSelector: texts,
  affinity,
  tolerations: list(record({ key: text, operator: text, value: text, effect: text })),
  topologySpreadConstraints: list(spread),
  containers: list(container),
  initContainers: list(container),
  overhead: amounts,
  resources,
  resourceClaims: list(record({ name: text }, ['name'])),
  volumes: list(record({ name: text, persistentVolumeClaim: record({ claimName: text }, ['claimName']) }, ['name'])),
})
const containerStatus = record({ name: text, resources: record({ requests: amounts }), allocatedResources: amounts }, [
  'name',
])
const podStatus = record({
  phase: oneOf('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'),
  conditions,
  startTime: time,
  nominatedNodeName: text,
  containerStatuses: list(containerStatus),
  initContainerStatuses: list(containerStatus),
})
const claimFields = {
  taints: list(taint),
  startupTaints: list(taint),
  requirements: list(requirement),
  nodeClassRef: record({ group: text, kind: text, name: text }, ['name']),
  resources: record({ requests: amounts }),
  terminationGracePeriod: text,
  expireAfter: text,
}
const claimSpec = record(claimFields, ['nodeClassRef'])
const template = record({ metadata: record({ labels: texts, annotations: texts }), spec: claimSpec }, ['spec'])
const disruption = record({
  consolidateAfter: text,
  consolidationPolicy: text,
  budgets: list(record({ nodes: text, reasons: list(text), schedule: text, duration: text }, ['nodes'])),
})
const amount = anyOf('write a whole number or a percentage such as 10%', wholeNumber, text)
/** What of a node class decides instance types. */
const nodeClassSpec = record({
  osDiskSizeGB: wholeNumber,
  imageFamily: text,
  fipsMode: text,
  kubelet: record({}),
  maxPods: wholeNumber,
  security: record({ encryptionAtHost: flag, trustedLaunch: record({ vtpm: flag, secureBoot: flag }) }),
  localDNS: record({ mode: text }),
  gpu: record({ mode: text }),
  artifactStreaming: record({ enabled: flag }),
})
const object = (fields: Readonly<Record<string, Shape>>, needed: readonly string[] = []) =>
  record({ metadata, ...fields }, ['metadata', ...needed])

const shapes: Readonly<Record<string, Shape>> = {
  Pod: object({ spec: podSpec, status: podStatus }),
  Node: object({
    spec: record({ providerID: text, taints: list(taint), unschedulable: flag }),
    status: record({
      capacity: amounts,
      allocatable: amounts,
      conditions,
      nodeInfo: record({ kubeletVersion: text }),
    }),
  }),
  NodeClaim: object(
    {
      spec: claimSpec,
      status: record({
        nodeName: text,
        providerID: text,
        imageID: text,
        capacity: amounts,
        allocatable: amounts,
        conditions,
        lastPodEventTime: text,
      }),
    },
    ['spec'],
  ),
  NodePool: object(
    {
      spec: record({ template, disruption, limits: amounts, weight: wholeNumber, replicas: wholeNumber }, ['template']),
      status: record({
        conditions,
        resources: amounts,
        nodes: wholeNumber,
        nodeClassObservedGeneration: wholeNumber,
      }),
    },
    ['spec'],
  ),
  AKSNodeClass: object({ spec: nodeClassSpec, status: record({ conditions, localDNSState: text }) }),
  DaemonSet: object(
    {
      spec: record(
        { template: record({ metadata: record({ labels: texts, annotations: texts }), spec: podSpec }, ['spec']) },
        ['template'],
      ),
    },
    ['spec'],
  ),
  PodDisruptionBudget: object({
    spec: record({
      selector,
      minAvailable: amount,
      maxUnavailable: amount,
      unhealthyPodEvictionPolicy: text,
    }),
    status: record({ disruptionsAllowed: wholeNumber }),
  }),
  Namespace: object({}),
  Service: object({ spec: record({ selector: texts }) }),
  ReplicaSet: object({ spec: record({ selector }) }),
  StatefulSet: object({ spec: record({ selector }) }),
  ReplicationController: object({ spec: record({ selector: texts }) }),
  PersistentVolumeClaim: object({
    spec: record({ volumeName: text, storageClassName: text }),
    status: record({ phase: text }),
  }),
  PersistentVolume: object({
    spec: record({
      csi: record({ driver: text }),
      nodeAffinity: record({ required: record({ nodeSelectorTerms: list(nodeTerm) }) }),
    }),
  }),
  StorageClass: object({
    provisioner: text,
    volumeBindingMode: text,
    allowedTopologies: list(
      record({ matchLabelExpressions: list(record({ key: text, values: list(text) }, ['key', 'values'])) }),
    ),
  }),
  CSINode: object({
    spec: record({ drivers: list(record({ name: text, allocatable: record({ count: wholeNumber }) }, ['name'])) }),
  }),
}

/** API groups of the kinds, since other programs have kinds of the same names. */
const groups: Readonly<Record<string, string>> = {
  NodeClaim: 'karpenter.sh',
  NodePool: 'karpenter.sh',
  AKSNodeClass: 'karpenter.azure.com',
  DaemonSet: 'apps',
  ReplicaSet: 'apps',
  StatefulSet: 'apps',
  PodDisruptionBudget: 'policy',
  StorageClass: 'storage.k8s.io',
  CSINode: 'storage.k8s.io',
}

/** Whether placement looks at objects of this kind; of any group where no version is given. */
export function isKnownKind(kind: unknown, apiVersion?: unknown): boolean {
  if (typeof kind !== 'string' || !Object.hasOwn(shapes, kind)) return false
  if (typeof apiVersion !== 'string') return true
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.lastIndexOf('/')) : ''
  return group === (groups[kind] ?? '')
}

/** What is wrong with an object of a known kind. */
export function problemOf(json: Readonly<Record<string, unknown>>): Problem | undefined {
  const { kind } = json
  return typeof kind === 'string' ? entryOf(shapes, kind)?.(json) : undefined
}
