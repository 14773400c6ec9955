// NodeClaims are lost while Joiner is away (a restore of etcd, a CRD that was forced away): the machines that run pods get them again.
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { parseWithheld, withheldMapName, withheldText } from '../../../api/withheld-machines.ts'
import { lifecycleId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { lifecycleStatusQuery } from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import type { FastWorld } from '../../fast/world/fast-world.ts'
import { isTrue, type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, fastTest, test } from '../scenario.ts'

let world: World

const pool = (name: string) => nodePool({ name, consolidateAfter: 'Never', budget: '1' })
const mostlyThere = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'apart', namespace: 'default' },
  spec: { minAvailable: 2, selector: { matchLabels: { app: 'apart' } } },
}
const on = (name: string) => ({ 'karpenter.sh/nodepool': name })
const longMs = 20 * 60_000

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  await world.apply(
    pool('general'),
    pool('gone'),
    nodeClass(),
    mostlyThere,
    deployment({ name: 'apart', replicas: 3, apart: true, nodeSelector: on('general') }),
    deployment({ name: 'other', replicas: 1, nodeSelector: on('gone') }),
  )
  await isWhole(4)
})

afterAll(() => world?.stop())

const claims = () => world.list('nodeclaims')
const nameOf = ({ metadata }: Seen) => metadata.name
const namesOf = async (kind: 'nodeclaims' | 'nodes') => (await world.list(kind)).map(nameOf).sort()
const podUids = async () => (await world.list('pods')).map(({ metadata }) => metadata.uid).sort()
const vmNames = async () => (await world.azure()).virtualMachines.map(({ name }) => name).sort()
/** The names of the VMs that were asked for, as often as they were. */
const puts = async () => (await world.journal()).filter(({ method }) => method === 'PUT').map(({ name }) => name)

function isWhole(count: number) {
  return world.until(
    `${count} nodes are ready`,
    async () => {
      const found = await claims()
      return found.length === count && found.every((claim) => isTrue(claim, 'Initialized'))
    },
    longMs,
  )
}

/** Removes NodeClaims past their lifecycles while Joiner is away. `meanwhile`: what else happens then. */
async function lose(
  names: readonly string[],
  cascade: 'orphan' | 'background',
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  await world.crash()
  for (const name of names) {
    await world.operator.kubectl(['patch', 'nodeclaim', name, '--type=merge', '-p', '{"metadata":{"finalizers":[]}}'])
    await world.operator.kubectl(['delete', 'nodeclaim', name, `--cascade=${cascade}`])
  }
  await meanwhile()
  world.startJoiner()
}

/** Waits until the stored list of machines without NodeClaims says something. */
const isSaid = (text: string) =>
  world.until(
    text,
    async () => {
      const { data } = await world.operator.api<{ readonly data: { readonly Machines: string } }>('GET', stored)
      return parseWithheld(data).found.machines.map(withheldText).join().includes(text)
    },
    longMs,
  )
const stored = `/api/v1/namespaces/joiner/configmaps/${withheldMapName}`

const claimOn = async (nodePoolName: string) =>
  nameOf((await claims()).find(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === nodePoolName) as Seen)

test('NodeClaims that were lost are back after ten minutes, with their pods running and no other VM', async () => {
  const names = await namesOf('nodeclaims')
  const before = [await podUids(), await vmNames(), await puts()]
  await lose(names, 'orphan')
  const startedMs = Date.now()
  await isSaid('gets a NodeClaim again at')
  expect(await claims()).toEqual([])
  await isWhole(4)
  expect(Date.now() - startedMs).toBeGreaterThan(10 * 60_000)
  expect(await namesOf('nodeclaims')).toEqual(names)
  expect([await podUids(), await vmNames(), await puts()]).toEqual(before)
  const uids = new Map((await claims()).map(({ metadata }) => [metadata.name, metadata.uid]))
  for (const { metadata } of await world.list('nodes')) {
    const owner = { kind: 'NodeClaim', uid: uids.get(metadata.name.slice(4)) }
    expect(metadata).toMatchObject({ ownerReferences: [owner] })
    expect(metadata.finalizers).toContain('karpenter.sh/termination')
  }
  const { virtualMachines } = await world.azure()
  expect(virtualMachines.map(({ name, tags }) => [name.slice(4), tags?.['joiner.sh_nodeclaim-uid']])).toEqual(
    expect.arrayContaining([...uids]),
  )
})

test('one whose NodePool is gone waits for it; an operator need not wait for another', async () => {
  const [gone, general] = [await claimOn('gone'), await claimOn('general')]
  const before = [await podUids(), await vmNames(), await puts()]
  await lose([gone, general], 'orphan', async () => {
    await world.operator.kubectl(['patch', 'nodepool', 'gone', '--type=merge', '-p', '{"metadata":{"finalizers":[]}}'])
    await world.operator.kubectl(['delete', 'nodepool', 'gone', '--cascade=orphan'])
  })
  await isSaid('gets no NodeClaim: its NodePool "gone" does not exist; make the NodePool again')
  const plan = await world.joiner('admin', 'adopt', '--dry-run')
  expect(plan).toMatch(new RegExp(`^aks-${general} .* 1 +adopt$`, 'm'))
  expect(plan).toMatch(new RegExp(`^aks-${gone} .* stays: its NodePool "gone" does not exist`, 'm'))
  const refused = (...args: readonly string[]) => expect(world.joiner('admin', 'adopt', ...args)).rejects
  await refused(general).toMatchObject({ code: 1, stderr: expect.stringContaining('--yes: nobody can be asked here') })
  await refused('nobody').toMatchObject({ code: 1, stderr: expect.stringContaining('nobody: not known as VMs') })
  await refused(gone, '--yes').toMatchObject({ code: 1 })
  await refused('--delete').toMatchObject({ code: 2 })
  expect(await world.joiner('admin', 'adopt', general, '--yes')).toContain(`NodeClaim ${general}: its VM is adopted`)
  await isWhole(3)
  await world.apply(pool('gone'))
  await isWhole(4)
  expect([await podUids(), await vmNames(), await puts()]).toEqual(before)
})

test('one that is to end is drained', async () => {
  const name = await claimOn('general')
  const pods = await podUids()
  await lose([name], 'orphan')
  await isSaid(`VM aks-${name}: its Node aks-${name} is Ready and runs 1 pod`)
  expect(await world.joiner('admin', 'adopt', '--delete', `aks-${name}`, '--yes')).toContain(
    'its VM is drained and ends',
  )
  await world.until('it is gone', async () => !(await vmNames()).includes(`aks-${name}`))
  await isWhole(4)
  expect([await namesOf('nodeclaims'), await namesOf('nodes')].flat()).not.toContain(name)
  expect((await podUids()).filter((uid) => pods.includes(uid))).toHaveLength(3)
  const evicted = (await world.list('events')).filter(({ reason }) => reason === 'Evicted')
  expect(evicted).toHaveLength(1)
})

test('Nodes that are being deleted by then are drained within the budget of their NodePool, and end', async () => {
  const names = (await namesOf('nodeclaims')).filter((name) => name.startsWith('general-'))
  await lose(names, 'background')
  await isSaid('gets a NodeClaim again to be drained and to end, since its Node is being deleted, at')
  let fewest = 3
  await world.until(
    'all of them are gone',
    async () => {
      fewest = Math.min(fewest, await world.running('apart'))
      const left = await vmNames()
      return names.every((name) => !left.includes(`aks-${name}`))
    },
    3 * longMs,
  )
  await isWhole(4)
  await world.until('3 pods run', async () => (await world.running('apart')) === 3)
  expect(fewest).toBeGreaterThanOrEqual(2)
  expect(
    new Set(
      (await world.list('events'))
        .filter(({ reason }) => reason === 'Evicted')
        .map(({ involvedObject }) => involvedObject?.name),
    ).size,
  ).toBe(4)
})

fastTest(
  'a NodeClaim whose deletion a restore of etcd takes back while Joiner is away stays, with its node',
  async () => {
    const { objects } = (world.servers.fast as FastWorld).cluster.server
    const bound = async (minAvailable: number) => {
      await world.apply({ ...mostlyThere, spec: { ...mostlyThere.spec, minAvailable } })
      const allows = () =>
        (objects.of('poddisruptionbudgets')[0]?.['status'] as Json | undefined)?.['disruptionsAllowed']
      await world.until(`${minAvailable} pods must be there`, async () => allows() === 3 - minAvailable)
    }
    await world.until('three pods run', async () => (await world.running('apart')) === 3)
    await bound(3)
    const claim = (await claims()).find(
      ({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'general',
    ) as Seen
    const pods = await podUids()
    const backup = ['/apis/karpenter.sh/v1/nodeclaims/', '/api/v1/nodes/aks-']
      .map((path) => `${path}${nameOf(claim)}`)
      .map((path) => [path, objects.require(path)] as const)
    const handle = world.temporal.workflow.getHandle(lifecycleId(clusterName, claim.metadata))
    const status = () => handle.query(lifecycleStatusQuery)
    await world.operator.kubectl(['delete', 'nodeclaim', nameOf(claim), '--wait=false'])
    await world.until('its drain is held up', async () => (await status()).drain !== undefined)
    await world.crash()
    for (const [path, object] of backup) objects.store(path, object)
    world.startJoiner()
    await world.until('it rests', async () => (await status()).phase === 'Ready')
    expect(await podUids()).toEqual(pods)
    await bound(2)
  },
)
