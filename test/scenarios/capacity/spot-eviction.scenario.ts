// Azure takes spot VMs back: their Nodes say so, and Joiner makes use of the seconds that are left.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { endOf } from '../../observed/lifecycle-ends.ts'
import { type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const many = 12

let world: World

beforeAll(async () => {
  world = await World.start({ cloud: 'instant' })
  // Notices that come within 3 s are for one pass, also on a busy machine.
  world.startJoiner('joiner', { BATCH_IDLE_DURATION: '3s', BATCH_MAX_DURATION: '20s' })
  const requirements = [
    { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] },
  ]
  await world.apply(nodePool({ consolidateAfter: 'Never', requirements }), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterAll(() => world?.stop())

const evict = (vm: string) => world.operator.simulator('POST', `/vms/${vm}/evict`, {})
const vmNames = async () => (await world.azure()).virtualMachines.map(({ name }) => name)
const nodeOf = async (name: string) => (await world.list('nodes')).find(({ metadata }) => metadata.name === name)
const claimOf = async (vm: string): Promise<Seen | undefined> =>
  (await world.list('nodeclaims')).find(({ metadata }) => `aks-${metadata.name}` === vm)

/** Passes of the planner that made NodeClaims. */
const passes = async () => (await world.plans()).filter(({ nodeClaims }) => nodeClaims > 0)

test('a spot VM gets its notice, and its pods another node before it is gone, whatever budgets say', async () => {
  // Azure gives 30 s. Joiner needs a few, but where several suites share the machine.
  const noticeMs = 45_000
  await world.operator.simulator('POST', '/settings', { evictions: { noticeMs } })
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [vm = ''] = await vmNames()
  await world.apply({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'inflate', namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'inflate' } } },
  })
  const before = Date.now()
  await evict(vm)
  const after = Date.now()
  const notice = await world.until('the Node has its notice', async () => {
    const node = await nodeOf(vm)
    return node?.status?.conditions?.find(({ type }) => type === 'PreemptionScheduled')
  })
  expect(notice).toMatchObject({ status: 'True', reason: 'SpotEvictionIncoming' })
  const [, end = ''] = /^Preempt Scheduled: (.*? GMT)\. .* EventId: [0-9A-F-]{36}$/.exec(notice.message) ?? []
  // It has whole seconds.
  expect(Date.parse(end)).toBeGreaterThan(before + noticeMs - 1000)
  expect(Date.parse(end)).toBeLessThan(after + noticeMs + 1000)
  const replaced = await world.until(
    'another NodeClaim is there',
    async () =>
      (await world.list('nodeclaims')).some(({ metadata }) => `aks-${metadata.name}` !== vm) && (await nodeOf(vm)),
  )
  expect(await vmNames()).toContain(vm)
  expect(replaced.spec.taints?.map(({ key }) => key)).toContain('karpenter.sh/disrupted')
  const { metadata } = (await claimOf(vm)) as Seen
  expect(metadata.annotations).toMatchObject({ 'joiner.sh/interrupted': 'PreemptionScheduled (SpotEvictionIncoming)' })
  const stamp = metadata.annotations?.['karpenter.sh/nodeclaim-termination-timestamp'] ?? ''
  expect(Date.parse(stamp)).toBe(Date.parse(end))
  await world.until('nothing of the node is left', async () => !(await nodeOf(vm)) && !(await claimOf(vm)))
  await world.operator.kubectl(['delete', 'pdb', '--all'])
  expect(await vmNames()).not.toContain(vm)
  await world.untilRunning(1)
  const events = (await world.list('events')).filter(({ reason }) => reason === 'Interrupted')
  expect(events.map(({ message }) => message)).toEqual([expect.stringContaining('PreemptionScheduled')])
  expect(await endOf(world, metadata.name)).toMatchObject({
    status: 'COMPLETED',
    outcome: 'interrupted',
    reason: 'interrupted: PreemptionScheduled (SpotEvictionIncoming)',
    vm: expect.stringMatching(/^Standard_D\S+ spot westus2-\d$/),
    price: expect.any(Number),
    hours: expect.any(Number),
  })
})

test(`${many} spot VMs that are taken back at once are replaced in few passes, not one by one`, async () => {
  await world.operator.simulator('POST', '/settings', { evictions: { noticeMs: 25_000 } })
  await world.scale('inflate', many)
  await world.untilRunning(many, 120_000)
  const taken = await vmNames()
  expect(taken).toHaveLength(many)
  const before = (await passes()).length
  await Promise.all(taken.map(evict))
  await world.until('all pods run on other nodes', async () => {
    const pods = await world.list('pods')
    const running = pods.filter(({ status }) => status?.phase === 'Running')
    return running.length === many && running.every(({ spec }) => !taken.includes(spec.nodeName ?? ''))
  })
  await world.until('nothing of the old nodes is left', async () =>
    [await world.list('nodes'), await world.list('nodeclaims')].every(({ length }) => length === many),
  )
  const planned = (await passes()).slice(before).map(({ nodeClaims }) => nodeClaims)
  // One where the machine does nothing else.
  expect(planned.length).toBeLessThanOrEqual(many / 3)
  expect(planned.reduce((sum, nodeClaims) => sum + nodeClaims, 0)).toBe(many)
  expect((await vmNames()).filter((name) => taken.includes(name))).toEqual([])
})
