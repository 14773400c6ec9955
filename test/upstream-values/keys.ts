// Every key of the values of Karpenter's charts, for Azure (1.15) and for AWS (1.6 to 1.8), and what Joiner's chart does with it.

/** What a rendered object has: kind and name (`*`: all of the kind), the path to a field with blanks between its parts, and the value. */
export type Rendered = readonly [object: string, path: string, value: unknown]

type GivenValue = string | number | boolean | object

interface Row {
  readonly key: string
  /** An example other than both charts' defaults. A text or a number is given by `--set`, all else by `--set-json`. */
  readonly value: GivenValue
  /** What else must be set for the key to mean anything. */
  readonly beside?: Readonly<Record<string, GivenValue>>
}

/** A key that has the meaning of Karpenter's chart. */
interface Taken extends Row {
  readonly state: 'taken'
  readonly renders: readonly Rendered[]
}

/** A key that is read as a value or setting with another name. */
interface Mapped extends Row {
  readonly state: 'mapped'
  readonly to: string
  readonly renders: readonly Rendered[]
}

/** A key that is accepted without effect, and named in NOTES.txt. */
interface Noted extends Row {
  readonly state: 'noted'
}

/** A key that is refused. The message has what to use. */
interface Refused extends Row {
  readonly state: 'refused'
  readonly message: string
}

export type Key = Taken | Mapped | Noted | Refused

const everyPod = (path: string, value: unknown): Rendered => ['Deployment/*', `spec template spec ${path}`, value]
const settings = (name: string, value: unknown): Rendered => ['ConfigMap/joiner-settings', `data ${name}`, value]
/** Of Joiner's container in one that uses Temporal. */
const ofContainer = (path: string, value: unknown): Rendered => [
  'Deployment/joiner-planner',
  `spec template spec containers 0 ${path}`,
  value,
]
const ofMonitor = (path: string, value: unknown): Rendered => ['ServiceMonitor/joiner', path, value]

const taken = (key: string, value: GivenValue, ...renders: readonly Rendered[]): Taken => ({
  key,
  value,
  state: 'taken',
  renders,
})
const mapped = (key: string, value: GivenValue, to: string, ...renders: readonly Rendered[]): Mapped => ({
  key,
  value,
  state: 'mapped',
  to,
  renders,
})
const noted = (key: string, value: GivenValue): Noted => ({ key, value, state: 'noted' })
const refused = (key: string, value: GivenValue, message: string): Refused => ({
  key,
  value,
  state: 'refused',
  message,
})

const digest = `sha256:${'a1'.repeat(32)}`
const ownLabels = (component: string) => ({
  matchLabels: { 'app.kubernetes.io/instance': 'joiner', 'app.kubernetes.io/component': component },
})
const keepsOff = { key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' }
const rule = { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] }
const monitored = { 'serviceMonitor.enabled': true }

/** What runs where, and as whom. */
const pods: readonly Key[] = [
  taken('replicas', 3, ['Deployment/joiner', 'spec replicas', 3], ['Deployment/joiner-azure', 'spec replicas', 3]),
  taken('revisionHistoryLimit', 4, ['Deployment/*', 'spec revisionHistoryLimit', 4]),
  taken('strategy', { type: 'Recreate' }, ['Deployment/*', 'spec strategy', { type: 'Recreate', rollingUpdate: null }]),
  taken('strategy.rollingUpdate.maxUnavailable', '50%', [
    'Deployment/*',
    'spec strategy rollingUpdate',
    { maxSurge: 1, maxUnavailable: '50%' },
  ]),
  taken('podLabels', { team: 'a' }, ['Deployment/*', 'spec template metadata labels team', 'a']),
  taken('podAnnotations', { 'example.com/a': 'b' }, [
    'Deployment/*',
    'spec template metadata annotations example.com/a',
    'b',
  ]),
  taken('podDisruptionBudget.name', 'karpenter', [
    'PodDisruptionBudget/karpenter-planner',
    'spec selector',
    ownLabels('joiner-planner'),
  ]),
  taken('podDisruptionBudget.maxUnavailable', '25%', ['PodDisruptionBudget/*', 'spec maxUnavailable', '25%']),
  taken(
    'podSecurityContext',
    { fsGroup: 65532 },
    everyPod('securityContext fsGroup', 65532),
    everyPod('securityContext runAsNonRoot', true),
  ),
  refused('podSecurityContext.runAsNonRoot', false, 'run without root'),
  taken('priorityClassName', 'high', everyPod('priorityClassName', 'high')),
  taken('terminationGracePeriodSeconds', 90, everyPod('terminationGracePeriodSeconds', 90)),
  taken('hostNetwork', true, everyPod('hostNetwork', true), everyPod('dnsPolicy', 'ClusterFirstWithHostNet'), [
    'Deployment/joiner-azure',
    'spec template spec containers 0 ports 0 containerPort',
    8090,
  ]),
  taken('dnsPolicy', 'Default', everyPod('dnsPolicy', 'Default')),
  taken('dnsConfig', { options: [{ name: 'ndots', value: '1' }] }, everyPod('dnsConfig options 0 name', 'ndots')),
  taken('schedulerName', 'other', everyPod('schedulerName', 'other')),
  taken('nodeSelector', { disk: 'fast' }, everyPod('nodeSelector disk', 'fast')),
  taken('tolerations', [{ key: 'a', operator: 'Exists' }], everyPod('tolerations', [{ key: 'a', operator: 'Exists' }])),
  taken(
    'affinity',
    {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }],
        },
      },
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname' }],
      },
    },
    everyPod(
      'affinity nodeAffinity requiredDuringSchedulingIgnoredDuringExecution nodeSelectorTerms 0 matchExpressions',
      [{ key: 'a', operator: 'Exists' }, keepsOff],
    ),
    [
      'Deployment/joiner-planner',
      'spec template spec affinity podAntiAffinity requiredDuringSchedulingIgnoredDuringExecution 0 labelSelector',
      ownLabels('joiner-planner'),
    ],
  ),
  taken(
    'topologySpreadConstraints',
    [{ maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }],
    [
      'Deployment/joiner-planner',
      'spec template spec topologySpreadConstraints',
      [
        {
          maxSkew: 2,
          topologyKey: 'rack',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: ownLabels('joiner-planner'),
        },
      ],
    ],
  ),
  taken(
    'extraVolumes',
    [{ name: 'ca', configMap: { name: 'ca' } }],
    ['Deployment/joiner-planner', 'spec template spec volumes 2', { name: 'ca', configMap: { name: 'ca' } }],
  ),
  refused('extraVolumes', [{ name: 'a', hostPath: { path: '/' } }], 'use a configMap, secret, csi'),
  taken(
    'initContainers',
    [{ name: 'first', image: 'busybox' }],
    ['Deployment/joiner-azure', 'spec template spec initContainers 0 name', 'first'],
  ),
]

/** Names, labels and accounts. */
const objects: readonly Key[] = [
  taken('nameOverride', 'karpenter', [
    'Deployment/karpenter-azure',
    'metadata labels app.kubernetes.io/name',
    'karpenter',
  ]),
  taken(
    'fullnameOverride',
    'scaler',
    ['ServiceAccount/scaler-azure', 'metadata name', 'scaler-azure'],
    ['Deployment/scaler-azure', 'spec template spec serviceAccountName', 'scaler-azure'],
  ),
  taken('additionalLabels', { team: 'a' }, ['*/*', 'metadata labels team', 'a']),
  taken('additionalAnnotations', { 'example.com/a': 'b' }, ['*/*', 'metadata annotations example.com/a', 'b']),
  {
    ...taken(
      'serviceAccount.create',
      false,
      ['RoleBinding/joiner-azure', 'subjects 0 name', 'there'],
      ['Deployment/joiner-azure', 'spec template spec serviceAccountName', 'there'],
    ),
    beside: { 'serviceAccount.name': 'there' },
  },
  taken('serviceAccount.name', 'karpenter-sa', ['ServiceAccount/karpenter-sa', 'metadata name', 'karpenter-sa']),
  taken('serviceAccount.annotations', { a: 'b' }, ['ServiceAccount/joiner-azure', 'metadata annotations a', 'b']),
  taken(
    'additionalClusterRoleRules',
    [rule],
    ['ClusterRole/joiner-additional', 'rules', [rule]],
    ['ClusterRoleBinding/joiner-additional', 'subjects 0 name', 'joiner'],
  ),
  refused('additionalClusterRoleRules', [{ ...rule, verbs: ['*'] }], 'name apiGroups, resources and verbs'),
  taken('service.annotations', { a: 'b' }, ['Service/joiner-metrics', 'metadata annotations a', 'b']),
  taken(
    'serviceMonitor.enabled',
    true,
    ofMonitor('spec endpoints 0 port', 'http-metrics'),
    ofMonitor('spec endpoints 0 relabelings 0', { targetLabel: 'job', action: 'replace', replacement: 'karpenter' }),
  ),
  {
    ...taken(
      'serviceMonitor.additionalLabels',
      { release: 'prometheus' },
      ofMonitor('metadata labels release', 'prometheus'),
    ),
    beside: monitored,
  },
  {
    ...taken('serviceMonitor.endpointConfig', { interval: '15s' }, ofMonitor('spec endpoints 0 interval', '15s')),
    beside: monitored,
  },
  {
    ...taken(
      'serviceMonitor.relabelings',
      [{ action: 'labeldrop', regex: 'a' }],
      ofMonitor('spec endpoints 0 relabelings 1 regex', 'a'),
    ),
    beside: monitored,
  },
  {
    ...taken(
      'serviceMonitor.metricRelabelings',
      [{ action: 'drop', regex: 'a' }],
      ofMonitor('spec endpoints 0 metricRelabelings 0 regex', 'a'),
    ),
    beside: monitored,
  },
]

/** The container. */
const containers: readonly Key[] = [
  taken('imagePullPolicy', 'Always', everyPod('containers 0 imagePullPolicy', 'Always')),
  taken('imagePullSecrets', [{ name: 'pull' }], everyPod('imagePullSecrets', [{ name: 'pull' }])),
  taken('controller.image.repository', 'r.example/joiner', everyPod('containers 0 image', 'r.example/joiner:VERSION')),
  refused('controller.image.repository', 'public.ecr.aws/karpenter/controller', 'name the repository of Joiner'),
  taken('controller.image.tag', 'v9', everyPod('containers 0 image', 'registry.example/joiner:v9')),
  taken('controller.image.digest', digest, everyPod('containers 0 image', `registry.example/joiner:VERSION@${digest}`)),
  taken('controller.containerName', 'controller', everyPod('containers 0 name', 'controller')),
  taken(
    'controller.env',
    [{ name: 'HTTP_PROXY', value: 'http://p' }],
    ['Environment/joiner-planner', 'HTTP_PROXY', 'http://p'],
  ),
  taken(
    'controller.envFrom',
    [{ configMapRef: { name: 'more' } }],
    ofContainer('envFrom 1', { configMapRef: { name: 'more' } }),
  ),
  taken('controller.resources', { requests: { cpu: '3' } }, [
    'Deployment/joiner',
    'spec template spec containers 0 resources requests cpu',
    '3',
  ]),
  taken(
    'controller.securityContext.appArmorProfile',
    { type: 'RuntimeDefault' },
    everyPod('containers 0 securityContext appArmorProfile type', 'RuntimeDefault'),
  ),
  taken(
    'controller.securityContext.seLinuxOptions',
    { level: 's0' },
    everyPod('containers 0 securityContext seLinuxOptions level', 's0'),
  ),
  taken(
    'controller.securityContext.seccompProfile',
    { type: 'RuntimeDefault' },
    everyPod('containers 0 securityContext seccompProfile type', 'RuntimeDefault'),
  ),
  refused('controller.securityContext', { privileged: true }, 'leave it out'),
  taken(
    'controller.extraVolumeMounts',
    [{ name: 'ca', mountPath: '/ca' }],
    ofContainer('volumeMounts 2 mountPath', '/ca'),
  ),
  taken(
    'controller.sidecarContainer',
    [{ name: 'side', image: 'busybox' }],
    ['Deployment/joiner-planner', 'spec template spec containers 1 name', 'side'],
  ),
  {
    ...taken(
      'controller.sidecarVolumeMounts',
      [{ name: 'tmp', mountPath: '/t' }],
      ['Deployment/joiner-planner', 'spec template spec containers 1 volumeMounts 0 mountPath', '/t'],
    ),
    beside: { 'controller.sidecarContainer': [{ name: 'side', image: 'busybox' }] },
  },
  taken('controller.metrics.port', 9100, everyPod('containers 0 ports 0', { name: 'http', containerPort: 9100 }), [
    'Service/joiner-metrics',
    'spec ports 0 port',
    9100,
  ]),
  taken(
    'controller.healthProbe.port',
    8081,
    ['Environment/joiner-azure', 'JOINER_HEALTH_PORT', '8081'],
    ['Environment/joiner-azure', 'JOINER_METRICS_PORT', '8080'],
  ),
]

/** What Karpenter is to do. */
const behaviour: readonly Key[] = [
  mapped('logLevel', 'debug', 'settings.logLevel', settings('LOG_LEVEL', 'debug')),
  mapped('settings.clusterName', 'c', 'cluster.name', settings('CLUSTER_NAME', 'c')),
  mapped('settings.clusterEndpoint', 'https://c', 'cluster.endpoint', settings('CLUSTER_ENDPOINT', 'https://c')),
  mapped('settings.clusterCABundle', 'LS0t', 'cluster.caBundle', settings('CLUSTER_CA_BUNDLE', 'LS0t')),
  mapped('settings.tags', { team: 'a' }, 'azure.additionalTags', settings('ADDITIONAL_TAGS', 'team=a')),
  mapped(
    'settings.disableClusterStateObservability',
    true,
    'metrics.clusterState: false',
    settings('DISABLE_CLUSTER_STATE_OBSERVABILITY', 'true'),
  ),
  taken('settings.batchMaxDuration', '20s', settings('BATCH_MAX_DURATION', '20s')),
  taken('settings.batchIdleDuration', '2s', settings('BATCH_IDLE_DURATION', '2s')),
  taken('settings.vmMemoryOverheadPercent', 0.1, settings('VM_MEMORY_OVERHEAD_PERCENT', '0.1')),
  taken('settings.preferencePolicy', 'Ignore', settings('PREFERENCE_POLICY', 'Ignore')),
  taken('settings.preferencePolicy', '', settings('PREFERENCE_POLICY', 'Respect')),
  taken('settings.minValuesPolicy', 'BestEffort', settings('MIN_VALUES_POLICY', 'BestEffort')),
  taken('settings.minValuesPolicy', '', settings('MIN_VALUES_POLICY', 'Strict')),
  ...(['nodeRepair', 'spotToSpotConsolidation', 'nodeOverlay', 'staticCapacity', 'capacityBuffer'] as const).map(
    (gate) =>
      taken(`settings.featureGates.${gate}`, true, ['Gates', `${gate[0]?.toUpperCase()}${gate.slice(1)}`, true]),
  ),
  taken('settings.featureGates.reservedCapacity', false, ['Gates', 'ReservedCapacity', false]),
  refused('settings.featureGates.drift', false, 'disruption budget'),
  noted('settings.featureGates.drift', true),
  noted('settings.ignoreDRARequests', true),
  noted('webhook.enabled', true),
  noted('webhook.port', 8444),
  noted('webhook.metrics.port', 8001),
  noted('logOutputPaths', ['stdout']),
  noted('logErrorOutputPaths', ['stderr']),
  noted('logConfig.enabled', true),
  noted('logEncoding', 'console'),
]

/** What only AWS has, or older charts. */
const elsewhere: readonly Key[] = [
  refused('settings.interruptionQueue', 'queue', 'use settings.interruptionConditions'),
  refused('settings.assumeRoleARN', 'arn:aws:iam::1:role/a', 'use workloadIdentity.clientId'),
  noted('settings.assumeRoleDuration', '15m'),
  refused('settings.isolatedVPC', true, 'set JOINER_PRICES_ENDPOINT'),
  refused('settings.eksControlPlane', true, 'use cluster.name and cluster.endpoint'),
  refused('settings.disableDryRun', true, 'leave it out'),
  refused('settings.reservedENIs', '1', 'set spec.maxPods'),
  refused('settings.computeRecommendationMode', 'Enabled', 'leave it out'),
  refused('settings.azure.clusterName', 'c', 'use settings.clusterName'),
  refused('settings.aws.clusterName', 'c', 'use the values under azure'),
]

/** All keys, some with more than one value. */
export const upstreamKeys: readonly Key[] = [...pods, ...objects, ...containers, ...behaviour, ...elsewhere]
