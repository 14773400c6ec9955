// Values of Karpenter's charts: each key alone, and whole files.
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import {
  chartFolder,
  configOf,
  deployment,
  helm,
  type Manifest,
  ofShape,
  podEnvironment,
  renderChart,
  smallestValues,
} from './chart.ts'
import { type Key, type Rendered, upstreamKeys } from './upstream-values/keys.ts'

const counts = new Map<string, number>()
/** The chart without any key. */
let without: ReturnType<typeof renderChart> | undefined

/** How helm is given a key, as people give it. */
function given({ key, value, beside = {} }: Key): readonly string[] {
  return Object.entries({ ...beside, [key]: value }).flatMap(([name, each]) =>
    typeof each === 'object' ? ['--set-json', `${name}=${JSON.stringify(each)}`] : ['--set', `${name}=${each}`],
  )
}

function fieldOf(object: unknown, path: string): unknown {
  let found = object
  for (const part of path.split(' ')) found = (found as Record<string, unknown> | undefined)?.[part]
  return found
}

async function expectRendered(manifests: readonly Manifest[], [object, path, value]: Rendered): Promise<void> {
  const [kind = '', name = ''] = object.split('/')
  if (kind === 'Environment' || kind === 'Gates') {
    const deployments = ofShape(manifests, ['Deployment'], deployment)
    const owner = deployments.find(({ metadata }) => metadata.name === (name || 'joiner-azure'))
    if (owner === undefined) throw new Error(`no Deployment ${name}`)
    const read = kind === 'Gates' ? configOf(manifests, owner).FEATURE_GATES : podEnvironment(manifests, owner)
    expect(fieldOf(read, path)).toEqual(value)
    return
  }
  const found = manifests.filter((each) => ['*', each.kind].includes(kind) && ['*', each.metadata.name].includes(name))
  expect(found.length, object).toBeGreaterThan(name === '*' ? 3 : 0)
  const { appVersion } = parse(await readFile(`${chartFolder}/Chart.yaml`, 'utf8')) as { readonly appVersion: string }
  const wanted = typeof value === 'string' ? value.replace('VERSION', appVersion) : value
  for (const each of found) expect(fieldOf(each, path), `${each.kind}/${each.metadata.name} ${path}`).toEqual(wanted)
}

describe('a key of Karpenter alone', () => {
  test.each(upstreamKeys.map((each) => [`${each.key} ${JSON.stringify(each.value)}`, each.state, each] as const))(
    '%s is %s',
    async (_title, state, each) => {
      if (each.state === 'refused') {
        const { code, stderr } = await helm(['template', 'joiner', chartFolder, ...given(each)], smallestValues)
        expect(code).not.toBe(0)
        expect(stderr).toContain(each.key.replace(/^(settings\.(azure|aws))\..*/, '$1'))
        expect(stderr).toContain(each.message)
      } else if (each.state === 'noted') {
        const { code, stdout } = await helm(
          ['install', 'joiner', chartFolder, '--dry-run=client', ...given(each)],
          smallestValues,
        )
        expect(code).toBe(0)
        const [head] = each.key.startsWith('settings.') ? [each.key] : each.key.split('.')
        expect(stdout.slice(stdout.indexOf('NOTES:'))).toMatch(new RegExp(`Values without effect:[^]*${head}: `))
        without ??= renderChart(smallestValues)
        const rest = (objects: readonly Manifest[]) => objects.filter(({ kind }) => kind !== 'Deployment')
        expect(rest(await renderChart(smallestValues, given(each)))).toEqual(rest(await without))
      } else {
        expect(each.renders.length).toBeGreaterThan(0)
        const manifests = await renderChart(smallestValues, given(each))
        for (const rendered of each.renders) await expectRendered(manifests, rendered)
      }
      counts.set(state, (counts.get(state) ?? 0) + 1)
    },
  )

  test('docs/karpenter-settings.md has the counts', async () => {
    const keys = new Set(upstreamKeys.map(({ key }) => key)).size
    const of = (state: Key['state']) => counts.get(state) ?? 0
    console.log(
      `values of Karpenter's charts: ${keys} keys in ${upstreamKeys.length} rows: ${of('taken')} taken, ${of('mapped')} mapped, ${of('noted')} without effect, ${of('refused')} refused`,
    )
    const page = await readFile(new URL('../docs/karpenter-settings.md', import.meta.url), 'utf8')
    expect(page).toContain(
      `of ${keys} keys ${of('taken')} rows are taken with the same meaning, ${of('mapped')} are read as a value with another name, ${of('noted')} are without effect and named in the notes after the installation, and ${of('refused')} are refused`,
    )
  })
})

/** Karpenter's defaults, as a copy of its values file has them. The image is named apart: it cannot be Karpenter's. */
const defaults = {
  nameOverride: '',
  fullnameOverride: '',
  additionalLabels: {},
  additionalAnnotations: {},
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  serviceAccount: { create: true, name: '', annotations: {} },
  additionalClusterRoleRules: [],
  serviceMonitor: { enabled: false, additionalLabels: {}, endpointConfig: {}, relabelings: [], metricRelabelings: [] },
  replicas: 2,
  revisionHistoryLimit: 10,
  strategy: { rollingUpdate: { maxUnavailable: 1 } },
  podLabels: {},
  podAnnotations: {},
  podDisruptionBudget: { name: 'karpenter', maxUnavailable: 1 },
  podSecurityContext: { fsGroup: 65532, seccompProfile: { type: 'RuntimeDefault' } },
  priorityClassName: 'system-cluster-critical',
  terminationGracePeriodSeconds: null,
  hostNetwork: false,
  dnsPolicy: 'ClusterFirst',
  dnsConfig: {},
  schedulerName: 'default-scheduler',
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' }] }],
      },
    },
    podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname' }] },
  },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' },
  ],
  tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
  extraVolumes: [],
  initContainers: {},
  controller: {
    containerName: 'controller',
    securityContext: { appArmorProfile: {}, seLinuxOptions: {}, seccompProfile: {} },
    env: [],
    envFrom: [],
    resources: {},
    extraVolumeMounts: [],
    sidecarContainer: [],
    sidecarVolumeMounts: [],
    metrics: { port: 8080 },
    healthProbe: { port: 8081 },
  },
  service: { annotations: {} },
  webhook: { enabled: true, port: 8443, metrics: { port: 8001 } },
  logLevel: 'info',
  logOutputPaths: ['stdout'],
  logErrorOutputPaths: ['stderr'],
  settings: {
    batchMaxDuration: '10s',
    batchIdleDuration: '1s',
    clusterCABundle: '',
    clusterName: '',
    clusterEndpoint: '',
    vmMemoryOverheadPercent: 0.075,
    preferencePolicy: '',
    minValuesPolicy: '',
    tags: null,
    eksControlPlane: false,
    isolatedVPC: false,
    interruptionQueue: '',
    disableDryRun: false,
    reservedENIs: '0',
    featureGates: { spotToSpotConsolidation: false, nodeRepair: false, reservedCapacity: true },
  },
}

test("Karpenter's defaults render, and every process reads its configuration", async () => {
  const manifests = await renderChart({ ...defaults, ...smallestValues })
  const deployments = ofShape(manifests, ['Deployment'], deployment)
  expect(deployments.map(({ spec }) => spec.replicas)).toEqual([2, 2, 2, 2])
  for (const each of deployments) {
    expect(JSON.stringify(each)).not.toMatch(/:(null|{})/)
    if (each.metadata.name !== 'joiner-conversion')
      expect(configOf(manifests, each)).toMatchObject({ JOINER_HEALTH_PORT: 8081, JOINER_METRICS_PORT: 8080 })
  }
})

describe('what docs/security.md promises', () => {
  const whole = (values: object) => helm(['template', 'joiner', chartFolder], { ...smallestValues, ...values })

  test('is kept: all values that would break it are refused at once', async () => {
    const root = { securityContext: { runAsUser: 0, allowPrivilegeEscalation: true } }
    const { code, stderr } = await whole({
      podSecurityContext: { runAsUser: 0, seccompProfile: { type: 'Unconfined' } },
      controller: {
        securityContext: { readOnlyRootFilesystem: false, capabilities: { add: ['NET_ADMIN'] } },
        sidecarContainer: [{ name: 'side', image: 'a', ...root }],
      },
      initContainers: [{ name: 'first', image: 'a', securityContext: { privileged: true } }],
      extraVolumes: [{ name: 'tmp', emptyDir: {} }],
      hostNetwork: true,
      networkPolicy: { enabled: true },
      additionalLabels: { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' },
      additionalClusterRoleRules: [
        { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['bind'] },
      ],
    })
    expect(code).not.toBe(0)
    expect(stderr.match(/is refused|is a volume of/g)).toHaveLength(13)
  })

  test('variables of a Secret reach joiner-azure alone, and nothing that values add reaches joiner-conversion', async () => {
    const secretRef = { name: 'identity' }
    const added = {
      envFrom: [{ secretRef }, { configMapRef: { name: 'more' } }],
      extraVolumeMounts: [{ name: 'ca', mountPath: '/ca' }],
      sidecarContainer: [{ name: 'side', image: 'a' }],
    }
    const manifests = await renderChart({
      ...smallestValues,
      controller: added,
      extraVolumes: [{ name: 'ca', secret: { secretName: 'ca' } }],
      initContainers: [{ name: 'first', image: 'a' }],
    })
    const deployments = manifests.filter(({ kind }) => kind === 'Deployment')
    expect(
      deployments.filter((each) => JSON.stringify(each).includes('secretRef')).map(({ metadata }) => metadata.name),
    ).toEqual(['joiner-azure'])
    const conversion = deployments.find(({ metadata }) => metadata.name === 'joiner-conversion')
    expect(JSON.stringify(conversion)).not.toMatch(/"(ca|side|first|more|identity)"/)
  })

  test('a Service of the namespace puts no variable into a pod: JOINER_CONVERSION_PORT is none of an address', async () => {
    for (const each of (await renderChart(smallestValues)).filter(({ kind }) => kind === 'Deployment'))
      expect(fieldOf(each, 'spec template spec enableServiceLinks')).toBe(false)
  })
})
