// Commands with every kind of credentials, and nothing but a kubeconfig.
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { type Environment, runHere, runProcess } from './command-line.ts'
import type { Prepared } from './prepared.ts'
import { endReachable, makeReachable } from './reachable.ts'

/** Two files: the cluster in one, and in the other a user whose token a program prints, as kubelogin does. */
async function twoFiles({ world, folder }: Prepared): Promise<string> {
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

type Words = readonly [readonly string[], RegExp]

/** What each command's words are, and what is seen in its answer. */
const commands = (node: string, pod: string): readonly Words[] => [
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
  [['history', 'report'], /\| `general` +\|/],
  [['cost', '--group-by', 'namespace'], /\(idle\)/],
  [['blocked', 'capacity', 'list'], /nothing is left out/],
  [['blocked', 'capacity', 'clear', '--all'], /no exclusions match/],
  [['blocked', 'objects', 'list'], /nothing is quarantined/],
  [['blocked', 'objects', 'clear', '--all'], /nothing is quarantined/],
  [['pause', '--provisioning', '--reason', 'x'], /paused/],
  [['resume', '--provisioning'], /resumed|paused/],
  [['plan'], /PLAN/],
  [['consolidate', '--no-wait'], /nothing to do now|BEGUN/],
  [['blocked', 'quota'], /FAMILY/],
  [['instance-types', '--limit', '3'], /Standard_/],
  [['doctor'], /\d+ checks: \d+ ok/],
]

/** What az login leaves is the caller's own; here it is the identity that the simulated Azure knows, and where that is: no such address is taken from a cluster. */
function identity({ world }: Prepared): Environment {
  const own =
    /^AZURE_(CLIENT_ID|TENANT_ID|FEDERATED_TOKEN_FILE|AUTHORITY_HOST)$|^NODE_EXTRA_CA_CERTS$|^JOINER_\w+_ENDPOINT$/
  return Object.fromEntries(
    Object.entries(world.installation.processSpec().env ?? {}).filter(([name]) => own.test(name)),
  )
}

export function accessCases(prepared: () => Prepared): void {
  let all: readonly Words[]

  beforeAll(async () => {
    const { world } = prepared()
    await makeReachable(world)
    const [pod] = await world.list('pods')
    all = commands(pod?.spec.nodeName ?? '', pod?.metadata.name ?? '')
  })

  afterAll(() => endReachable(prepared().world))

  const kinds: Readonly<Record<string, (where: Prepared) => Promise<Environment>>> = {
    'an administrator': async ({ admin }) => admin,
    'the ClusterRole joiner-operator': async ({ world }) => ({ KUBECONFIG: world.installation.operatorKubeconfig }),
    "the planner's account, with its pod's environment": async ({ world }) => ({
      ...world.installation.processSpec().env,
      KUBECONFIG: world.installation.kubeconfigOf('joiner-planner'),
    }),
    'two files and a plugin': async (where) => ({ KUBECONFIG: await twoFiles(where) }),
  }

  /** What the commands did not print that was expected of them. */
  async function wrong(env: Environment, words: readonly Words[]): Promise<string> {
    const results: string[] = []
    for (const [args, expected] of words) {
      // This one computes in a thread, which has the environment that the process began with.
      const run = args[0] === 'instance-types' ? runProcess : runHere
      const ran = await run({ ...env, ...identity(prepared()) }, ...args)
      // Doctor's findings about this cluster are its own matter.
      const isGood = (ran.code === 0 || args[0] === 'doctor') && expected.test(ran.stdout)
      if (!isGood)
        results.push(`${args.join(' ')}: ${ran.code}\n${ran.stdout.slice(0, 600)}\n${ran.stderr.slice(0, 900)}`)
    }
    return results.join('\n---\n')
  }

  describe('every command with every kind of credentials', () => {
    test.each(Object.keys(kinds))('%s', async (kind) => {
      expect(await wrong((await kinds[kind]?.(prepared())) ?? {}, all)).toBe('')
    })
  })

  test('the program itself needs nothing but a kubeconfig', async () => {
    const { code, stdout } = await runProcess(prepared().admin, 'status')
    expect([code, stdout]).toEqual([0, expect.stringContaining('provisioning')])
  })

  test('what programs read is JSON or YAML and nothing else, and the same', async () => {
    for (const words of [
      ['status'],
      ['node', 'list'],
      ['history'],
      ['budgets'],
      ['cost'],
      ['blocked', 'capacity', 'list'],
      ['blocked', 'objects', 'list'],
    ]) {
      const [json, yaml] = [
        await prepared().text(...words, '-o', 'json'),
        await prepared().text(...words, '-o', 'yaml'),
      ]
      const shape = (value: unknown) => Object.keys(value as object)
      expect(shape(parse(yaml)), words.join(' ')).toEqual(shape(JSON.parse(json)))
    }
  })

  test('a request is recorded with the user that Kubernetes takes the caller for, also an impersonated one', async () => {
    const env = { KUBECONFIG: await twoFiles(prepared()) }
    const by = async (...options: readonly string[]) => {
      const { stdout } = await runHere(env, 'pause', '--provisioning', '--reason', 'who', '-o', 'json', ...options)
      const [{ inForce }] = JSON.parse(stdout) as [{ readonly inForce: readonly [{ readonly by: string }] }]
      return inForce[0].by
    }
    expect(await by()).toBe('admin')
    expect(await by('--as', 'alice', '--as-group', 'system:masters')).toBe('alice')
    await runHere(env, 'resume', '--provisioning')
  })

  test('what is wrong with the way to the cluster is named with the remedy', async () => {
    const said = async (env: Environment, ...args: readonly string[]) => {
      const { code, stderr } = await runHere(env, 'status', ...args)
      return [code, stderr]
    }
    const { admin } = prepared()
    expect(await said(admin, '--joiner-namespace', 'nowhere')).toEqual([
      1,
      expect.stringContaining('there is no ConfigMap joiner-settings in the namespace "nowhere"'),
    ])
    expect(await said(admin, '--context', 'elsewhere')).toEqual([
      1,
      expect.stringContaining('there is no context "elsewhere"; name one by --context: '),
    ])
    expect(await said({}, '--kubeconfig', '/nowhere/config')).toEqual([
      1,
      expect.stringContaining('kubeconfig /nowhere/config: there is no such file; run az aks get-credentials'),
    ])
    expect(await said(admin, '--as', 'nobody')).toEqual([
      1,
      expect.stringContaining('User "nobody" cannot get resource "configmaps"'),
    ])
  })
}
