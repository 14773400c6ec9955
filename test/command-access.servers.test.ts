import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { namespace, operatorAccount } from '../deploy/local/installation-accounts.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { portForwarding } from './port-forwarding.ts'
import { World } from './world.ts'

const command = fileURLToPath(new URL('../starter/joiner.ts', import.meta.url))
const service = { name: 'temporal-frontend', namespace: 'temporal' }

let world: World
let folder: string
let node = ''
let pod = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'command-access-'))
  world = await World.start()
  await world.startWithPool(nodePool(), nodeClass(), deployment({ name: 'inflate', cpu: '1' }))
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  node = (await world.list('nodes'))[0]?.metadata.name ?? ''
  pod = (await world.list('pods'))[0]?.metadata.name ?? ''
  await installSettings()
  await allowForwarding()
  await portForwarding(world, { ...service, port: 7233, address: world.cluster.temporalEnv['TEMPORAL_ADDRESS'] ?? '' })
})

afterAll(async () => {
  await world?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** The ConfigMap and the Deployments that the chart would have installed, which no process runs from. */
async function installSettings(): Promise<void> {
  const { env = {} } = world.installation.processSpec()
  const isSecret = (name: string) =>
    /^(TEMPORAL_TLS_.*_PATH|KUBECONFIG|AZURE_FEDERATED|AZURE_CLIENT|AZURE_TENANT)/.test(name)
  const data = Object.fromEntries(Object.entries(env).filter(([name]) => !isSecret(name)))
  const address = `${service.name}.${service.namespace}.svc:7233`
  const secretOf = async (name: string) => (await readFile(env[name] ?? '')).toString('base64')
  const mounted = (name: string) => ({ name, value: `/etc/joiner-temporal/tls/${name.toLowerCase()}` })
  const paths = Object.keys(env).filter((name) => /^TEMPORAL_TLS_.*_PATH$/.test(name))
  const tls = Object.fromEntries(
    await Promise.all(paths.map(async (name) => [name.toLowerCase(), await secretOf(name)] as const)),
  )
  const labels = { app: 'joiner' }
  await world.apply(
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'joiner-settings', namespace },
      data: { ...data, TEMPORAL_ADDRESS: address },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'temporal-client', namespace }, data: tls },
    ...['joiner', 'joiner-azure'].map((name) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: [
              {
                name: 'joiner',
                image: 'joiner',
                env: [{ name: 'JOINER_ROLES', value: 'core' }, ...paths.map(mounted)],
                volumeMounts: [{ name: 'temporal-tls', mountPath: '/etc/joiner-temporal/tls' }],
              },
            ],
            volumes: [{ name: 'temporal-tls', secret: { secretName: 'temporal-client' } }],
          },
        },
      },
    })),
  )
}

/** What the chart cannot grant, since it does not know Temporal's namespace (docs/command-line.md). */
async function allowForwarding(): Promise<void> {
  const metadata = { name: 'joiner-operator-temporal', namespace: service.namespace }
  const rule = (group: string, resource: string, verb: string) => ({
    apiGroups: [group],
    resources: [resource],
    verbs: [verb],
  })
  const rules = [
    rule('', 'services', 'get'),
    rule('discovery.k8s.io', 'endpointslices', 'list'),
    rule('', 'pods/portforward', 'create'),
    rule('', 'pods/portforward', 'get'),
  ]
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name }
  const subjects = [{ kind: 'ServiceAccount', name: operatorAccount, namespace }]
  await world.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: service.namespace } },
    { apiVersion, kind: 'Role', metadata, rules },
    { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects },
  )
}

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function run(env: Readonly<Record<string, string>>, args: readonly string[]): Promise<Ran> {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
  return new Promise((resolve) => {
    const own = { PATH, HOME, NODE_COMPILE_CACHE, ...env }
    execFile(process.execPath, [command, ...args], { env: own }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr }),
    )
  })
}

/** Two files: the cluster in one, and in the other a user whose token a program prints, as kubelogin does. */
async function twoFiles(): Promise<string> {
  const admin = parse(await readFile(world.cluster.adminKubeconfig, 'utf8')) as {
    readonly clusters: unknown
    readonly users: readonly { readonly user: { readonly token?: string; readonly tokenFile?: string } }[]
  }
  const { token, tokenFile } = admin.users[0]?.user ?? {}
  const secret = token ?? (await readFile(tokenFile ?? '', 'utf8')).trim()
  const [program, clusters, users] = [join(folder, 'login'), join(folder, 'clusters.yaml'), join(folder, 'users.yaml')]
  const credential = {
    kind: 'ExecCredential',
    apiVersion: 'client.authentication.k8s.io/v1',
    status: { token: secret },
  }
  await writeFile(program, `#!/bin/sh\ntest -n "$KUBERNETES_EXEC_INFO" && echo '${JSON.stringify(credential)}'\n`)
  await chmod(program, 0o755)
  const exec = { apiVersion: credential.apiVersion, command: './login', interactiveMode: 'IfAvailable' }
  const contexts = [{ name: 'entra', context: { cluster: 'local', user: 'entra' } }]
  await writeFile(clusters, stringify({ clusters: admin.clusters, 'current-context': 'entra', contexts }))
  await writeFile(users, stringify({ users: [{ name: 'entra', user: { exec } }] }))
  return [clusters, users].join(delimiter)
}

/** What each command's words are, and what is seen in its answer. */
const commands = (): readonly (readonly [readonly string[], RegExp])[] => [
  [['status'], /provisioning/],
  [['top', '--once'], new RegExp(node)],
  [['node', 'list'], new RegExp(node)],
  [['node', 'show', node], /NodeClaim/],
  [['node', 'hold', node, '--reason', 'x', '--until', '1h'], /held|hold/],
  [['node', 'release', node], /release|hold/],
  [['why', 'node', node], new RegExp(node)],
  [['why', 'pod', `default/${pod}`], new RegExp(pod)],
  [['history'], /NODECLAIM/],
  [['history', 'node', node], /VM accepted/],
  [['history', 'nodepool'], /general/],
  [['budgets'], /general/],
  [['cost'], /general +\d/],
  [['report'], /\| `general` +\|/],
  [['cost', '--by', 'namespace'], /\(idle\)/],
  [['capacity', 'list'], /nothing is left out/],
  [['capacity', 'clear', '--all'], /no exclusions match/],
  [['quarantine', 'list'], /nothing is quarantined/],
  [['quarantine', 'clear', '--all'], /nothing is quarantined/],
  [['pause', '--provisioning', '--reason', 'x'], /paused/],
  [['resume', '--provisioning'], /resumed|paused/],
  [['plan'], /PLAN/],
  [['consolidate', '--no-wait'], /nothing to do now|BEGUN/],
  [['quota'], /FAMILY/],
  [['instance-types', '--limit', '3'], /Standard_/],
  [['doctor'], /\d+ checks: \d+ ok/],
]

describe('every command with every kind of credentials', () => {
  const kinds: Readonly<Record<string, () => Promise<Record<string, string>>>> = {
    'an administrator': async () => ({ KUBECONFIG: world.cluster.adminKubeconfig }),
    'the ClusterRole joiner-operator': async () => ({ KUBECONFIG: world.installation.operatorKubeconfig }),
    "the planner's account, with its pod's environment": async () => ({
      ...world.installation.processSpec().env,
      KUBECONFIG: world.installation.kubeconfigOf('joiner-planner'),
    }),
    'two files and a plugin': async () => ({ KUBECONFIG: await twoFiles() }),
  }

  test.each(Object.keys(kinds))('%s', async (kind) => {
    const env = (await kinds[kind]?.()) ?? {}
    // What az login leaves is the caller's own; here it is the identity that the simulated Azure knows, and where that is: no such address is taken from a cluster.
    const identity = Object.entries(world.installation.processSpec().env ?? {}).filter(([name]) =>
      /^AZURE_(CLIENT_ID|TENANT_ID|FEDERATED_TOKEN_FILE|AUTHORITY_HOST)$|^NODE_EXTRA_CA_CERTS$|^JOINER_\w+_ENDPOINT$/.test(
        name,
      ),
    )
    const results: string[] = []
    for (const [words, expected] of commands()) {
      const ran = await run({ ...env, ...Object.fromEntries(identity) }, words)
      // Doctor's findings about this cluster are its own matter.
      const isGood = (ran.code === 0 || words[0] === 'doctor') && expected.test(ran.stdout)
      if (!isGood)
        results.push(`${words.join(' ')}: ${ran.code}\n${ran.stdout.slice(0, 600)}\n${ran.stderr.slice(0, 900)}`)
    }
    expect(results.join('\n---\n')).toBe('')
  })
})

test('what programs read is JSON or YAML and nothing else, and the same', async () => {
  const env = { KUBECONFIG: world.installation.operatorKubeconfig }
  for (const words of [
    ['status'],
    ['node', 'list'],
    ['why', 'node', node],
    ['history'],
    ['budgets'],
    ['cost'],
    ['capacity', 'list'],
    ['quarantine', 'list'],
  ]) {
    const [json, yaml] = await Promise.all([run(env, [...words, '-o', 'json']), run(env, [...words, '-o', 'yaml'])])
    const shape = (value: unknown) => Object.keys(value as object)
    expect(shape(parse(yaml.stdout)), words.join(' ')).toEqual(shape(JSON.parse(json.stdout)))
  }
})

test('a request is recorded with the user that Kubernetes takes the caller for, also an impersonated one', async () => {
  const env = { KUBECONFIG: await twoFiles() }
  const by = async (...options: readonly string[]) => {
    const { stdout } = await run(env, ['pause', '--provisioning', '--reason', 'who', '-o', 'json', ...options])
    const [{ inForce }] = JSON.parse(stdout) as [{ readonly inForce: readonly [{ readonly by: string }] }]
    return inForce[0].by
  }
  expect(await by()).toBe('admin')
  expect(await by('--as', 'alice', '--as-group', 'system:masters')).toBe('alice')
  await run(env, ['resume', '--provisioning'])
})

test('what is wrong with the way to the cluster is told with the remedy', async () => {
  const admin = { KUBECONFIG: world.cluster.adminKubeconfig }
  const nowhere = await run(admin, ['status', '-n', 'nowhere'])
  expect([nowhere.code, nowhere.stderr]).toEqual([
    1,
    expect.stringContaining('there is no ConfigMap joiner-settings in the namespace "nowhere"'),
  ])
  const context = await run(admin, ['status', '--context', 'elsewhere'])
  expect([context.code, context.stderr]).toEqual([
    1,
    expect.stringContaining('there is no context "elsewhere"; name one by --context: '),
  ])
  const missing = await run({}, ['status', '--kubeconfig', '/nowhere/config'])
  expect([missing.code, missing.stderr]).toEqual([
    1,
    expect.stringContaining('kubeconfig /nowhere/config: there is no such file; run az aks get-credentials'),
  ])
  const forbidden = await run(admin, ['status', '--as', 'nobody'])
  expect([forbidden.code, forbidden.stderr]).toEqual([
    1,
    expect.stringContaining('User "nobody" cannot get resource "configmaps"'),
  ])
})
