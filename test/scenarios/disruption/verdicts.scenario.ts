// What is kept about nodes, where a planner stood still while its successor wrote, and where a restore of etcd brought back an earlier one.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import type { FastWorld } from '../../fast/world/fast-world.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, fastTest } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
})

afterAll(() => world?.stop())

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** What is kept about a node, of all of the ConfigMaps. */
async function verdictOf(claim: string): Promise<string> {
  const { items } = await world.operator.api<{
    items: readonly { readonly data?: Readonly<Record<string, string>> }[]
  }>('GET', '/api/v1/namespaces/joiner/configmaps')
  return items.flatMap(({ data = {} }) => data[claim] ?? []).join()
}

fastTest('a planner that stood still takes back nothing that its successor has found', async () => {
  const { temporal, joiners } = world.servers.fast as FastWorld
  const process = joiners.get('joiner')?.process
  if (process === undefined) throw new Error('joiner does not run')
  world.startJoiner('second')
  await world.until('second stands by', async () =>
    (await world.cluster.supervisor.tail('second', 1000)).includes('and this one stands by'),
  )
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [claim = ''] = (await world.list('nodeclaims')).map(({ metadata }) => metadata.name)
  const says = (text: string) => async () => (await verdictOf(claim)).includes(text)
  await world.until('a first verdict is kept', says('moves'))
  await wait(60_000)
  // The next change is written half a minute later at the soonest: by then the process stands still.
  await world.joiner('node', 'hold', claim, '--reason', 'debugging')
  await world.until('the hold is kept', says('debugging'))
  await world.joiner('node', 'hold', claim, '--reason', 'looking')
  await wait(15_000)
  temporal.freeze(process)
  await world.until('the other one has found the second hold', says('looking'))
  await world.joiner('node', 'release', claim)
  await world.until('it has found that none is left', async () => !(await says('looking')()))
  // The longer it stood still, the sooner it sees that it leads no more.
  await wait(40_000)
  temporal.thaw(process)
  await wait(4 * 60_000)
  expect(await verdictOf(claim)).not.toContain('looking')
})

fastTest('a restore of etcd that brings back the fence of an earlier planner keeps nobody from writing', async () => {
  const [claim = ''] = (await world.list('nodeclaims')).map(({ metadata }) => metadata.name)
  await world.operator.api('PATCH', '/apis/coordination.k8s.io/v1/namespaces/joiner/leases/joiner-disruption-fence', {
    spec: { holderIdentity: 'earlier/disruption/1' },
  })
  await world.joiner('node', 'hold', claim, '--reason', 'after the restore')
  await world.until('the hold is kept', async () => (await verdictOf(claim)).includes('after the restore'))
})
