import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { z } from 'zod'
import { type Config, readConfig } from '../api/config.ts'
import { resolveBinaries } from '../deploy/local/server-binaries.ts'

/** Where the chart lies. */
export const chartFolder = fileURLToPath(new URL('../deploy/chart', import.meta.url))
/** The namespace that the suites install the chart into. */
export const releaseNamespace = 'joiner-system'

/** The values without which the chart installs nothing. */
export const smallestValues = {
  image: { repository: 'registry.example/joiner' },
  cluster: { name: 'demo', endpoint: 'https://demo.hcp.westus2.azmk8s.io:443' },
  azure: {
    subscriptionId: '11111111-2222-3333-4444-555555555555',
    location: 'westus2',
    nodeResourceGroup: 'MC_group_demo_westus2',
    sshPublicKey: 'ssh-ed25519 AAAA nodes',
    subnetId:
      '/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/nodes',
  },
}

/** The same with a Temporal of the reader's own, without which the chart runs one. */
export const valuesWithAddress = { ...smallestValues, temporal: { address: 'temporal-frontend.temporal.svc:7233' } }

/** Every value that the chart has, each other than its default. */
export const fullValues = {
  image: { repository: 'registry.example/joiner', tag: '9.8.7', pullPolicy: 'Always' },
  imagePullSecrets: [{ name: 'pull' }],
  controller: {
    replicas: 3,
    resources: { requests: { cpu: '2' } },
    env: [{ name: 'JOINER_RESYNC_INTERVAL', value: '2h' }],
  },
  provider: { replicas: 4, resources: { requests: { cpu: '4' } } },
  planner: { replicas: 1, resources: { requests: { cpu: '3' } } },
  conversion: { replicas: 5, resources: { requests: { cpu: '5' } }, nodeClaims: { serveV1beta1: true } },
  serviceAccount: { name: 'scaler', annotations: { team: 'platform' } },
  workloadIdentity: { clientId: 'client', tenantId: 'tenant' },
  temporal: { address: 'temporal.example:17233', namespace: 'nodes', workerVersioning: true },
  metrics: { podMonitor: { enabled: true, labels: { release: 'prometheus' }, interval: '15s' }, clusterState: false },
  traces: { endpoint: 'http://collector:4318' },
  cluster: { name: 'prod', endpoint: 'https://prod.example', caBundle: 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==' },
  azure: {
    cloud: 'AzureChinaCloud',
    subscriptionId: 'sub',
    location: 'swedencentral',
    clusterResourceGroup: 'clusters',
    nodeResourceGroup: 'MC_prod',
    subnetId: '/subscriptions/sub/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/nodes',
    nodeIdentities: [
      '/subscriptions/sub/resourceGroups/ids/providers/Microsoft.ManagedIdentity/userAssignedIdentities/a',
      '/subscriptions/sub/resourceGroups/ids/providers/Microsoft.ManagedIdentity/userAssignedIdentities/b',
    ],
    kubeletIdentityClientId: '99999999-8888-4777-8666-555555555555',
    networkPlugin: 'none',
    networkPluginMode: '',
    networkDataplane: 'azure',
    networkPolicy: 'calico',
    vnetGuid: '11111111-8888-4777-8666-555555555555',
    dnsServiceIp: '10.9.0.10',
    sshPublicKey: 'ssh-ed25519 AAAA someone',
    linuxAdminUsername: 'operator',
    additionalTags: { team: 'platform', shift: 2 },
    diskEncryptionSetId: '/subscriptions/sub/resourceGroups/keys/providers/Microsoft.Compute/diskEncryptionSets/disks',
    sharedGallery: { enabled: true, subscriptionId: 'aks', tokenServerUrl: 'http://tokens.example' },
    provisionMode: 'aksmachineapi',
    aksMachinesPoolName: 'machines',
    manageExistingAKSMachines: true,
    billingExtension: true,
    bootDiagnostics: false,
    untestedSizes: true,
    images: { minVersion: '202604.01.0', minAge: '36h' },
    apiVersions: { 'Microsoft.Compute/virtualMachines': '2024-07-01', 'Microsoft.Network/loadBalancers': '2023-11-01' },
    armBudgetShare: 0.5,
    sdkLogging: false,
    nodes: {
      customCa: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
      httpProxy: 'http://proxy.example:3128',
      httpsProxy: 'https://proxy.example:3129',
      noProxy: ['.local', '10.0.0.0/8'],
      proxyCa: '-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n',
    },
  },
  settings: {
    logLevel: 'debug',
    batchIdleDuration: '500ms',
    batchMaxDuration: '1m',
    resyncInterval: '1h',
    preferencePolicy: 'Ignore',
    minValuesPolicy: 'BestEffort',
    featureGates: { reservedCapacity: false, nodeRepair: true },
    interruptionConditions: ['PreemptionScheduled=True', 'VMEventScheduled=True/RedeployScheduled'],
    repairPolicies: ['Ready=Unknown:5m'],
    schedulerConfig: {
      podTopologySpread: {
        defaultConstraints: [
          { maxSkew: 2, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
        ],
      },
    },
    vmMemoryOverheadPercent: 0.1,
  },
  networkPolicy: {
    enabled: true,
    allowedNamespaces: ['monitoring'],
    egress: [{ to: [{ ipBlock: { cidr: '0.0.0.0/0' } }], ports: [{ port: 443, protocol: 'TCP' }] }],
  },
  flowControl: { enabled: false, shares: 10 },
  admissionWarnings: false,
  nodeIdentityPolicy: false,
  nodeSelector: { disk: 'fast' },
  tolerations: [{ key: 'only', operator: 'Exists', effect: 'NoSchedule' }],
}

/** Values as the script of Karpenter for Azure writes them, and those that it cannot know. */
export const karpenterValues = {
  temporal: { address: 'temporal.example:7233' },
  image: { repository: 'registry.example/joiner' },
  replicas: 1,
  controller: {
    env: Object.entries({
      DISABLE_LEADER_ELECTION: 'true',
      CLUSTER_NAME: 'karpenter',
      CLUSTER_ENDPOINT: 'https://karpenter.hcp.eastus.azmk8s.io:443',
      KUBELET_BOOTSTRAP_TOKEN: 'abcdef.0123456789abcdef',
      SSH_PUBLIC_KEY: 'ssh-rsa AAAA someone',
      NETWORK_PLUGIN: 'azure',
      NETWORK_PLUGIN_MODE: 'overlay',
      NETWORK_POLICY: 'cilium',
      VNET_SUBNET_ID: smallestValues.azure.subnetId,
      VNET_GUID: '',
      NODE_IDENTITIES: '',
      ARM_SUBSCRIPTION_ID: 'sub',
      LOCATION: 'eastus',
      KUBELET_IDENTITY_CLIENT_ID: '',
      AZURE_NODE_RESOURCE_GROUP: 'MC_karpenter',
      PROVISION_MODE: 'aksscriptless',
      USE_SIG: 'false',
      SIG_SUBSCRIPTION_ID: '',
      SIG_ACCESS_TOKEN_SERVER_URL: '',
    }).map(([name, value]) => ({ name, value })),
  },
  serviceAccount: { name: 'karpenter-sa', annotations: { 'azure.workload.identity/client-id': 'client' } },
  podLabels: { 'azure.workload.identity/use': 'true', team: 'platform' },
  logLevel: 'debug',
  settings: {
    tags: { team: 'platform' },
    ignoreDRARequests: true,
    disableClusterStateObservability: false,
    featureGates: { staticCapacity: true, nodeOverlay: false },
  },
}

const metadata = z.looseObject({
  name: z.string(),
  namespace: z.string().optional(),
  labels: z.record(z.string(), z.string()),
  annotations: z.record(z.string(), z.string()).optional(),
})
const manifest = z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata })
/** A rendered object. */
export type Manifest = z.infer<typeof manifest>

const probe = z.strictObject({
  httpGet: z.strictObject({ path: z.string(), port: z.string() }),
  periodSeconds: z.int(),
  timeoutSeconds: z.literal(5),
  failureThreshold: z.int().optional(),
})
const environmentVariable = z.union([
  z.strictObject({ name: z.string(), value: z.string() }),
  z.strictObject({
    name: z.string(),
    valueFrom: z.strictObject({ fieldRef: z.strictObject({ fieldPath: z.enum(['metadata.name', 'status.podIP']) }) }),
  }),
  z.strictObject({
    name: z.string(),
    valueFrom: z.strictObject({ secretKeyRef: z.strictObject({ name: z.string(), key: z.string() }) }),
  }),
])
const container = z.looseObject({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()).optional(),
  args: z.array(z.string()),
  env: z.array(environmentVariable),
  envFrom: z.array(z.strictObject({ configMapRef: z.strictObject({ name: z.string() }) })).default([]),
  ports: z.array(z.strictObject({ name: z.string(), containerPort: z.int() })),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  securityContext: z.looseObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
})

export const service = manifest.extend({
  kind: z.literal('Service'),
  spec: z.looseObject({
    publishNotReadyAddresses: z.boolean().optional(),
    selector: z.record(z.string(), z.string()),
    ports: z.tuple([z.looseObject({ port: z.int(), targetPort: z.string() })]),
  }),
})

export const deployment = manifest.extend({
  kind: z.literal('Deployment'),
  spec: z.looseObject({
    replicas: z.int(),
    selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
    template: z.looseObject({
      metadata: z.looseObject({
        labels: z.record(z.string(), z.string()),
        annotations: z.record(z.string(), z.string()).default({}),
      }),
      spec: z.looseObject({
        serviceAccountName: z.string(),
        securityContext: z.looseObject({ runAsNonRoot: z.literal(true), runAsUser: z.int() }),
        containers: z.tuple([container]),
      }),
    }),
  }),
})
export type Deployment = z.infer<typeof deployment>

const configMap = manifest.extend({ kind: z.literal('ConfigMap'), data: z.record(z.string(), z.string()) })

const subject = z.looseObject({ kind: z.string(), name: z.string(), namespace: z.string().optional() })
const rule = z.strictObject({
  apiGroups: z.array(z.string()),
  resources: z.array(z.string()),
  resourceNames: z.array(z.string()).optional(),
  verbs: z.array(z.string()),
})
export const role = manifest.extend({ kind: z.enum(['Role', 'ClusterRole']), rules: z.array(rule) })
export const binding = manifest.extend({
  kind: z.enum(['RoleBinding', 'ClusterRoleBinding']),
  roleRef: z.strictObject({ apiGroup: z.string(), kind: z.string(), name: z.string() }),
  subjects: z.array(subject),
})
export const budget = manifest.extend({
  kind: z.literal('PodDisruptionBudget'),
  spec: z.strictObject({
    maxUnavailable: z.int(),
    selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
  }),
})

/** A program that ended. */
interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** What helm has answered in this process, by its input. The chart stays as it is. */
const answers = new Map<string, Promise<Ended>>()

/** Runs the real helm on the chart with these values, which are all that it gets besides the chart's own. The same input is run once. */
export function helm(args: readonly string[], values: unknown): Promise<Ended> {
  const input = JSON.stringify([args, values])
  const answer = answers.get(input) ?? run(args, values)
  answers.set(input, answer)
  return answer
}

async function run(args: readonly string[], values: unknown): Promise<Ended> {
  const binaries = await resolveBinaries(['helm'], () => {})
  const child = spawn(binaries.helm, [...args, '--namespace', releaseNamespace, '--values', '-'])
  const ended = once(child, 'exit')
  child.stdin.end(JSON.stringify(values))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = (await ended) as [number | null]
  return { code: code ?? -1, stdout, stderr }
}

/** What `helm install` would send, parsed; `more`: further arguments of helm. Errors: helm refused the values or the templates. */
export async function renderChart(values: unknown, more: readonly string[] = []): Promise<readonly Manifest[]> {
  const { code, stdout, stderr } = await helm(['template', 'joiner', chartFolder, ...more], values)
  if (code !== 0) throw new Error(`helm template ended with ${code}: ${stderr}`)
  return stdout
    .split(/^---$/m)
    .map(parsed)
    .filter((document) => document !== undefined)
}

/** The rendered objects of this process, by their text: most are the same whatever the values. */
const objects = new Map<string, Manifest | undefined>()

/** The object of a document, if it has one. */
function parsed(document: string): Manifest | undefined {
  if (!objects.has(document)) {
    const object: unknown = parse(document)
    objects.set(document, object === null ? undefined : manifest.parse(object))
  }
  return objects.get(document)
}

/** Whether Helm makes an object for a moment only: around an install, an upgrade, an uninstall, or for `helm test`. */
export function isHook({ metadata }: Manifest): boolean {
  return metadata.annotations?.['helm.sh/hook'] !== undefined
}

/** The manifests of one shape. Errors: one that has the kind but not the shape. */
export function ofShape<T extends Manifest>(
  manifests: readonly Manifest[],
  kinds: readonly T['kind'][],
  shape: z.ZodType<T>,
): readonly T[] {
  return manifests.filter(({ kind }) => kinds.includes(kind)).map((each) => shape.parse(each))
}

/**
 * The environment that the kubelet would give to the container of a Deployment's pod: ConfigMaps first, single variables over them. What comes from a
 * Secret is its name and key.
 */
export function podEnvironment(manifests: readonly Manifest[], owner: Deployment): Record<string, string> {
  const maps = new Map(ofShape(manifests, ['ConfigMap'], configMap).map((each) => [each.metadata.name, each.data]))
  const [{ env, envFrom }] = owner.spec.template.spec.containers
  const environment: Record<string, string> = {}
  for (const { configMapRef } of envFrom) {
    const data = maps.get(configMapRef.name)
    if (data === undefined)
      throw new Error(`Deployment ${owner.metadata.name}: ConfigMap ${configMapRef.name} is not in the chart`)
    Object.assign(environment, data)
  }
  for (const each of env)
    if ('value' in each) environment[each.name] = each.value
    else if ('fieldRef' in each.valueFrom)
      environment[each.name] =
        each.valueFrom.fieldRef.fieldPath === 'status.podIP' ? '127.0.0.1' : `${owner.metadata.name}-pod`
    else environment[each.name] = `${each.valueFrom.secretKeyRef.name}/${each.valueFrom.secretKeyRef.key}`
  return environment
}

/** The roles of a Deployment's pods. */
export function rolesOf(owner: Deployment): readonly string[] {
  const [{ env }] = owner.spec.template.spec.containers
  const roles = env.find(({ name }) => name === 'JOINER_ROLES')
  return roles !== undefined && 'value' in roles ? roles.value.split(',') : []
}

/** The configuration that a Deployment's pods read. Errors: all that is wrong with it. */
export function configOf(manifests: readonly Manifest[], owner: Deployment): Config {
  const result = readConfig(podEnvironment(manifests, owner))
  if (result.kind === 'errors') throw new Error(`Deployment ${owner.metadata.name}: ${result.errors.join('; ')}`)
  return result.config
}

/** A manifest by its kind and name. Errors: it is not rendered. */
export function named(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === name)
  if (found === undefined) throw new Error(`${kind} ${name} is not rendered`)
  return found
}

/** Values as helm's --set takes them. */
export function flat(values: object, prefix = ''): Record<string, string> {
  return Object.assign(
    {},
    ...Object.entries(values).map(([key, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null ? flat(value, `${prefix}${key}.`) : { [prefix + key]: String(value) },
    ),
  ) as Record<string, string>
}
