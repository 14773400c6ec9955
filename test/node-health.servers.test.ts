// Nodes that are sick, expire before they are ready, or have less than was promised; and what an older version left unlabelled.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { timeText } from '../core/values/time.ts'
import { deployment, nodeClass, nodePool, standaloneClaim } from './applied-objects.ts'
import { type Seen, World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner('joiner', {
    FEATURE_GATES: 'NodeRepair=true',
    JOINER_REPAIR_POLICIES: 'Broken=True:3s',
    JOINER_RESYNC_INTERVAL: '5s',
  })
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ replicas: 2, apart: true }))
  await world.untilReady('general')
  await world.untilRunning(2)
})

afterAll(() => world?.stop())

const labelOf = (object: Seen | undefined, key: string) => object?.metadata.labels?.[key]
const nodesOfPool = async () =>
  (await world.list('nodes')).filter((node) => labelOf(node, 'karpenter.sh/nodepool') === 'general')

async function setCondition(node: string, type: string, status: 'True' | 'False'): Promise<void> {
  const time = timeText(Date.now())
  const condition = { type, status, reason: 'Test', message: '', lastHeartbeatTime: time, lastTransitionTime: time }
  const patch = JSON.stringify({ status: { conditions: [condition] } })
  await world.operator.kubectl(['patch', 'node', node, '--subresource=status', '--type=strategic', '-p', patch])
}

async function metric(pattern: RegExp): Promise<number> {
  const lines = (await world.cluster.supervisor.tail('joiner', 100_000)).split('\n')
  const started = lines.find((line) => line.includes('serving health and metrics')) ?? '{}'
  const { address } = JSON.parse(started) as { readonly address: string }
  const text = await (await fetch(`${address.replace('0.0.0.0', '127.0.0.1')}/metrics`)).text()
  return Number(pattern.exec(text)?.[1] ?? 0)
}

/** Runs the pass that keeps up statuses, and waits for its end. */
async function pass(): Promise<void> {
  const passes = async () => {
    const query = "WorkflowType = 'nodeClassStatus' AND ExecutionStatus = 'Completed'"
    return (await world.temporal.workflow.count(query)).count
  }
  const before = await passes()
  await world.trigger('nodeClassStatus')
  await world.until('a pass over node classes ended', async () => (await passes()) > before)
}

test('a node that has less than was promised says so, and what has no label of its node class gets it', async () => {
  const [less, whole] = await world.list('nodeclaims')
  await world.operator.api('PATCH', `/apis/karpenter.sh/v1/nodeclaims/${less?.metadata.name}/status`, {
    status: { capacity: { cpu: '64' } },
  })
  const label = 'karpenter.azure.com/aksnodeclass'
  for (const kind of ['node', 'nodeclaim'])
    await world.operator.kubectl([
      'label',
      kind,
      `${kind === 'node' ? 'aks-' : ''}${whole?.metadata.name}`,
      `${label}-`,
    ])
  const condition = async (claim: Seen | undefined) => {
    const now = (await world.list('nodeclaims')).find(({ metadata }) => metadata.uid === claim?.metadata.uid)
    return now?.status?.conditions?.find(({ type }) => type === 'ConsistentStateFound')
  }
  await pass()
  expect(await condition(less)).toMatchObject({ status: 'False', reason: 'ConsistencyCheckFailed' })
  expect(await condition(whole)).toMatchObject({ status: 'True' })
  const event = await world.until('an event says what is missing', async () =>
    (await world.list('events')).find(({ reason }) => reason === 'FailedConsistencyCheck'),
  )
  expect(event.involvedObject?.name).toBe(less?.metadata.name)
  expect(event.message).toMatch(/^expected 64 of resource cpu, but found \d+ \(\d+\.\d% of expected\)$/)
  const labels = [...(await world.list('nodeclaims')), ...(await nodesOfPool())].map((each) => labelOf(each, label))
  expect(labels).toEqual(['default', 'default', 'default', 'default'])
})

test('a sick node is replaced once it was sick for too long, whatever its pods say; too many are left alone', async () => {
  const [one, other] = (await nodesOfPool()).map(({ metadata }) => metadata.name)
  await world.operator.kubectl(['annotate', 'pods', '-l', 'app=inflate', 'karpenter.sh/do-not-disrupt=true'])
  await Promise.all([one, other].map((name = '') => setCondition(name, 'Broken', 'True')))
  const blocked = await world.until('events tell that nothing is repaired', async () => {
    const found = (await world.list('events')).filter(({ reason }) => reason === 'NodeRepairBlocked')
    return ['Node', 'NodeClaim', 'NodePool'].every((kind) => found.some((event) => kindOf(event) === kind)) && found
  })
  expect(new Set(blocked.map(({ message }) => message))).toEqual(
    new Set(['more than 20% nodes are unhealthy in the nodepool']),
  )
  expect((await nodesOfPool()).map(({ metadata }) => metadata.name)).toEqual([one, other])
  await setCondition(other ?? '', 'Broken', 'False')
  await world.until('the sick node is gone', async () =>
    (await nodesOfPool()).every(({ metadata }) => metadata.name !== one),
  )
  await world.untilRunning(2)
  const stays = (await nodesOfPool()).find(({ metadata }) => metadata.name === other)
  expect(stays).toBeDefined()
  expect(stays?.metadata.deletionTimestamp).toBeUndefined()
  const counter = /^karpenter_nodeclaims_unhealthy_disrupted_total\{condition="broken",nodepool="general",.*\} (\d+)$/m
  expect(await metric(counter)).toBe(1)
})

const kindOf = (event: Seen) => (event.involvedObject as { readonly kind?: string } | undefined)?.kind

test('a NodeClaim made by hand, without a NodePool, lives until it expires, though it never gets ready', async () => {
  await world.apply(
    standaloneClaim('by-hand', {
      requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D2s_v5'] }],
      startupTaints: [{ key: 'never-taken-off', effect: 'NoSchedule' }],
      expireAfter: '25s',
    }),
  )
  const claim = async () => (await world.list('nodeclaims')).find(({ metadata }) => metadata.name === 'by-hand')
  const waits = await world.until('its Node has joined and is not ready', async () => {
    const conditions = (await claim())?.status?.conditions ?? []
    return conditions.find(({ type, reason }) => type === 'Initialized' && reason === 'StartupTaintsExist')
  })
  expect(waits.message).toContain('never-taken-off')
  const { metadata } = (await claim()) as Seen
  expect(metadata.finalizers).toEqual(['karpenter.sh/termination'])
  await world.until('it has expired, and nothing of it is left', async () => {
    const { virtualMachines, networkInterfaces, disks } = await world.azure()
    const names = [...virtualMachines.map(({ name }) => name), ...networkInterfaces, ...disks]
    return (await claim()) === undefined && names.every((name) => !name.includes('by-hand'))
  })
  expect(Date.now() - Date.parse(metadata.creationTimestamp)).toBeGreaterThan(25_000)
  expect((await world.list('nodes')).map((node) => node.metadata.name)).not.toContain('aks-by-hand')
})
