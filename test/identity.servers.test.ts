// Two clusters of one name in one namespace of Temporal, and two installations in one cluster: one works, the other says why it does not.
import { Client, type Connection } from '@temporalio/client'
import proto from '@temporalio/proto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { taskQueue } from '../core/task-queues.ts'
import { clusterName } from '../deploy/local/cluster.ts'
import { temporalSettings } from '../deploy/local/temporal.ts'
import { startLoops } from '../starter/bridge/cluster-loops.ts'
import { connectClient } from '../starter/temporal/connect.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { type Seen, World } from './world.ts'

let world: World
let connection: Connection

beforeAll(async () => {
  world = await World.start()
  connection = await connectClient(temporalSettings(world.cluster))
})

afterAll(async () => {
  await connection?.close()
  await world?.stop()
})

/** Taking over is an administrator's work. What the command prints, whether it did its work or not. */
const takeover = (...args: readonly string[]): Promise<string> =>
  world
    .joinerWith({ KUBECONFIG: world.cluster.adminKubeconfig }, 'admin', 'takeover', ...args)
    .catch((error: unknown) => {
      const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string }
      return `${stdout}${stderr}`
    })
const logOf = (name = 'joiner') => world.cluster.supervisor.tail(name, 10_000)
/** How often processes of that name have begun to work, of all that wrote to its log. */
const starts = async (name = 'joiner') => (await logOf(name)).split('"started workers"').length - 1
const uidOf = async (namespace: string) =>
  (await world.operator.api<Seen>('GET', `/api/v1/namespaces/${namespace}`)).metadata.uid

/** What `/readyz` of a process answers. */
async function readiness(name: string): Promise<string> {
  // The last one: a process that was started again serves elsewhere.
  const lines = (await logOf(name)).split('\n').filter((line) => line.includes('serving health and metrics'))
  const { port } = new URL((JSON.parse(lines.at(-1) ?? '{}') as { address: string }).address)
  return (await fetch(`http://127.0.0.1:${port}/readyz`)).text()
}

const untilSaid = (name: string, text: string) =>
  world.until(`${name} says ${text}`, async () => (await logOf(name)).split('\n').find((line) => line.includes(text)))

describe('the name of a cluster in Temporal', () => {
  const another = 'of-another-cluster'
  const startFor = (cluster: string, clusterUid: string) =>
    startLoops({ client: new Client({ connection }), cluster, clusterUid })

  test('of two clusters that start at once one gets it, with both loops', async () => {
    const [one, two] = await Promise.all(['one', 'two'].map((uid) => startFor('raced', uid)))
    expect(new Set([one?.kind, two?.kind])).toEqual(new Set(['foreign', 'ours']))
    const memos = ['provisioning', 'disruption'].map(async (loop) => {
      const { memo } = await world.temporal.workflow.getHandle(`${loop}/raced`).describe()
      return memo
    })
    const winner = { clusterUid: one?.kind === 'ours' ? 'one' : 'two' }
    expect(await Promise.all(memos)).toEqual([winner, winner])
  })

  test('a cluster whose name is in use does nothing and says so, once', async () => {
    await startFor(clusterName, another)
    world.startJoiner('joiner')
    const text = await untilSaid('joiner', `CLUSTER_NAME \\"${clusterName}\\" is in use`)
    for (const part of [another, await uidOf('kube-system'), 'joiner admin takeover --temporal', 'default'])
      expect(text).toContain(part)
    expect(await readiness('joiner')).toContain(`waiting for workers: CLUSTER_NAME "${clusterName}" is in use`)
    await world.apply(nodePool(), nodeClass(), deployment({ replicas: 1 }))
  })

  test('it is not taken over while a worker polls for it, nor unasked', async () => {
    await startFor('polled', another)
    // As many as a worker has, and more: a poll may go to a partition of the queue that its description does not show.
    const polls = Array.from({ length: 32 }, () =>
      connection.workflowService.pollWorkflowTaskQueue({
        namespace: 'default',
        identity: 'elsewhere',
        taskQueue: proto.temporal.api.taskqueue.v1.TaskQueue.create({ name: taskQueue('core', 'polled') }),
      }),
    )
    for (const poll of polls) poll.catch(() => undefined)
    await Promise.any(polls)
    expect(await takeover('--temporal', '--yes', '--cluster-name', 'polled')).toMatch(
      /"elsewhere".* polled for "polled" in the last 90 s.*stop it first/,
    )
    expect(await takeover('--temporal', '--cluster-name', clusterName)).toContain('--yes: nobody can be asked here')
  })

  test('it is taken over when no worker polls for it; then the cluster works', async () => {
    const said = await takeover('--temporal', '--yes', '--cluster-name', clusterName)
    for (const part of [another, `terminated provisioning/${clusterName}`, `terminated disruption/${clusterName}`])
      expect(said).toContain(part)
    expect(await world.lifecycles()).toEqual([])
    expect((await logOf()).match(/is in use/g)?.length).toBe(1)
    await world.cluster.supervisor.stop('joiner')
    // One that was not let in does not begin at its end either.
    expect(await starts()).toBe(0)
    world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '2s' })
    await world.untilRunning(1)
    expect(await takeover('--temporal', '--yes', '--cluster-name', clusterName)).toContain("is this cluster's already")
  })
})

interface Crd {
  readonly metadata: { readonly generation: number; readonly annotations: Readonly<Record<string, string>> }
}

describe('two installations in one cluster', () => {
  const crdPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const crd = (name: string) => world.operator.api<Crd>('GET', `${crdPath}/${name}.karpenter.sh`)
  const marker = async () =>
    JSON.parse((await crd('nodepools')).metadata.annotations['joiner.sh/installation'] ?? '{}') as Readonly<
      Record<string, string>
    >
  const generations = () =>
    Promise.all(['nodepools', 'nodeclaims'].map(async (name) => (await crd(name)).metadata.generation))
  const mark = (text: string) =>
    world.operator.kubectl([
      'annotate',
      '--overwrite',
      'crd',
      'nodepools.karpenter.sh',
      `joiner.sh/installation${text}`,
    ])

  const others = [
    { name: 'second', settings: { JOINER_RELEASE: 'second', JOINER_NAMESPACE: 'second' } },
    { name: 'third', settings: { JOINER_RELEASE: 'third' } },
  ]

  /** The other namespace, and what a chart there grants: the account reads the UID of its own namespace. */
  const metadata = { name: 'second', namespace: 'second' }
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'second' }
  const secondNamespace = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'second' } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef,
      subjects: [{ kind: 'ServiceAccount', name: 'joiner-united', namespace: 'joiner' }],
    },
  ]

  test('the first names itself on the CRDs', async () => {
    expect(await marker()).toEqual({ release: 'joiner', namespace: 'joiner', uid: await uidOf('joiner') })
  })

  test('others, in another namespace and in the same, refuse, say who works, and write nothing on the CRDs', async () => {
    await world.apply(...secondNamespace)
    for (const { name, settings } of others) world.startJoiner(name, { JOINER_CONVERSION_PORT: '0', ...settings })
    for (const { name } of others) {
      const text = await untilSaid(name, '; trying again')
      expect(text).toContain('names release \\"joiner\\" in namespace \\"joiner\\"')
      expect(text).toContain(`joiner admin takeover --release ${name}`)
      expect(await readiness(name)).toMatch(/waiting for the CRDs: .*annotation joiner.sh\/installation/)
    }
    // An installation that takes the CRDs for its own puts this back.
    const [pools = 0, claims = 0] = await generations()
    const wiped = { spec: { conversion: { webhook: { clientConfig: { caBundle: null } } } } }
    await world.operator.api('PATCH', `${crdPath}/nodepools.karpenter.sh`, wiped)
    await world.until('the first one has put it back', async () => (await generations())[0] === pools + 2)
    for (const { name } of others) {
      await world.cluster.supervisor.stop(name)
      expect(await starts(name)).toBe(0)
      expect((await logOf(name)).match(/; trying again/g)?.length).toBe(1)
    }
    expect(await generations()).toEqual([pools + 2, claims])
  })

  test('a marker that an upgrade of the CRDs took away is written again at once', async () => {
    await mark('-')
    await world.until('the marker is back', async () => (await marker())['release'] === 'joiner')
  })

  test('takeover shows both and asks; then the first ends in order', async () => {
    const args = ['--release', 'second', '--joiner-namespace', 'second'] as const
    const unasked = await takeover(...args)
    expect(unasked).toContain('now:   release "joiner" in namespace "joiner"')
    expect(unasked).toContain('--yes: nobody can be asked here')
    expect((await marker())['release']).toBe('joiner')
    expect(await takeover(...args, '--yes')).toContain('then:  release "second" in namespace "second"')
    expect(await marker()).toEqual({ release: 'second', namespace: 'second', uid: await uidOf('second') })
    await world.until('the first one has ended', async () => world.cluster.supervisor.pids['joiner'] === undefined)
    expect(await logOf()).toMatch(/this process ends, since .*names release \\"second\\" in namespace \\"second\\"/)
  })

  test('a namespace that was deleted and made again has its CRDs back without a takeover', async () => {
    expect(await takeover('--yes')).toContain('then:  release "joiner" in namespace "joiner"')
    expect(await takeover('--yes')).toContain('already')
    const gone = { release: 'joiner', namespace: 'joiner', uid: 'of-the-namespace-before' }
    await mark(`=${JSON.stringify(gone)}`)
    // The Lease of the bridge is held by a process that is gone, too, whose clock was wrong.
    const spec = {
      holderIdentity: 'elsewhere',
      renewTime: new Date(Date.now() + 3_600_000).toISOString().replace('Z', '000Z'),
    }
    await world.operator.api('PATCH', '/apis/coordination.k8s.io/v1/namespaces/joiner/leases/joiner-bridge', { spec })
    const led = (await logOf()).split('this process bridges').length
    world.startJoiner('joiner')
    await world.until('the marker is ours', async () => (await marker())['uid'] === (await uidOf('joiner')))
    await world.until('it bridges', async () => (await logOf()).split('this process bridges').length > led)
  })
})
