import { describe, expect, test } from 'vitest'
import { parseEnvironmentFile } from '../api/azure-cloud.ts'
import { type Config, readConfig } from '../api/config.ts'
import {
  configOf,
  deployment,
  fullValues,
  isHook,
  karpenterValues,
  ofShape,
  podEnvironment,
  releaseNamespace,
  renderChart,
  smallestValues,
  valuesWithAddress,
} from './chart.ts'

describe('values', () => {
  test('reach the configuration', async () => {
    const manifests = await renderChart(fullValues)
    const [controller, provider, planner, conversion] = fourOf(manifests)
    expect(configOf(manifests, provider)).toEqual({
      CLUSTER_CA_BUNDLE: fullValues.cluster.caBundle,
      JOINER_ROLES: ['azure'],
      JOINER_NAMESPACE: releaseNamespace,
      JOINER_RELEASE: 'joiner',
      JOINER_HEALTH_PORT: 8080,
      JOINER_CONVERSION_PORT: 8443,
      JOINER_COMMIT: '',
      DISABLE_CLUSTER_STATE_OBSERVABILITY: true,
      JOINER_IDENTITY: 'joiner-azure-pod',
      JOINER_POD_IP: '127.0.0.1',
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
        TerminateFirstDrift: false,
        TerminateFirstRepair: false,
      },
      SCHEDULER_CONFIG: [
        { maxSkew: 2, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
      ],
      JOINER_INTERRUPTION_CONDITIONS: [
        { type: 'PreemptionScheduled', status: 'True' },
        { type: 'VMEventScheduled', status: 'True', reason: 'RedeployScheduled' },
      ],
      JOINER_REPAIR_POLICIES: [
        {
          type: 'Ready',
          status: 'Unknown',
          tolerationMs: 300_000,
          terminationGracePeriodMs: 0,
          priority: 0,
          action: 'ReplaceNode',
        },
      ],
      LEGACY_NODE_REPAIR: false,
      JOINER_TEMPORAL_BUNDLED: false,
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
      JOINER_AZURE_REPLICAS: 4,
      JOINER_ARM_BUDGET_SHARE: 0.5,
      NETWORK_DATAPLANE: 'azure',
      NETWORK_POLICY: 'calico',
      VNET_GUID: fullValues.azure.vnetGuid,
      ADDITIONAL_TAGS: { team: 'platform', shift: '2' },
      NODE_OSDISK_DISKENCRYPTIONSET_ID: fullValues.azure.diskEncryptionSetId,
      USE_SIG: true,
      SIG_SUBSCRIPTION_ID: 'aks',
      SIG_ACCESS_TOKEN_SERVER_URL: 'http://tokens.example',
      PROVISION_MODE: 'aksmachineapi',
      AKS_MACHINES_POOL_NAME: 'machines',
      MANAGE_EXISTING_AKS_MACHINES: true,
      JOINER_BILLING_EXTENSION: true,
      JOINER_BOOT_DIAGNOSTICS: false,
      JOINER_UNTESTED_SIZES: true,
      JOINER_IMAGE_MIN_VERSION: '202604.01.0',
      JOINER_IMAGE_MIN_AGE: 36 * 3_600_000,
      JOINER_AZURE_API_VERSIONS:
        'Microsoft.Compute/virtualMachines=2024-07-01,Microsoft.Network/loadBalancers=2023-11-01',
      JOINER_NODE_CUSTOM_CA_FILE: '/etc/joiner/node-ca.crt',
      JOINER_NODE_HTTP_PROXY: 'http://proxy.example:3128',
      JOINER_NODE_HTTPS_PROXY: 'https://proxy.example:3129',
      JOINER_NODE_NO_PROXY: ['.local', '10.0.0.0/8'],
      JOINER_NODE_PROXY_CA_FILE: '/etc/joiner/proxy-ca.crt',
      DNS_SERVICE_IP: '10.9.0.10',
      VM_MEMORY_OVERHEAD_PERCENT: 0.1,
    } satisfies Partial<Config>)
    expect([controller, provider, planner, conversion].map(({ spec }) => spec.replicas)).toEqual([3, 4, 1, 5])
    expect(controller.spec.template.spec).toMatchObject({
      imagePullSecrets: [{ name: 'pull' }],
      nodeSelector: { disk: 'fast' },
      tolerations: [{ key: 'only', operator: 'Exists', effect: 'NoSchedule' }],
      containers: [
        { image: 'registry.example/joiner:9.8.7', imagePullPolicy: 'Always', resources: { requests: { cpu: '2' } } },
      ],
    })
    const requests = [provider, planner, conversion].map(({ spec }) => spec.template.spec.containers[0]['resources'])
    expect(requests).toMatchObject(['4', '3', '5'].map((cpu) => ({ requests: { cpu } })))
    expect(podEnvironment(manifests, conversion)).toEqual({
      JOINER_ROLES: 'conversion',
      JOINER_HEALTH_PORT: '8080',
      JOINER_CONVERSION_PORT: '8443',
      JOINER_NAMESPACE: releaseNamespace,
      JOINER_RELEASE: 'joiner',
      LOG_LEVEL: 'debug',
    })
    const account = manifests.find(({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === 'scaler')
    expect(account?.metadata).toMatchObject({
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
      expect(Object.keys(spec.template.metadata.annotations).filter((name) => name.startsWith('prometheus'))).toEqual(
        [],
      )
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
    const [, controller] = fourOf(manifests)
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

  test('of Karpenter for Azure install Joiner as they are, but for the address of Temporal and the image', async () => {
    const manifests = await renderChart(karpenterValues)
    const [controller, provider, planner, conversion] = fourOf(manifests)
    expect([controller, provider].map(({ spec }) => spec.replicas)).toEqual([1, 1])
    for (const each of [controller, provider, planner])
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
    // The identity's federated credential goes on to name the same account, and no other pod can use it.
    expect(provider.spec.template.spec.serviceAccountName).toBe('karpenter-sa')
    const labels = [controller, provider, planner, conversion].map(({ spec }) => spec.template.metadata.labels)
    expect(labels.map((each) => each['azure.workload.identity/use'])).toEqual([undefined, 'true', undefined, undefined])
    expect(labels.map(({ team }) => team)).toEqual(Array(4).fill('platform'))
  })

  test('that are about an identity at Azure, or a token that nobody needs, reach joiner-azure alone', async () => {
    const secrets = ['AZURE_CLIENT_SECRET', 'AZURE_CLIENT_ID', 'AZURE_TOKEN_CREDENTIALS', 'KUBELET_BOOTSTRAP_TOKEN']
    const env = [...secrets, 'AZURE_SUBSCRIPTION_ID'].map((name) => ({ name, value: 'any' }))
    const manifests = await renderChart({ ...smallestValues, controller: { env } })
    const given = fourOf(manifests).map((each) =>
      env.map(({ name }) => name).filter((name) => name in podEnvironment(manifests, each)),
    )
    const all = env.map(({ name }) => name)
    expect(given).toEqual([['AZURE_SUBSCRIPTION_ID'], all, ['AZURE_SUBSCRIPTION_ID'], []])
  })

  test('name the account with an identity, and none that another Deployment has', async () => {
    const named = renderChart({ ...smallestValues, serviceAccount: { name: 'joiner-planner' } })
    await expect(named).rejects.toThrow('serviceAccount.name "joiner-planner" is the account of another Deployment')
  })

  test('open ports to the namespaces that they name, and to nobody else', async () => {
    const policies = (await renderChart(fullValues)).filter(({ kind }) => kind === 'NetworkPolicy')
    const ownPods = { 'app.kubernetes.io/instance': 'joiner' }
    expect(policies.map(({ metadata, spec }) => [metadata.name, spec])).toMatchObject([
      [
        'joiner',
        {
          policyTypes: ['Ingress', 'Egress'],
          ingress: [
            { from: [{ podSelector: { matchLabels: ownPods } }], ports: [{ port: 'http' }, { port: 'health' }] },
            {
              from: [{ namespaceSelector: { matchExpressions: [{ values: ['monitoring'] }] } }],
              ports: [{ port: 'http' }],
            },
          ],
          egress: [
            { to: [{ podSelector: { matchLabels: ownPods } }], ports: [{ port: 'http' }, { port: 'health' }] },
            { ports: [{ port: 53 }, { port: 53 }] },
            { to: [{ ipBlock: { cidr: '0.0.0.0/0' } }], ports: [{ port: 443 }] },
          ],
        },
      ],
      [
        'joiner-conversion',
        {
          podSelector: { matchLabels: { 'app.kubernetes.io/component': 'joiner-conversion' } },
          ingress: [{ ports: [{ port: 'conversion' }] }],
        },
      ],
    ])
    const closed = await renderChart({ ...valuesWithAddress, networkPolicy: { enabled: true } })
    const [{ spec } = { spec: undefined }] = closed.filter(({ kind }) => kind === 'NetworkPolicy')
    expect(spec).toMatchObject({
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ podSelector: { matchLabels: ownPods } }] }],
    })
    const none = await renderChart(valuesWithAddress)
    expect(none.filter(({ kind }) => kind === 'NetworkPolicy')).toEqual([])
  })

  test('left at their defaults are the defaults of the configuration', async () => {
    const manifests = await renderChart(valuesWithAddress)
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
      'JOINER_POD_IP',
      'JOINER_AZURE_REPLICAS',
    ])
    for (const each of fourOf(manifests).slice(0, 3)) {
      const environment = podEnvironment(manifests, each)
      const bare = Object.fromEntries(
        Object.entries(environment).filter(([name]) => required.has(name) || ofRelease.has(name)),
      )
      expect(readConfig(bare)).toEqual(readConfig(environment))
    }
  })

  test('without a managed identity leave no empty annotation behind', async () => {
    const manifests = await renderChart(smallestValues)
    const accounts = manifests.filter((each) => each.kind === 'ServiceAccount' && !isHook(each))
    expect(accounts.map(({ metadata }) => metadata.annotations)).toEqual(Array(4).fill(undefined))
  })

  test('that change a setting restart the pods, and others do not', async () => {
    const base = checksums(await renderChart(smallestValues))
    const chatty = { ...smallestValues, settings: { logLevel: 'debug' } }
    const larger = { ...smallestValues, controller: { replicas: 5 } }
    expect(checksums(await renderChart(chatty))).not.toEqual(base)
    expect(checksums(await renderChart(larger))).toEqual(base)
  })
})

/** The Deployments by what they are: workflows and watches, Azure, planning, conversion. */
function fourOf(manifests: Awaited<ReturnType<typeof renderChart>>) {
  const [controller, provider, planner, conversion] = ofShape(manifests, ['Deployment'], deployment)
  if (!controller || !provider || !planner || !conversion) throw new Error('the chart renders fewer than 4 Deployments')
  return [controller, provider, planner, conversion] as const
}

function checksums(manifests: Awaited<ReturnType<typeof renderChart>>): readonly (string | undefined)[] {
  return ofShape(manifests, ['Deployment'], deployment).map(
    ({ spec }) => spec.template.metadata.annotations['checksum/settings'],
  )
}
