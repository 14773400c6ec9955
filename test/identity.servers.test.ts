// Two installations in one cluster, and two clusters of one name in one namespace of Temporal: one works, the other says why it does not.
import { Client, type Connection } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clusterName } from '../deploy/local/cluster.ts'
import { temporalSettings } from '../deploy/local/temporal.ts'
import { startLoops } from '../starter/bridge/cluster-loops.ts'
import { connectClient } from '../starter/temporal/connect.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { patient } from './runner/patience.ts'
import { World } from './world.ts'

let world: World
let other: World
let connection: Connection

beforeAll(async () => {
  ;[world, other] = await Promise.all([World.start(), World.start()])
  connection = await connectClient(temporalSettings(world.cluster))
})

afterAll(async () => {
  await connection?.close()
  await Promise.all([world?.stop(), other?.stop()])
})

interface Crd {
  readonly metadata: { readonly resourceVersion: string; readonly annotations: Readonly<Record<string, string>> }
}

const crdPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const crds = async () =>
  Promise.all(
    ['nodepools', 'nodeclaims'].map((name) => world.operator.api<Crd>('GET', `${crdPath}/${name}.karpenter.sh`)),
  )
const marker = async () =>
  JSON.parse((await crds())[0]?.metadata.annotations['joiner.sh/installation'] ?? '{}') as Readonly<
    Record<string, string>
  >
/** Taking over is an administrator's work. */
const takeover = (of: World, settings: Readonly<Record<string, string>>, ...args: readonly string[]) =>
  of.joinerWith({ KUBECONFIG: of.cluster.adminKubeconfig, ...settings }, 'takeover', ...args)
const logOf = (of: World, name = 'joiner') => of.cluster.supervisor.tail(name, 10_000)
/** How often processes of that name have begun to work, of all that wrote to its log. */
const starts = async (of: World, name = 'joiner') => (await logOf(of, name)).split('"started workers"').length - 1
const runs = async (of: World, name = 'joiner') => (await starts(of, name)) > 0

async function uidOf(of: World, namespace: string): Promise<string> {
  const { metadata } = await of.operator.api<{ metadata: { uid: string } }>('GET', `/api/v1/namespaces/${namespace}`)
  return metadata.uid
}

/** What `/readyz` of a process answers. */
async function readiness(of: World, name: string): Promise<string> {
  // The last one: a process that was started again serves elsewhere.
  const lines = (await logOf(of, name)).split('\n').filter((line) => line.includes('serving health and metrics'))
  const { port } = new URL((JSON.parse(lines.at(-1) ?? '{}') as { address: string }).address)
  return (await fetch(`http://127.0.0.1:${port}/readyz`)).text()
}

/** Starts Joiner as another installation would be, and waits until it has said why it does no work. Returns that line. */
async function refused(name: string, settings: Readonly<Record<string, string>>): Promise<string> {
  const before = (await logOf(world, name)).length
  world.startJoiner(name, { JOINER_CONVERSION_PORT: '0', ...settings })
  return world.until(`${name} says why it does not work`, async () =>
    (await logOf(world, name))
      .slice(before)
      .split('\n')
      .find((line) => line.includes('; trying again')),
  )
}

describe('two clusters of one name, started at once on an empty namespace of Temporal', () => {
  let winner: World
  let loser: World

  test('one works, and the other does nothing and says so', async () => {
    world.startJoiner('joiner')
    other.startJoiner('joiner', world.cluster.temporalEnv)
    await world.until('one of them works', async () => (await runs(world)) || runs(other))
    ;[winner, loser] = (await runs(world)) ? [world, other] : [other, world]
    const uids = await Promise.all([winner, loser].map((each) => uidOf(each, 'kube-system')))
    const text = await world.until('the other one says why it does not', async () =>
      (await logOf(loser)).split('\n').find((line) => line.includes(`CLUSTER_NAME \\"${clusterName}\\" is in use`)),
    )
    for (const part of [...uids, 'joiner takeover --temporal', 'default']) expect(text).toContain(part)
    expect(await readiness(loser, 'joiner')).toContain(`waiting for workers: CLUSTER_NAME "${clusterName}" is in use`)
    expect(await runs(loser)).toBe(false)
    for (const loop of ['provisioning', 'disruption'] as const)
      expect((await world.loop(loop).describe()).memo).toEqual({ clusterUid: uids[0] })
  })

  test('the lifecycles of the first are carried out by the first alone', async () => {
    await winner.apply(nodePool(), nodeClass(), deployment())
    await winner.untilReady('general')
    await winner.scale('inflate', 2)
    await winner.untilRunning(2)
    await winner.scale('inflate', 0)
    await winner.untilNothingLeft()
    expect(await loser.list('nodeclaims')).toEqual([])
    expect((await logOf(loser)).match(/is in use/g)?.length).toBe(1)
    expect(loser.cluster.supervisor.pids['joiner']).toBeDefined()
  })

  test('the name is not taken over while somebody polls for it, and is when nobody does', async () => {
    const takeOver = (...args: readonly string[]) =>
      takeover(loser, world.cluster.temporalEnv, '--temporal', '--yes', ...args).catch(
        (error: unknown) => (error as { stderr: string }).stderr,
      )
    expect(await takeOver('--cluster', clusterName)).toMatch(/polled for "local" in the last 90 s.*stop it first/)
    // A name whose cluster is gone: its loops run, and nobody works for them.
    const client = new Client({ connection })
    await startLoops({ client, cluster: 'gone', clusterUid: 'of-a-cluster-that-is-gone' })
    await loser.cluster.supervisor.stop('joiner')
    // One that is not let in does not begin at its end either.
    expect(await runs(loser)).toBe(false)
    loser.startJoiner('joiner', { ...world.cluster.temporalEnv, CLUSTER_NAME: 'gone' })
    await world.until('the name is in use', async () => (await logOf(loser)).includes('of-a-cluster-that-is-gone'))
    const unasked = await takeover(loser, world.cluster.temporalEnv, '--temporal', '--cluster', 'gone').catch(
      (error: unknown) => (error as { stderr: string }).stderr,
    )
    expect(unasked).toContain('--yes: nobody can be asked here')
    const said = await takeOver('--cluster', 'gone')
    for (const part of ['of-a-cluster-that-is-gone', 'terminated provisioning/gone', 'terminated disruption/gone'])
      expect(said).toContain(part)
    await world.until('the other cluster works under that name', () => runs(loser))
    expect(await takeOver('--cluster', 'gone')).toContain("is this cluster's already")
    await loser.cluster.supervisor.stop('joiner')
    if (winner === other) {
      await winner.cluster.supervisor.stop('joiner')
      for (const loop of ['provisioning', 'disruption'] as const) await world.loop(loop).terminate()
      const before = await starts(world)
      world.startJoiner('joiner')
      await world.until('the first one works', async () => (await starts(world)) > before)
    }
  })
})

describe('two installations in one cluster', () => {
  const second = { JOINER_RELEASE: 'second', JOINER_NAMESPACE: 'second', JOINER_RESYNC_INTERVAL: '2s' }

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
    await world.until('the first one works', () => runs(world))
    expect(await marker()).toEqual({ release: 'joiner', namespace: 'joiner', uid: await uidOf(world, 'joiner') })
  })

  test.each([
    ['another namespace', second, 'second'],
    ['the same namespace', { JOINER_RELEASE: 'third' }, 'third'],
  ])('one in %s refuses, says who works, and writes nothing on the CRDs', async (_where, settings, name) => {
    await world.apply(...secondNamespace)
    const before = await crds()
    const text = await refused(name, settings)
    expect(text).toContain('names release \\"joiner\\" in namespace \\"joiner\\"')
    expect(text).toContain(`joiner takeover --release ${settings.JOINER_RELEASE}`)
    expect(await readiness(world, name)).toMatch(/waiting for the CRDs: .*annotation joiner.sh\/installation/)
    // Some 200 writes a second were seen between two that both wrote.
    await new Promise((resolve) => setTimeout(resolve, 5000))
    const versions = (found: readonly Crd[]) => found.map(({ metadata }) => metadata.resourceVersion)
    expect(versions(await crds())).toEqual(versions(before))
    expect(await runs(world, name)).toBe(false)
    expect((await logOf(world, name)).match(/; trying again/g)?.length).toBe(1)
    await world.cluster.supervisor.stop(name)
  })

  test('takeover shows both and asks; then the second works, and the first ends in order and refuses when it is started again', async () => {
    await world.cluster.supervisor.stop('joiner')
    const before = await starts(world)
    world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '2s' })
    await world.until('the first one works again', async () => (await starts(world)) > before)
    const args = ['--release', 'second', '--namespace', 'second'] as const
    const unasked = await takeover(world, {}, ...args).catch(
      (error: unknown) => error as { stderr: string; stdout: string },
    )
    expect(unasked).toMatchObject({
      stdout: expect.stringContaining('now:   release "joiner" in namespace "joiner"'),
      stderr: expect.stringContaining('--yes: nobody can be asked here'),
    })
    expect((await marker())['release']).toBe('joiner')
    expect(await takeover(world, {}, ...args, '--yes')).toContain('then:  release "second" in namespace "second"')
    expect(await marker()).toEqual({ release: 'second', namespace: 'second', uid: await uidOf(world, 'second') })
    await world.until('the first one has ended', async () => world.cluster.supervisor.pids['joiner'] === undefined)
    expect(await logOf(world)).toMatch(
      /this process ends, since .*names release \\"second\\" in namespace \\"second\\"/,
    )
    expect(await refused('joiner', {})).toContain('names release \\"second\\"')
    await world.cluster.supervisor.stop('joiner')
    expect(await takeover(world, {}, '--yes')).toContain('then:  release "joiner" in namespace "joiner"')
    world.startJoiner('joiner')
    await world.until('the first one works again', async () => !(await readiness(world, 'joiner')).includes('waiting'))
    expect(await takeover(world, {}, '--yes')).toContain('already')
  })

  test('a marker that an upgrade of the CRDs took away is written again at once', async () => {
    await world.operator.kubectl(['annotate', 'crd', 'nodepools.karpenter.sh', 'joiner.sh/installation-'])
    await world.until('the marker is back', async () => (await marker())['release'] === 'joiner')
  })

  test('a namespace that was deleted and made again has its CRDs back without a takeover', async () => {
    await world.cluster.supervisor.stop('joiner')
    const gone = JSON.stringify({ release: 'joiner', namespace: 'joiner', uid: 'of-the-namespace-before' })
    await world.operator.kubectl([
      'annotate',
      '--overwrite',
      'crd',
      'nodepools.karpenter.sh',
      `joiner.sh/installation=${gone}`,
    ])
    world.startJoiner('joiner')
    await world.until('the marker is ours', async () => (await marker())['uid'] === (await uidOf(world, 'joiner')))
  })
})

describe('the Lease of the bridge, held by somebody whose clock is wrong', () => {
  const path = '/apis/coordination.k8s.io/v1/namespaces/joiner/leases/joiner-bridge'

  test.each([-60_000, 60_000])(
    'by %d ms: nobody takes it while it is renewed, and Joiner does soon after',
    async (skewMs) => {
      await world.cluster.supervisor.stop('joiner')
      const renew = () =>
        world.operator.api('PATCH', path, {
          spec: {
            holderIdentity: 'elsewhere',
            leaseDurationSeconds: 10,
            renewTime: new Date(Date.now() + skewMs).toISOString().replace('Z', '000Z'),
          },
        })
      await renew()
      const before = (await logOf(world)).length
      const leads = async () => (await logOf(world)).slice(before).includes('became bridge leader')
      world.startJoiner('joiner')
      for (let renewals = 0; renewals < 10; renewals++) {
        await renew()
        await new Promise((resolve) => setTimeout(resolve, 2000))
        expect(await leads()).toBe(false)
      }
      const died = Date.now()
      await world.until('Joiner bridges', leads)
      const tookMs = Date.now() - died
      console.log(`skew ${skewMs} ms: taken ${tookMs} ms after the last renewal but one`)
      expect(tookMs).toBeGreaterThan(5000)
      // Whoever went by the other's clock would wait for a minute more.
      expect(tookMs).toBeLessThan(patient(45_000))
    },
  )
})
