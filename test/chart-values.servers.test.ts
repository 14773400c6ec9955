import { describe, expect, test } from 'vitest'
import { parseEnvironmentFile } from '../api/azure-cloud.ts'
import { type Config, readConfig } from '../api/config.ts'
import {
  configOf,
  deployment,
  fullValues,
  karpenterValues,
  ofShape,
  podEnvironment,
  releaseNamespace,
  renderChart,
  smallestValues,
} from './chart.ts'

describe('values', () => {
  test('reach the configuration', async () => {
    const manifests = await renderChart(fullValues)
    const [controller, planner] = ofShape(manifests, ['Deployment'], deployment)
    if (controller === undefined || planner === undefined) throw new Error('the chart renders fewer than 2 Deployments')
    expect(configOf(manifests, controller)).toEqual({
      CLUSTER_CA_BUNDLE: fullValues.cluster.caBundle,
      JOINER_ROLES: ['core', 'azure', 'bridge'],
      JOINER_NAMESPACE: releaseNamespace,
      JOINER_RELEASE: 'joiner',
      JOINER_HEALTH_PORT: 8080,
      JOINER_CONVERSION_PORT: 8443,
      JOINER_COMMIT: '',
      DISABLE_CLUSTER_STATE_OBSERVABILITY: true,
      JOINER_IDENTITY: 'joiner-pod',
      JOINER_RESYNC_INTERVAL: 7_200_000,
      ENABLE_AZURE_SDK_LOGGING: false,
      LOG_LEVEL: 'debug',
      BATCH_IDLE_DURATION: 500,
      BATCH_MAX_DURATION: 60_000,
      PREFERENCE_POLICY: 'Ignore',
      MIN_VALUES_POLICY: 'BestEffort',
      FEATURE_GATES: {
        NodeRepair: true,
        ReservedCapacity: false,
        SpotToSpotConsolidation: false,
        NodeOverlay: false,
        StaticCapacity: false,
        CapacityBuffer: false,
      },
      SCHEDULER_CONFIG: [
        { maxSkew: 2, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
      ],
      JOINER_INTERRUPTION_CONDITIONS: [
        { type: 'PreemptionScheduled', status: 'True' },
        { type: 'VMEventScheduled', status: 'True', reason: 'RedeployScheduled' },
      ],
      JOINER_REPAIR_POLICIES: [{ type: 'Ready', status: 'Unknown', tolerationMs: 300_000 }],
      JOINER_WORKER_VERSIONING: true,
      CLUSTER_NAME: 'prod',
      CLUSTER_ENDPOINT: 'https://prod.example',
      KUBELET_BOOTSTRAP_CA_FILE: '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt',
      ARM_SUBSCRIPTION_ID: 'sub',
      LOCATION: 'swedencentral',
      AZURE_NODE_RESOURCE_GROUP: 'MC_prod',
      VNET_SUBNET_ID: fullValues.azure.subnetId,
      NODE_IDENTITIES: fullValues.azure.nodeIdentities,
      KUBELET_IDENTITY_CLIENT_ID: fullValues.azure.kubeletIdentityClientId,
      SSH_PUBLIC_KEY: 'ssh-ed25519 AAAA someone',
      LINUX_ADMIN_USERNAME: 'operator',
      NETWORK_PLUGIN: 'none',
      NETWORK_PLUGIN_MODE: '',
      ARM_CLOUD: 'AzureChinaCloud',
      ARM_RESOURCE_GROUP: 'clusters',
      JOINER_AZURE_REPLICAS: 3,
      JOINER_ARM_BUDGET_SHARE: 0.5,
      NETWORK_DATAPLANE: 'azure',
      NETWORK_POLICY: 'calico',
      VNET_GUID: fullValues.azure.vnetGuid,
      ADDITIONAL_TAGS: { team: 'platform', shift: '2' },
      NODE_OSDISK_DISKENCRYPTIONSET_ID: fullValues.azure.diskEncryptionSetId,
      USE_SIG: true,
      SIG_SUBSCRIPTION_ID: 'aks',
      SIG_ACCESS_TOKEN_SERVER_URL: 'http://tokens.example',
      JOINER_BILLING_EXTENSION: true,
      JOINER_NODE_CUSTOM_CA_FILE: '/etc/joiner/node-ca.crt',
      JOINER_NODE_HTTP_PROXY: 'http://proxy.example:3128',
      JOINER_NODE_HTTPS_PROXY: 'https://proxy.example:3129',
      JOINER_NODE_NO_PROXY: ['.local', '10.0.0.0/8'],
      JOINER_NODE_PROXY_CA_FILE: '/etc/joiner/proxy-ca.crt',
      DNS_SERVICE_IP: '10.9.0.10',
      VM_MEMORY_OVERHEAD_PERCENT: 0.1,
    } satisfies Partial<Config>)
    expect([controller.spec.replicas, planner.spec.replicas]).toEqual([3, 1])
    expect(controller.spec.template.spec).toMatchObject({
      imagePullSecrets: [{ name: 'pull' }],
      nodeSelector: { disk: 'fast' },
      tolerations: [{ key: 'only', operator: 'Exists', effect: 'NoSchedule' }],
      containers: [
        { image: 'registry.example/joiner:9.8.7', imagePullPolicy: 'Always', resources: { requests: { cpu: '2' } } },
      ],
    })
    expect(planner.spec.template.spec).toMatchObject({ containers: [{ resources: { requests: { cpu: '3' } } }] })
    expect(manifests.find(({ kind }) => kind === 'ServiceAccount')?.metadata).toMatchObject({
      name: 'scaler',
      annotations: {
        team: 'platform',
        'azure.workload.identity/client-id': 'client',
        'azure.workload.identity/tenant-id': 'tenant',
      },
    })
  })

  test('say who reads metrics and where traces go', async () => {
    const manifests = await renderChart(fullValues)
    for (const { spec } of ofShape(manifests, ['Deployment'], deployment))
      expect(spec.template.metadata.annotations).toMatchObject({
        'prometheus.io/port': '8080',
        'prometheus.io/scrape': 'true',
      })
    expect(manifests.find(({ kind }) => kind === 'PodMonitor')).toMatchObject({
      metadata: { labels: { release: 'prometheus' } },
      spec: { podMetricsEndpoints: [{ port: 'http', interval: '15s', scrapeTimeout: '20s' }] },
    })
    expect(manifests.find(({ metadata }) => metadata.name === 'joiner-settings')).toMatchObject({
      data: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' },
    })
    const few = await renderChart({ ...smallestValues, metrics: { annotations: false } })
    expect(few.filter(({ kind }) => kind === 'PodMonitor')).toEqual([])
    for (const { spec } of ofShape(few, ['Deployment'], deployment))
      expect(spec.template.metadata.annotations).not.toHaveProperty('prometheus.io/scrape')
    expect(JSON.stringify(few)).not.toContain('OTEL_')
  })

  test('that are files lie where the configuration looks for them', async () => {
    const environment = {
      name: 'Stack',
      resourceManagerEndpoint: 'https://arm.local',
      activeDirectoryEndpoint: 'https://login.local',
      tokenAudience: 'https://arm.local',
    }
    const manifests = await renderChart({ ...fullValues, azure: { ...fullValues.azure, environment } })
    const [controller] = ofShape(manifests, ['Deployment'], deployment)
    if (controller === undefined) throw new Error('the chart renders no Deployment')
    const config = configOf(manifests, controller)
    expect(config.AZURE_ENVIRONMENT_FILEPATH).toBe('/etc/joiner/azure-environment.json')
    const files = manifests.find(({ metadata }) => metadata.name === 'joiner-files')?.['data'] as Record<string, string>
    expect(parseEnvironmentFile('file', files['azure-environment.json'] ?? '')).toMatchObject(environment)
    expect(files).toMatchObject({
      'node-ca.crt': fullValues.azure.nodes.customCa,
      'proxy-ca.crt': fullValues.azure.nodes.proxyCa,
    })
    expect(controller.spec.template.spec).toMatchObject({
      containers: [
        {
          volumeMounts: expect.arrayContaining([
            { name: 'files', mountPath: '/etc/joiner', readOnly: true },
          ]) as unknown,
        },
      ],
      volumes: expect.arrayContaining([{ name: 'files', configMap: { name: 'joiner-files' } }]) as unknown,
    })
  })

  test('of Karpenter for Azure install Joiner as they are, but for the address of Temporal', async () => {
    const manifests = await renderChart(karpenterValues)
    const [controller, planner] = ofShape(manifests, ['Deployment'], deployment)
    if (controller === undefined || planner === undefined) throw new Error('the chart renders fewer than 2 Deployments')
    expect(controller.spec.replicas).toBe(1)
    for (const each of [controller, planner])
      expect(configOf(manifests, each)).toMatchObject({
        CLUSTER_NAME: 'karpenter',
        CLUSTER_ENDPOINT: 'https://karpenter.hcp.eastus.azmk8s.io:443',
        ARM_SUBSCRIPTION_ID: 'sub',
        NETWORK_POLICY: 'cilium',
        LOG_LEVEL: 'debug',
        FEATURE_GATES: { StaticCapacity: true, NodeOverlay: false },
        ADDITIONAL_TAGS: { team: 'platform' },
        JOINER_AZURE_REPLICAS: 1,
      })
    expect(controller.spec.template.spec.serviceAccountName).toBe('karpenter-sa')
    expect(controller.spec.template.metadata.labels).toMatchObject({
      'azure.workload.identity/use': 'true',
      team: 'platform',
    })
  })

  test('left at their defaults are the defaults of the configuration', async () => {
    const manifests = await renderChart(smallestValues)
    const required = new Set([
      'CLUSTER_NAME',
      'CLUSTER_ENDPOINT',
      'ARM_SUBSCRIPTION_ID',
      'LOCATION',
      'AZURE_NODE_RESOURCE_GROUP',
      'VNET_SUBNET_ID',
      'SSH_PUBLIC_KEY',
    ])
    const ofRelease = new Set([
      'JOINER_ROLES',
      'JOINER_NAMESPACE',
      'JOINER_RELEASE',
      'JOINER_IDENTITY',
      'JOINER_AZURE_REPLICAS',
    ])
    for (const each of ofShape(manifests, ['Deployment'], deployment)) {
      const environment = podEnvironment(manifests, each)
      const bare = Object.fromEntries(
        Object.entries(environment).filter(([name]) => required.has(name) || ofRelease.has(name)),
      )
      expect(readConfig(bare)).toEqual(readConfig(environment))
    }
  })

  test('without a managed identity leave no empty annotation behind', async () => {
    const manifests = await renderChart(smallestValues)
    expect(manifests.find(({ kind }) => kind === 'ServiceAccount')?.metadata.annotations).toBeUndefined()
  })

  test('that change a setting restart the pods, and others do not', async () => {
    const base = checksums(await renderChart(smallestValues))
    const chatty = { ...smallestValues, settings: { logLevel: 'debug' } }
    const larger = { ...smallestValues, controller: { replicas: 5 } }
    expect(checksums(await renderChart(chatty))).not.toEqual(base)
    expect(checksums(await renderChart(larger))).toEqual(base)
  })
})

function checksums(manifests: Awaited<ReturnType<typeof renderChart>>): readonly (string | undefined)[] {
  return ofShape(manifests, ['Deployment'], deployment).map(
    ({ spec }) => spec.template.metadata.annotations['checksum/settings'],
  )
}
