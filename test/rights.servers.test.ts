// What Joiner's accounts may do: what docs/rights.md says, and nothing else, by a real API server's word.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { bootstrapTokenId, createBootstrapToken, isTokenLost } from '../activities/azure/launch/bootstrap-token.ts'
import type { Json } from '../activities/kubernetes/client/answers.ts'
import { ApiError } from '../activities/kubernetes/client/api-error.ts'
import { KubernetesClient } from '../activities/kubernetes/client/client.ts'
import { rights } from '../api/rights/rights.ts'
import { rightCells } from '../deploy/generate-rights.ts'
import { chartFolder, flat, fullValues, ofShape, releaseNamespace, renderChart, role, smallestValues } from './chart.ts'
import { World } from './world.ts'

const accounts = ['joiner', 'joiner-azure', 'joiner-planner', 'joiner-conversion'] as const
type Account = (typeof accounts)[number]

/** Values with which the chart grants all that it ever grants. */
const everyRight = {
  ...smallestValues,
  azure: { ...smallestValues.azure, networkPolicy: 'cilium' },
  ui: { enabled: true, host: 'joiner.example.com', allowedNamespaces: ['ingress'] },
  settings: {
    schedulerConfig: fullValues.settings.schedulerConfig,
    featureGates: { nodeOverlay: true, capacityBuffer: true },
  },
}
const laterVersion = ['--kube-version', '1.99.0']

/** The rows that the rules of a rendered chart make, without their reasons. */
async function rowsOf(values: unknown, more: readonly string[] = []): Promise<readonly string[]> {
  const roles = ofShape(await renderChart(values, more), ['Role', 'ClusterRole'], role)
  return roles.flatMap(({ metadata, rules }) =>
    rules.map(({ apiGroups, resources, resourceNames, verbs }) => {
      const [group = '', ...others] = apiGroups
      expect(others).toEqual([])
      const [, to = ''] = /^joiner-([a-z]+)/.exec(metadata.name) ?? []
      const where = metadata.namespace === releaseNamespace ? 'own' : (metadata.namespace ?? 'cluster')
      const names = resourceNames === undefined ? {} : { names: resourceNames }
      return rightCells({ to, where, group, resources, verbs, ...names } as Parameters<typeof rightCells>[0]).join(
        ' | ',
      )
    }),
  )
}

describe('docs/rights.md', () => {
  test('has a row for each rule of the chart, and no other', async () => {
    const page = await readFile(new URL('../docs/rights.md', import.meta.url), 'utf8')
    const table = page.slice(page.indexOf('<!-- rights'), page.indexOf('<!-- end of rights'))
    const rows = table
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .slice(2)
      .map((line) => line.split(/ *\| */).slice(1, 6))
    expect(rows.filter((cells) => (cells[4] ?? '') === '')).toEqual([])
    const said = rows.map((cells) => cells.slice(0, 4).join(' | '))
    expect(said.length).toBeGreaterThan(60)
    expect(said.toSorted()).toEqual((await rowsOf(everyRight, laterVersion)).toSorted())
  })

  test('reports rights that are granted only where a setting needs them', async () => {
    const withBundled = { ...smallestValues, azure: { ...smallestValues.azure, dnsServiceIp: '10.0.0.10' } }
    const withoutSettings = { ...withBundled, temporal: { address: 'temporal.example:7233' } }
    const always = rights.filter(({ when }) => when === undefined)
    const cells = always.map((right) => rightCells(right).join(' | '))
    expect((await rowsOf(withoutSettings)).toSorted()).toEqual(cells.toSorted())
    const env = (name: string, value: string) => ({ ...withoutSettings, controller: { env: [{ name, value }] } })
    for (const [condition, values] of [
      ['bundledTemporal', withBundled],
      ['defaultSpread', env('SCHEDULER_CONFIG', JSON.stringify(everyRight.settings.schedulerConfig))],
      ['overlays', env('FEATURE_GATES', 'NodeRepair=true, NodeOverlay = True')],
      ['buffers', env('FEATURE_GATES', 'NodeRepair=true, CapacityBuffer = True')],
    ] as const)
      expect((await rowsOf(values)).length - always.length).toBe(rights.filter(({ when }) => when === condition).length)
  })
})

describe('by the API server', () => {
  let world: World
  const clients = new Map<Account, KubernetesClient>()

  beforeAll(async () => {
    world = await World.start()
    for (const account of accounts)
      clients.set(account, await KubernetesClient.load(world.installation.kubeconfigOf(account)))
  })

  afterAll(async () => {
    for (const client of clients.values()) await client.close()
    await world?.stop({ tookRights: true })
  })

  const as = (account: Account): KubernetesClient => {
    const client = clients.get(account)
    if (client === undefined) throw new Error(`no client of ${account}`)
    return client
  }

  /** What is refused, and why; undefined: nothing. */
  const refusal = (work: Promise<unknown>): Promise<string | undefined> =>
    work.then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof ApiError && (error.code === 403 || error.code === 422)) return error.message
        throw error
      },
    )

  test.each([
    ['the smallest values', smallestValues, []],
    [
      'every value',
      { ...fullValues, metrics: {}, admissionWarnings: true, flowControl: { enabled: true } },
      laterVersion,
    ],
  ] as const)('the whole chart with %s is taken', async (_, values, more) => {
    // A dry run makes no account for the pod of helm test; test/chart-lifecycle.servers.test.ts has it made.
    const objects = (await renderChart(values, more)).filter(({ kind }) => kind !== 'Pod')
    const place = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: releaseNamespace } }
    await world.operator.kubectl(['apply', '--server-side', '-f', '-'], stringify(place))
    const text = objects.map((object) => stringify(object)).join('---\n')
    const applied = await world.operator.kubectl(
      ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-f', '-'],
      text,
    )
    expect(applied.trim().split('\n')).toHaveLength(objects.length)
    expect(applied).not.toContain('Warning')
  })

  /** What kubectl prints of an account's rights in a namespace: resources, names, verbs. */
  async function listed(account: string, own: string, namespace: string): Promise<readonly (readonly string[])[]> {
    const user = `system:serviceaccount:${own}:${account}`
    const table = await world.operator.kubectl(['auth', 'can-i', '--list', '--as', user, '--namespace', namespace])
    console.log(`kubectl auth can-i --list --as ${user} --namespace ${namespace}\n${table}`)
    return table
      .split('\n')
      .slice(1)
      .map((line) => [...line.matchAll(/\[[^\]]*\]|[^\s[\]]+/g)].map(([cell]) => cell.replaceAll(/[[\]]/g, '')))
  }

  const readable = (rows: readonly (readonly string[])[]) =>
    rows
      .filter(([resource = '']) => resource === 'secrets' || resource.startsWith('*'))
      .filter((cells) => /get|list|watch|\*/.test(cells.at(-1) ?? ''))
      .map((cells) => cells.slice(2, -1).join(' '))

  test('no Secret of kube-system can be read', async () => {
    const found = await Promise.all(accounts.map((account) => listed(account, 'joiner', 'kube-system')))
    expect(found.map(readable)).toEqual([[], [], [], []])
    expect(found.every((rows) => rows.length > 5)).toBe(true)
  })

  test('no Secret but that of the webhook can be read where Joiner is installed in kube-system', async () => {
    const { stdout } = await promisify(execFile)(world.cluster.binaries.helm, [
      'template',
      'joiner',
      chartFolder,
      '--namespace=kube-system',
      '--show-only=templates/accounts.yaml',
      '--show-only=templates/rights.yaml',
      '--show-only=templates/conversion.yaml',
      `--set-string=${Object.entries(flat(smallestValues))
        .map((entry) => entry.join('='))
        .join(',')}`,
    ])
    await world.operator.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], stdout)
    const found = await Promise.all(accounts.map((account) => listed(account, 'kube-system', 'kube-system')))
    expect(found.map(readable)).toEqual([[], [], [], ['joiner-conversion']])
    await world.installation.install()
  })

  const tokens = '/api/v1/namespaces/kube-system/secrets'
  const token = (change: { readonly type?: string; readonly labels?: object; readonly data?: object } = {}): Json => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: `bootstrap-token-${bootstrapTokenId('a')}`,
      namespace: 'kube-system',
      labels: change.labels ?? { 'joiner.sh/nodeclaim-uid': 'a' },
    },
    type: change.type ?? 'bootstrap.kubernetes.io/token',
    stringData: {
      'token-id': bootstrapTokenId('a'),
      'token-secret': '0123456789abcdef',
      expiration: '2099-01-01T00:00:00Z',
      'usage-bootstrap-authentication': 'true',
      'auth-extra-groups': 'system:bootstrappers:joiner',
      ...change.data,
    },
  })

  test.each<[string, Json, RegExp]>([
    ['a Secret of another type', token({ type: 'Opaque' }), /bootstrap tokens of its own only/],
    ['a token without the label', token({ labels: {} }), /bootstrap tokens of its own only/],
    [
      'a token of another group',
      token({ data: { 'auth-extra-groups': 'system:bootstrappers:other' } }),
      /one extra group/,
    ],
    [
      'a token of a second group',
      token({ data: { 'auth-extra-groups': 'system:bootstrappers:joiner,system:bootstrappers:other' } }),
      /one extra group/,
    ],
    ['a token that signs', token({ data: { 'usage-bootstrap-signing': 'true' } }), /signs nothing/],
  ])('joiner-azure cannot make %s', async (_, secret, message) => {
    expect(await refusal(as('joiner-azure').create(tokens, secret))).toMatch(message)
  })

  test('joiner-azure cannot get a ServiceAccount a token', async () => {
    const ofController = {
      ...token({ type: 'kubernetes.io/service-account-token' }),
      metadata: {
        name: 'stolen',
        namespace: 'kube-system',
        labels: { 'joiner.sh/nodeclaim-uid': 'a' },
        annotations: { 'kubernetes.io/service-account.name': 'clusterrole-aggregation-controller' },
      },
    }
    expect(await refusal(as('joiner-azure').create(tokens, ofController))).toMatch(/bootstrap tokens of its own only/)
    for (const path of [tokens, `${tokens}/any`])
      expect(await refusal(as('joiner-azure').get(path))).toMatch(/cannot (list|get) resource "secrets"/)
  })

  test('joiner-azure makes tokens of its own and deletes them, and none of others', async () => {
    const path = `${tokens}/bootstrap-token-${bootstrapTokenId('a')}`
    const { secretUid = '' } = (await createBootstrapToken(as('joiner-azure'), 'a', Date.UTC(2099, 0))) ?? {}
    const isLost = (uid: string) => isTokenLost(as('joiner-azure'), 'a', uid)
    // A deletion that is only checked tells whose token it is, and leaves it.
    expect([await isLost(secretUid), await isLost('another'), await isLost(secretUid)]).toEqual([false, true, false])
    await as('joiner-azure').delete(path)
    expect(await isLost(secretUid)).toBe(true)
    await world.operator.api('POST', tokens, token({ labels: { of: 'kubeadm' } }))
    expect(await refusal(as('joiner-azure').delete(path))).toMatch(/bootstrap tokens of its own only/)
    await world.operator.api('DELETE', path)
  })

  test.each<[Account, string, string, Json]>(
    (['joiner', 'joiner-azure', 'joiner-planner'] as const).flatMap((account): [Account, string, string, Json][] => [
      [account, 'ConfigMaps', '/api/v1/namespaces/joiner/configmaps', { apiVersion: 'v1', kind: 'ConfigMap' }],
      [
        account,
        'Leases',
        '/apis/coordination.k8s.io/v1/namespaces/joiner/leases',
        { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
      ],
    ]),
  )('%s makes %s of Joiner only', async (account, _, path, object) => {
    const named = (name: string) => ({ ...object, metadata: { name, namespace: 'joiner' } })
    expect(await refusal(as(account).create(path, named('coredns-custom')))).toMatch(
      /whose names begin with joiner-|cannot create resource "leases"/,
    )
    if (account !== 'joiner-azure' || path.includes('configmaps'))
      await as(account).create(path, named(`joiner-of-${account}`))
  })

  const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodeclaims.karpenter.sh'
  test.each<[string, Json, RegExp]>([
    ['names', { spec: { names: { shortNames: ['secret'] } } }, /nothing else of it/],
    ['the strategy', { spec: { conversion: { strategy: 'None', webhook: null } } }, /own namespace only/],
    [
      'a host that converts',
      { spec: { conversion: { webhook: { clientConfig: { url: 'https://elsewhere:1/convert' } } } } },
      /own namespace only/,
    ],
    [
      'a Service that converts',
      {
        spec: {
          conversion: {
            webhook: { clientConfig: { url: null, service: { name: 'joiner-conversion', namespace: 'elsewhere' } } },
          },
        },
      },
      /own namespace only/,
    ],
  ])('joiner-conversion cannot change of a CRD %s', async (_, patch, message) => {
    expect(await refusal(as('joiner-conversion').mergePatch(crd, patch))).toMatch(message)
  })

  test('joiner-conversion cannot change a schema', async () => {
    const { spec } = await world.operator.api<{ spec: { versions: readonly Json[] } }>('GET', crd)
    const versions = spec.versions.map((version) => ({ ...version, schema: { openAPIV3Schema: { type: 'object' } } }))
    expect(await refusal(as('joiner-conversion').mergePatch(crd, { spec: { versions } }))).toMatch(/nothing else of it/)
  })

  test('joiner-conversion changes whether v1beta1 of NodeClaims is served, and of no other version', async () => {
    const serve = (version: number, value: boolean) =>
      as('joiner-conversion').jsonPatch(crd, [{ op: 'replace', path: `/spec/versions/${version}/served`, value }])
    await serve(1, true)
    await serve(1, false)
    expect(await refusal(serve(0, false))).toMatch(/nothing else of it/)
  })

  test('joiner-conversion changes where it converts, and no other CRD', async () => {
    const { port } = new URL(`https://localhost:${world.cluster.ports.conversion}`)
    const clientConfig = { url: `https://localhost:${port}/another` }
    await as('joiner-conversion').mergePatch(crd, { spec: { conversion: { webhook: { clientConfig } } } })
    const other = crd.replace('nodeclaims', 'nodeoverlays')
    expect(await refusal(as('joiner-conversion').mergePatch(other, {}))).toMatch(/cannot patch resource/)
  })

  test('only a token of the group system:bootstrappers:joiner may ask for a certificate', async () => {
    const asked = async (group: string) =>
      world.operator.kubectl([
        'auth',
        'can-i',
        'create',
        'certificatesigningrequests',
        '--as=system:bootstrap:abcdef',
        '--as-group=system:bootstrappers',
        `--as-group=${group}`,
        '--as-group=system:authenticated',
      ])
    expect((await asked('system:bootstrappers:joiner')).trim()).toBe('yes')
    await expect(asked('system:bootstrappers:other')).rejects.toThrow()
  })

  test("Joiner's requests have shares of the API server of their own, and its Leases those of leaders", async () => {
    const objects = (await renderChart(smallestValues)).filter(({ apiVersion }) => apiVersion.startsWith('flowcontrol'))
    const text = objects
      .map((object) => stringify(object))
      .join('---\n')
      .replaceAll(releaseNamespace, 'joiner')
    await world.operator.kubectl(['apply', '--server-side', '-f', '-'], text)
    const uidOf = async (name: string) =>
      (
        await world.operator.api<{ metadata: { uid: string } }>(
          'GET',
          `/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/${name}`,
        )
      ).metadata.uid
    const [own, leases] = [await uidOf('joiner'), await uidOf('joiner-leases')]
    const ca = await readFile(world.cluster.pki.caFile, 'utf8')
    const dispatcher = new Agent({ connect: { ca } })
    const flowOf = async (account: Account, path: string) => {
      const file = world.installation.kubeconfigOf(account).replace('.kubeconfig', '.token')
      const headers = { authorization: `Bearer ${await readFile(file, 'utf8')}` }
      const { headers: answered, body } = await request(`${world.cluster.server}${path}`, { dispatcher, headers })
      await body.dump()
      return answered['x-kubernetes-pf-flowschema-uid']
    }
    const lease = '/apis/coordination.k8s.io/v1/namespaces/joiner/leases/joiner-bridge'
    await world.until('the flows are known', async () => (await flowOf('joiner-planner', '/api/v1/nodes')) === own)
    expect(await flowOf('joiner-azure', '/apis/karpenter.sh/v1/nodeclaims')).toBe(own)
    expect(await flowOf('joiner', lease)).toBe(leases)
    await dispatcher.destroy()
  })

  test('people with view, edit and admin have what these mean for NodePools', async () => {
    const can = async (role: string, verb: string, resource: string) => {
      const subject = `${role}-of-the-test`
      const bind = ['create', 'clusterrolebinding', subject, `--clusterrole=${role}`, `--user=${subject}`]
      await world.operator.kubectl(bind).catch((error: unknown) => {
        if (!String(error).includes('already exists')) throw error
      })
      return world
        .until('roles are aggregated', () =>
          world.operator.kubectl(['auth', 'can-i', 'list', 'nodepools', '--as', subject]),
        )
        .then(() => world.operator.kubectl(['auth', 'can-i', verb, resource, '--as', subject]))
        .then(
          () => true,
          () => false,
        )
    }
    const found = await Promise.all(
      ['view', 'edit', 'admin'].map(async (role) => [
        await can(role, 'create', 'nodepools'),
        await can(role, 'create', 'nodeclaims'),
        await can(role, 'deletecollection', 'aksnodeclasses'),
      ]),
    )
    expect(found).toEqual([
      [false, false, false],
      [true, false, false],
      [true, true, true],
    ])
  })

  test('a right that is missing is found in the log', async () => {
    await world.operator.kubectl(['delete', 'rolebinding', 'joiner-conversion', '--namespace', 'joiner'])
    for (const spec of world.installation.apartSpecs().filter(({ name }) => name === 'joiner-conversion'))
      world.cluster.supervisor.start(spec)
    const found = await world.until('the log says', async () => {
      const reasons = await world.forbidden()
      return reasons.length > 0 && reasons
    })
    expect(found).toEqual([expect.stringMatching(/joiner-conversion.*cannot get resource.*namespaces/)])
  })
})
