// What no lifecycle cleans up: leaks are planted behind Joiner's back, and passes of garbage collection take them, and nothing else.
import { randomUUID } from 'node:crypto'
import { osDiskName } from '../../../activities/azure/launch/os-disk-name.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool, standaloneClaim } from '../../applied-objects.ts'
import type { ArmSession } from '../../arm/arm-session.ts'
import { endOf } from '../../observed/lifecycle-ends.ts'
import { maintained } from '../../observed/maintenance-passes.ts'
import { isTrue, type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World
let arm: ArmSession
let clusterUid: string

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  arm = await world.arm()
  clusterUid = (await world.operator.api<Seen>('GET', '/api/v1/namespaces/kube-system')).metadata.uid
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ replicas: 1 }), standalone)
  await world.untilReady('general')
})

afterAll(async () => {
  await arm?.close()
  await world?.stop()
})

/** A claim of nobody's: no NodePool made it. It never becomes ready. */
const standalone = standaloneClaim('standalone', {
  requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D2s_v5'] }],
  taints: [{ key: 'standalone', effect: 'NoSchedule' }],
  startupTaints: [{ key: 'never-taken-off', effect: 'NoSchedule' }],
})

const tagsOf = (cluster: string, changes: Readonly<Record<string, string>> = {}) => ({
  'karpenter.azure.com_cluster': cluster,
  'karpenter.sh_nodepool': 'general',
  'joiner.sh_nodeclaim-uid': randomUUID(),
  ...changes,
})

const pass = () => maintained(world)

async function logged(message: string): Promise<readonly Record<string, unknown>[]> {
  const lines = (await world.cluster.supervisor.tail('joiner', 100_000)).split('\n')
  return lines.filter((line) => line.includes(message)).map((line) => JSON.parse(line) as Record<string, unknown>)
}

async function collected(): Promise<Readonly<Record<string, number>>> {
  const values = Object.entries(await world.metrics())
  return Object.fromEntries(
    values.flatMap(([name, value]) => {
      const [, resource] = /^joiner_garbage_collected_total\{resource="(\w+)"\}$/.exec(name) ?? []
      return resource === undefined ? [] : [[resource, value]]
    }),
  )
}

const vmNames = async () => (await world.azure()).virtualMachines.map(({ name }) => name)
const claimNames = async () => (await world.list('nodeclaims')).map(({ metadata }) => metadata.name)

test('leaks go; what is owned, of another cluster or too young stays', async () => {
  await world.untilRunning(1)
  await world.until('the standalone claim has a Node', async () => (await world.list('nodes')).length === 2)
  const owned = await world.azure()
  const disk = (claim: string) => osDiskName(clusterUid, claim, 1)
  await arm.plantVm('aks-orphan', tagsOf(clusterName), disk('orphan'))
  const { 'joiner.sh_nodeclaim-uid': _, ...karpenters } = tagsOf(clusterName)
  await arm.plantVm('aks-young', karpenters, 'aks-young')
  const foreign = osDiskName('other', 'foreign', 1)
  await arm.plantVm('aks-foreign', tagsOf('other'), foreign)
  await arm.plantVm('aks-gone', tagsOf('other'), osDiskName('other', 'gone', 1))
  await arm.deleteVm('aks-gone')
  expect(await collected()).toEqual({
    virtualMachine: 0,
    networkInterface: 0,
    disk: 0,
    nodeClaim: 0,
    node: 0,
    aksMachine: 0,
  })

  await pass()
  await world.until('the orphan is gone', async () => !(await vmNames()).includes('aks-orphan'))
  await pass()
  const left = await world.azure()
  expect([left.networkInterfaces, left.disks]).toEqual([
    expect.arrayContaining(['aks-orphan-1']),
    expect.arrayContaining([disk('orphan')]),
  ])
  await world.until('NIC and disk of the orphan are gone', async () => {
    await pass()
    const { networkInterfaces, disks } = await world.azure()
    return !networkInterfaces.includes('aks-orphan-1') && !disks.includes(disk('orphan'))
  })

  const { virtualMachines, networkInterfaces, disks } = await world.azure()
  const kept = (names: readonly string[]) => [...names].sort()
  expect(kept(virtualMachines.map(({ name }) => name))).toEqual(
    kept([...owned.virtualMachines.map(({ name }) => name), 'aks-foreign', 'aks-young']),
  )
  expect(kept(networkInterfaces)).toEqual(
    kept([...owned.networkInterfaces, 'aks-foreign-1', 'aks-gone-1', 'aks-young-1']),
  )
  expect(kept(disks)).toEqual(kept([...owned.disks, foreign, osDiskName('other', 'gone', 1), 'aks-young']))
  expect(await collected()).toMatchObject({ virtualMachine: 1, networkInterface: 1, disk: 1, nodeClaim: 0 })
  const messages = await world.until('events tell of the leaks', async () => {
    const found = (await world.list('events')).filter(({ reason }) => reason === 'GarbageCollected')
    return found.length >= 3 && found.map(({ involvedObject, message }) => `${involvedObject?.name}: ${message}`)
  })
  expect(kept(messages)).toEqual([
    'general: NIC aks-orphan-1 had no VM and is deleted',
    'general: VM aks-orphan had no NodeClaim and is deleted',
    `joiner: OS disk ${disk('orphan')} had no VM and is deleted`,
  ])
  const reported = await logged('found leaked resources')
  expect(reported.flatMap(({ virtualMachines: vms, disks: ofDisks }) => [vms, ofDisks]).flat()).toEqual([
    'aks-orphan',
    disk('orphan'),
  ])
})

test('a NodeClaim whose VM somebody deleted goes too, and its pods run elsewhere', async () => {
  const before = await claimNames()
  const [pooled = ''] = before.filter((name) => name !== 'standalone')
  for (const name of before) {
    await world.operator.simulator('POST', `/vms/aks-${name}/delete`)
    await world.untilSilent(`aks-${name}`)
  }
  await world.until('both NodeClaims are gone', async () => {
    await pass()
    const names = await claimNames()
    return !names.includes(pooled) && !names.includes('standalone')
  })
  await world.untilRunning(1)
  const [replacement = '', ...others] = await claimNames()
  expect([replacement, others]).toEqual([expect.stringMatching(/^general-/), []])
  expect(await collected()).toMatchObject({ virtualMachine: 1, nodeClaim: 2 })
  expect(await vmNames()).toContain(`aks-${replacement}`)
  expect(await endOf(world, pooled)).toMatchObject({ status: 'COMPLETED', outcome: 'vm-lost' })
  expect(await endOf(world, 'standalone')).toMatchObject({
    status: 'FAILED',
    type: 'Lost',
    message: expect.stringMatching(
      /^NodeClaim standalone never became ready: 1 launch attempt, the last VM Standard_D2s_v5 spot westus2-\d; VM lost: the VM was gone$/,
    ),
    outcome: 'lost',
  })
})

/** Removes a NodeClaim past its lifecycle, as a lost etcd or a CRD that was forced away does. */
async function lose(name: string, cascade: 'orphan' | 'background'): Promise<void> {
  await world.operator.kubectl(['patch', 'nodeclaim', name, '--type=merge', '-p', '{"metadata":{"finalizers":[]}}'])
  await world.operator.kubectl(['delete', 'nodeclaim', name, `--cascade=${cascade}`])
}

/** Moves the pods of a Node away, as an operator does who wants its VM to go. */
async function drain(node: string): Promise<void> {
  await world.operator.kubectl(['drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=120s'])
}

const nodeNames = async () => (await world.list('nodes')).map(({ metadata }) => metadata.name)
const podUids = async () => (await world.list('pods')).map(({ metadata }) => metadata.uid).sort()

async function withheldEvents(): Promise<ReadonlySet<string | undefined>> {
  const events = (await world.list('events')).filter(({ reason }) => reason === 'GarbageWithheld')
  return new Set(events.map(({ involvedObject }) => involvedObject?.name))
}

test('a NodeClaim whose finalizer somebody took off ends its lifecycle; its VM and Node go once no pods run there', async () => {
  const [name = ''] = await claimNames()
  const pods = await podUids()
  await lose(name, 'background')
  const running = () => world.lifecycles("ExecutionStatus = 'Running'")
  await world.until('its lifecycle has ended', async () =>
    (await running()).every(({ nodeClaim }) => nodeClaim !== name),
  )
  await world.until('Kubernetes deletes its Node', async () =>
    (await world.list('nodes')).some(
      ({ metadata }) => metadata.name === `aks-${name}` && metadata.deletionTimestamp !== undefined,
    ),
  )
  await pass()
  await world.until('its Node is named', async () => (await withheldEvents()).has(`aks-${name}`))
  expect([await vmNames(), await podUids()]).toEqual([expect.arrayContaining([`aks-${name}`]), pods])
  await drain(`aks-${name}`)
  await world.until('VM and Node are gone', async () => {
    await pass()
    return !(await nodeNames()).includes(`aks-${name}`) && !(await vmNames()).includes(`aks-${name}`)
  })
  await world.untilRunning(1)
  expect(await collected()).toMatchObject({ virtualMachine: 2, node: 1 })
})

test('nodes whose NodeClaims are lost while Joiner is down run on and are named; a dead one and an idle one beside them go', async () => {
  const [idle = ''] = await nodeNames()
  await world.scale('inflate', 0)
  await world.operator.kubectl(['cordon', idle])
  await world.apply(deployment({ name: 'apart', replicas: 8, apart: true }))
  await world.until('8 pods run', async () => (await world.running('apart')) === 8)
  await world.until('each node is ready, the idle one among them', async () => {
    const claims = await world.list('nodeclaims')
    return claims.length === 9 && claims.every((claim) => isTrue(claim, 'Initialized'))
  })
  await world.operator.kubectl(['uncordon', idle])
  const [dead = '', ...nodes] = (await nodeNames()).filter((name) => name !== idle)
  const podsOn = async (names: readonly string[]) => {
    const on = (await world.list('pods')).filter(({ spec }) => names.includes(spec.nodeName ?? ''))
    return on.map(({ metadata }) => metadata.uid).sort()
  }
  const pods = await podsOn(nodes)
  expect(pods).toHaveLength(7)

  await world.crash()
  await world.operator.simulator('POST', `/vms/${dead}/stop`)
  await world.untilSilent(dead)
  const names = [dead, idle, ...nodes].map((node) => node.replace('aks-', ''))
  for (const [index, name] of names.entries()) await lose(name, index % 2 === 0 ? 'orphan' : 'background')
  expect(await claimNames()).toEqual([])
  await world.until('Kubernetes deletes the Nodes of every second one', async () => {
    const leaving = (await world.list('nodes')).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    return leaving.length === 4
  })
  // Each role has its own account: the one at Azure may not read pods.
  world.startApart()

  await world.until('the dead and the idle VM are gone, with their Nodes', async () => {
    await pass()
    const left = [...(await vmNames()), ...(await nodeNames())]
    return !left.includes(dead) && !left.includes(idle)
  })
  await world.until(
    'the first new NodeClaim is there, for the pod of the dead node',
    async () => (await claimNames()).length > 0,
  )
  await pass()
  await world.until('each is named by an event', async () => new Set(nodes).isSubsetOf(await withheldEvents()))
  expect(await vmNames()).toEqual(expect.arrayContaining(nodes))
  expect(await podsOn(nodes)).toEqual(pods)
  const { withheldMachines } = JSON.parse(await world.joiner('status', '--output', 'json')) as {
    readonly withheldMachines: {
      readonly count: number
      readonly costPerDay: number
      readonly machines: readonly { readonly name: string; readonly pods: number }[]
    }
  }
  expect(withheldMachines.machines.map(({ name }) => name).sort()).toEqual([...nodes].sort())
  expect(withheldMachines.machines.every((machine) => machine.pods === 1)).toBe(true)
  expect(withheldMachines.costPerDay).toBeGreaterThan(0)
  const metrics = await world.metrics('joiner-azure')
  for (const name of nodes) expect(metrics[`joiner_garbage_withheld{kind="VM",name="${name}"}`]).toBe(1)
  for (const name of nodes)
    expect(metrics[`joiner_garbage_withheld_usd_per_day{kind="VM",name="${name}"}`]).toBeGreaterThan(0)

  // What an operator drains goes, with its Node, however its NodeClaim was lost.
  await world.scale('apart', 1)
  for (const node of nodes) await drain(node)
  await world.until('VMs and Nodes of the drained are gone', async () => {
    await pass()
    const left = [...(await vmNames()), ...(await nodeNames())]
    return nodes.every((name) => !left.includes(name))
  })
  await world.until('one pod runs', async () => (await world.running('apart')) === 1)
})
