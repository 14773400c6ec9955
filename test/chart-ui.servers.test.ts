// The page of joiner ui in the cluster, as helm renders it.
import { describe, expect, test } from 'vitest'
import {
  binding,
  chartFolder,
  deployment,
  fullValues,
  helm,
  ofShape,
  podEnvironment,
  releaseNamespace,
  renderChart,
  role,
  service,
  smallestValues,
} from './chart.ts'

const ui = { enabled: true, host: 'joiner.example.com', allowedNamespaces: ['ingress'] }
const namedUi = ({ metadata }: { readonly metadata: { readonly name: string } }) => metadata.name.endsWith('-ui')

test('there is no page in the cluster until values ask for it', async () => {
  expect((await renderChart(smallestValues)).filter(namedUi)).toEqual([])
})

describe.each([
  ['the smallest values', { ...smallestValues, ui }, 'joiner-ui'],
  [
    'every value set',
    { ...fullValues, fullnameOverride: 'autoscaler', ui: { ...ui, temporalUi: 'https://t' } },
    'autoscaler-ui',
  ],
] as const)('with %s', (_, values, name) => {
  test('it runs read-only, without an identity at Azure, with a name of its own', async () => {
    const manifests = await renderChart(values)
    const [own, ...others] = ofShape(manifests, ['Deployment'], deployment).filter(namedUi)
    expect([own?.metadata.name, others]).toEqual([name, []])
    if (own === undefined) throw new Error('no Deployment')
    const { template } = own.spec
    expect(template.spec.containers[0].args).toEqual(['ui', '--port', '8090', '--behind-proxy', ui.host])
    expect(template.spec.serviceAccountName).toBe(name)
    expect(template.metadata.labels['azure.workload.identity/use']).toBeUndefined()
    const environment = podEnvironment(manifests, own)
    expect(environment['TEMPORAL_ADDRESS']).toBeTruthy()
    expect(environment['CLUSTER_NAME']).toBeTruthy()
    expect(environment['JOINER_TEMPORAL_UI']).toBe(name === 'autoscaler-ui' ? 'https://t' : '')
  })

  test('its account may only read', async () => {
    const manifests = await renderChart(values)
    const bound = ofShape(manifests, ['RoleBinding', 'ClusterRoleBinding'], binding).filter(({ subjects }) =>
      subjects.some((subject) => subject.name === name),
    )
    expect(bound.map(({ kind, roleRef }) => `${kind} ${roleRef.name}`).sort()).toEqual([
      'ClusterRoleBinding joiner-ui',
      'RoleBinding joiner-ui',
    ])
    const rules = ofShape(manifests, ['Role', 'ClusterRole'], role)
      .filter(({ metadata }) => metadata.name === 'joiner-ui')
      .flatMap((each) => each.rules)
    expect(rules.length).toBeGreaterThan(5)
    expect(new Set(rules.flatMap(({ verbs }) => verbs))).toEqual(new Set(['get', 'list', 'watch']))
    expect(rules.flatMap(({ resources }) => resources)).not.toContain('secrets')
  })

  test("only the proxy's namespace reaches it, by the port that its Service has", async () => {
    const manifests = await renderChart(values)
    const policy = manifests.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name)
    const from = {
      namespaceSelector: {
        matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: ['ingress'] }],
      },
    }
    expect(policy?.['spec']).toMatchObject({
      policyTypes: ['Ingress'],
      ingress: [{ from: [from], ports: [{ port: 'ui', protocol: 'TCP' }] }],
    })
    const [own] = ofShape(manifests, ['Service'], service).filter(namedUi)
    expect([own?.metadata.namespace, own?.spec.ports[0]]).toEqual([
      releaseNamespace,
      expect.objectContaining({ port: 80, targetPort: 'ui' }),
    ])
  })
})

test.each([
  ['no name', { ...ui, host: '' }, {}, 'ui.host is empty'],
  ['no namespace', { ...ui, allowedNamespaces: [] }, {}, 'ui.allowedNamespaces is empty'],
  ['the network of the node', ui, { hostNetwork: true }, 'ui.enabled and hostNetwork'],
  ['a name that is an address of a page', { ...ui, host: 'https://joiner.example.com' }, {}, '/ui/host'],
] as const)('%s is refused', async (_, values, more, message) => {
  const { code, stderr } = await helm(['template', 'joiner', chartFolder], { ...smallestValues, ...more, ui: values })
  expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
})
