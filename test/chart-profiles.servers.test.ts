// What the chart renders beside its four Deployments: one Deployment with all roles, Jobs, tests, monitors.
import { describe, expect, test } from 'vitest'
import {
  binding,
  chartFolder,
  configOf,
  deployment,
  fullValues,
  helm,
  isHook,
  type Manifest,
  named,
  ofShape,
  podEnvironment,
  renderChart,
  rolesOf,
  smallestValues,
  valuesWithAddress,
} from './chart.ts'

describe('the profile single', () => {
  const single = { ...smallestValues, profile: 'single' }

  test('is one Deployment with all roles, one replica and the account that the federated credential names', async () => {
    const manifests = await renderChart(single)
    const [one, ...others] = ofShape(manifests, ['Deployment'], deployment)
    if (one === undefined) throw new Error('no Deployment')
    expect(others).toEqual([])
    expect(rolesOf(one)).toEqual(['core', 'bridge', 'azure', 'planner', 'conversion'])
    expect(one.spec.replicas).toBe(1)
    expect(one.spec.template.spec.serviceAccountName).toBe('joiner-azure')
    expect(one.spec.template.metadata.labels['azure.workload.identity/use']).toBe('true')
    expect(configOf(manifests, one)).toMatchObject({ JOINER_AZURE_REPLICAS: 1, JOINER_CONVERSION_PORT: 8443 })
  })

  test('takes the place of the four by an upgrade, and gives it back', async () => {
    const selectors = async (values: object) => {
      const found = ofShape(await renderChart(values), ['Deployment'], deployment)
      return found.find(({ metadata }) => metadata.name === 'joiner')?.spec.selector
    }
    // What Kubernetes lets nobody change.
    expect(await selectors(single)).toEqual(await selectors(smallestValues))
  })

  test('has the rights of all roles and no others, and the same limits', async () => {
    const [apart, together] = await Promise.all([renderChart(smallestValues), renderChart(single)])
    const boundRoles = (manifests: readonly Manifest[]) =>
      ofShape(
        manifests.filter((each) => !isHook(each)),
        ['RoleBinding', 'ClusterRoleBinding'],
        binding,
      )
    const names = (manifests: readonly Manifest[]) =>
      boundRoles(manifests)
        .map(({ kind, roleRef }) => `${kind} ${roleRef.name}`)
        .toSorted()
    expect(names(together)).toEqual(names(apart))
    const subjects = boundRoles(together).flatMap((each) => each.subjects)
    expect(new Set(subjects.filter(({ kind }) => kind === 'ServiceAccount').map(({ name }) => name))).toEqual(
      new Set(['joiner-azure']),
    )
    for (const name of ['joiner-bootstrap-tokens', 'joiner-own-objects', 'joiner-conversion'])
      expect(JSON.stringify(named(together, 'ValidatingAdmissionPolicy', name).spec)).toContain(
        "in ['system:serviceaccount:joiner-system:joiner-azure']",
      )
  })

  test('has its pods found by the conversion webhook, the budget and the NetworkPolicy', async () => {
    const manifests = await renderChart({ ...single, networkPolicy: { enabled: true } })
    const component = { 'app.kubernetes.io/component': 'joiner' }
    expect(named(manifests, 'Service', 'joiner-conversion')).toMatchObject({ spec: { selector: component } })
    expect(named(manifests, 'PodDisruptionBudget', 'joiner')).toMatchObject({
      spec: { selector: { matchLabels: component } },
    })
    expect(named(manifests, 'NetworkPolicy', 'joiner-conversion')).toMatchObject({
      spec: { podSelector: { matchLabels: component } },
    })
  })
})

describe('hooks', () => {
  test('Jobs apply the CRDs before installs and upgrades and release them before the uninstall, with the image of Joiner', async () => {
    const manifests = await renderChart({ ...fullValues, profile: 'single' })
    for (const [task, event] of [
      ['apply', 'pre-install,pre-upgrade'],
      ['release', 'pre-delete'],
    ] as const)
      expect(named(manifests, 'Job', `joiner-crds-${task}`)).toMatchObject({
        metadata: { annotations: { 'helm.sh/hook': event } },
        spec: {
          template: {
            spec: {
              serviceAccountName: 'joiner-crds',
              nodeSelector: { disk: 'fast' },
              imagePullSecrets: [{ name: 'pull' }],
              securityContext: { runAsNonRoot: true },
              containers: [
                {
                  image: 'registry.example/joiner:9.8.7',
                  args: ['admin', 'crds', task, '--release', 'joiner', '--joiner-namespace', 'joiner-system'],
                },
              ],
            },
          },
        },
      })
    const accounts = manifests.filter(({ metadata }) => metadata.name === 'joiner-crds')
    expect(accounts.map(({ kind }) => kind).toSorted()).toEqual([
      'ClusterRole',
      'ClusterRoleBinding',
      'Role',
      'RoleBinding',
      'ServiceAccount',
    ])
    // They go with the Jobs, whether these succeed or fail.
    for (const { metadata } of accounts)
      expect(metadata.annotations?.['helm.sh/hook-delete-policy']).toBe(
        'before-hook-creation,hook-succeeded,hook-failed',
      )
    const none = await renderChart({ ...fullValues, crds: { manage: false } })
    expect(none.filter(({ metadata }) => metadata.name.startsWith('joiner-crds'))).toEqual([])
  })

  test('helm test runs joiner doctor as joiner-azure, with its settings and its identity', async () => {
    const manifests = await renderChart(fullValues)
    const azure = ofShape(manifests, ['Deployment'], deployment).find(
      ({ metadata }) => metadata.name === 'joiner-azure',
    )
    if (azure === undefined) throw new Error('no Deployment joiner-azure')
    const pod = named(manifests, 'Pod', 'joiner-doctor')
    expect(pod).toMatchObject({
      metadata: { annotations: { 'helm.sh/hook': 'test' }, labels: { 'azure.workload.identity/use': 'true' } },
      spec: { serviceAccountName: 'scaler', containers: [{ args: ['doctor', '--service-account', 'scaler'] }] },
    })
    const { containers } = pod['spec'] as { containers: [(typeof azure.spec.template.spec.containers)[0]] }
    const asDeployment = {
      ...azure,
      spec: { ...azure.spec, template: { ...azure.spec.template, spec: { ...azure.spec.template.spec, containers } } },
    }
    const { JOINER_HEALTH_PORT: _served, ...settings } = podEnvironment(manifests, azure)
    expect(podEnvironment(manifests, { ...asDeployment, spec: { ...asDeployment.spec } })).toEqual(settings)
    const volumes = (object: unknown) => (object as { volumes: unknown }).volumes
    expect(volumes(pod['spec'])).toEqual(volumes(azure.spec.template.spec))
  })
})

describe('NOTES.txt', () => {
  const notes = async (values: object) => {
    const { code, stdout } = await helm(['install', 'joiner', chartFolder, '--dry-run=client'], {
      ...smallestValues,
      ...values,
    })
    expect(code).toBe(0)
    return stdout.slice(stdout.indexOf('NOTES:'))
  }

  test('says what runs and what to do next', async () => {
    const text = await notes({ workloadIdentity: { clientId: 'client' } })
    expect(text).toContain('deployment/joiner-azure: azure (2 replicas, account joiner-azure)')
    expect(text).toContain('helm test joiner --namespace joiner-system')
    expect(text).not.toMatch(/WARNING|without effect/)
  })

  const { temporal } = valuesWithAddress
  const ui = { enabled: true, host: 'joiner.example', allowedNamespaces: ['proxy'] }
  test.each([
    ['0.66 CPU and 2304 MiB', { temporal }],
    ['0.76 CPU and 2560 MiB', {}],
    ['0.35 CPU and 640 MiB', { profile: 'single' }],
    ['0.69 CPU and 2432 MiB', { temporal, ui }],
    [
      '2.46 CPU and 2490 MiB',
      { temporal, planner: { replicas: 1, resources: { requests: { cpu: 2, memory: '1G' } } } },
    ],
    ['3.46 CPU and 4608 MiB', { temporal, planner: { resources: { requests: null, limits: { cpu: '1500m' } } } }],
    ['0.46 CPU and 1536 MiB', { temporal, planner: { resources: null } }],
  ])('says what the pods request together: %s', async (words, values) => {
    expect(await notes(values)).toContain(`Together the pods request ${words} of memory.`)
  })

  test('the default requests fit on a node of two cores, with the pods of AKS itself', async () => {
    const [, cpu] = /request ([\d.]+) CPU/.exec(await notes({})) ?? []
    expect(Number(cpu)).toBeLessThan(1)
  })

  test.each([
    ['no client id of a managed identity', {}],
    ['so Joiner has a Temporal of its own, for up to 200 nodes', {}],
    ['no NetworkPolicy can let in pods with hostNetwork alone', { hostNetwork: true }],
    ['dnsPolicy Default resolves no Service', { dnsPolicy: 'Default' }],
    ['both scrape each pod', { serviceMonitor: { enabled: true }, metrics: { podMonitor: { enabled: true } } }],
    ['profile single has one account', { profile: 'single' }],
    ['with hostNetwork no NetworkPolicy', { hostNetwork: true }],
    ['crds.manage is false', { crds: { manage: false } }],
    ['reach joiner-azure alone', { controller: { envFrom: [{ secretRef: { name: 'identity' } }] } }],
  ])('warns: %s', async (words, values) => {
    expect(await notes(values)).toContain(words)
  })
})

interface Endpoint {
  readonly relabelings?: readonly { readonly targetLabel?: string; readonly replacement?: string }[]
}

test('every scrape has the job that dashboards for Karpenter select, unless a value gives another or none', async () => {
  const both = { serviceMonitor: { enabled: true }, metrics: { podMonitor: { enabled: true } } }
  const jobs = async (values: object) => {
    const manifests = await renderChart({ ...smallestValues, ...values })
    const monitors = [named(manifests, 'ServiceMonitor', 'joiner'), named(manifests, 'PodMonitor', 'joiner')]
    return monitors.map(({ spec }) => {
      const { endpoints, podMetricsEndpoints } = spec as Record<string, readonly Endpoint[] | undefined>
      const [{ relabelings = [] } = {}] = endpoints ?? podMetricsEndpoints ?? []
      return relabelings.find(({ targetLabel }) => targetLabel === 'job')?.replacement
    })
  }
  expect(await jobs(both)).toEqual(['karpenter', 'karpenter'])
  expect(await jobs({ ...both, metrics: { ...both.metrics, job: 'nodes' } })).toEqual(['nodes', 'nodes'])
  expect(await jobs({ ...both, metrics: { ...both.metrics, job: '' } })).toEqual([undefined, undefined])
})

test('the Service of metrics leads to the pods of all Deployments but the page, which has none', async () => {
  const ui = { enabled: true, host: 'joiner.example.com', allowedNamespaces: ['proxy'] }
  const manifests = await renderChart({ ...smallestValues, ui })
  const { spec } = named(manifests, 'Service', 'joiner-metrics') as unknown as {
    readonly spec: { readonly selector: Readonly<Record<string, string>> }
  }
  const selected = ofShape(manifests, ['Deployment'], deployment).filter((each) =>
    Object.entries(spec.selector).every(([name, value]) => each.spec.template.metadata.labels[name] === value),
  )
  expect(selected.map(({ metadata }) => metadata.name).toSorted()).toEqual([
    'joiner',
    'joiner-azure',
    'joiner-conversion',
    'joiner-planner',
  ])
})

test('a digest decides which image runs, in the Jobs and the test as well', async () => {
  const digest = `sha256:${'b2'.repeat(32)}`
  const manifests = await renderChart({ ...fullValues, image: { ...fullValues.image, digest } })
  const images = [...JSON.stringify(manifests).matchAll(/"image":"([^"]+)"/g)].map(([, image]) => image)
  expect(images).toHaveLength(7)
  expect(new Set(images)).toEqual(new Set([`registry.example/joiner:9.8.7@${digest}`]))
})
