import { amounts, conditions, expressions, selector, texts } from './common.ts'
import { flag, list, number, oneOf, record, text, time, wholeNumber } from './shape.ts'

export const nodeTerm = record({ matchExpressions: expressions, matchFields: expressions })
const podTerm = record(
  {
    labelSelector: selector,
    namespaceSelector: selector,
    namespaces: list(text),
    topologyKey: text,
    matchLabelKeys: list(text),
    mismatchLabelKeys: list(text),
  },
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
export const tolerations = list(record({ key: text, operator: text, value: text, effect: text }))
export const claimSpec = record({ volumeName: text, storageClassName: text })
export const podSpec = record({
  nodeName: text,
  hostNetwork: flag,
  runtimeClassName: text,
  schedulingGates: list(record({ name: text }, ['name'])),
  priority: number,
  priorityClassName: text,
  terminationGracePeriodSeconds: number,
  nodeSelector: texts,
  affinity,
  tolerations,
  topologySpreadConstraints: list(spread),
  containers: list(container),
  initContainers: list(container),
  overhead: amounts,
  resources,
  resourceClaims: list(record({ name: text }, ['name'])),
  volumes: list(
    record(
      {
        name: text,
        persistentVolumeClaim: record({ claimName: text }, ['claimName']),
        ephemeral: record({ volumeClaimTemplate: record({ spec: claimSpec }) }),
      },
      ['name'],
    ),
  ),
})
const containerStatus = record({ name: text, resources: record({ requests: amounts }), allocatedResources: amounts }, [
  'name',
])
export const podStatus = record({
  phase: oneOf('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'),
  conditions,
  startTime: time,
  nominatedNodeName: text,
  containerStatuses: list(containerStatus),
  initContainerStatuses: list(containerStatus),
})
