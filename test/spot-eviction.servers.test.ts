// Azure takes a spot VM back: its Node says so before the VM goes, and then is silent.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool, World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  const requirements = [
    { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] },
  ]
  await world.apply(nodePool({ consolidateAfter: 'Never', requirements }), nodeClass(), deployment())
  await world.untilReady('general')
})

afterAll(() => world?.stop())

test('a spot VM gets its notice as conditions of its Node, and is gone when the notice is over', async () => {
  const noticeMs = 4000
  await world.operator.simulator('POST', '/settings', { evictions: { noticeMs } })
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [vm] = (await world.azure()).virtualMachines
  const vmIsThere = async () => (await world.azure()).virtualMachines.some(({ name }) => name === vm?.name)
  const before = Date.now()
  await world.operator.simulator('POST', `/vms/${vm?.name}/evict`, {})
  const notice = await world.until('the Node has its notice', async () => {
    const node = (await world.list('nodes')).find(({ metadata }) => metadata.name === vm?.name)
    return node?.status?.conditions?.find(({ type }) => type === 'PreemptionScheduled')
  })
  expect(await vmIsThere()).toBe(true)
  expect(notice).toMatchObject({ status: 'True', reason: 'SpotEvictionIncoming' })
  const [, end = ''] = /^Preempt Scheduled: (.*? GMT)\. .* EventId: [0-9A-F-]{36}$/.exec(notice.message) ?? []
  expect(Math.abs(Date.parse(end) - (before + noticeMs))).toBeLessThan(2000)
  await world.until('the VM is gone', async () => !(await vmIsThere()))
  await world.until('nobody hears of its Node any more', async () => {
    const node = (await world.list('nodes')).find(({ metadata }) => metadata.name === vm?.name)
    return node === undefined || node.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'Unknown'
  })
})
