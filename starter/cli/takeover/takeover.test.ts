import { expect, test, vi } from 'vitest'
import { type TaskQueueRole, taskQueue } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { installedWorld } from '../../../test/temporal-states/installed-world.ts'

/** Temporal with the loops of another cluster of this name, of which a process with a role still runs. */
async function namesake(role?: TaskQueueRole) {
  const world = await installedWorld()
  world.cluster.put('namespaces', { metadata: { name: 'kube-system', uid: 'of-this-cluster' } })
  vi.spyOn(world.server, 'pollersOf').mockImplementation((queue) =>
    role !== undefined && queue === taskQueue(role, clusterName) ? ['elsewhere'] : [],
  )
  const loops = () => world.running().filter((id) => id.endsWith(`/${clusterName}`) && !id.startsWith('nodeclaim/'))
  return { loops, takeOver: () => world.joiner('admin', 'takeover', '--temporal', '--yes') }
}

test.each<TaskQueueRole>(['core', 'wait', 'azure', 'plan', 'maintenance'])(
  'a name is not taken over while a process of the other cluster works on the queue %s',
  async (role) => {
    const { loops, takeOver } = await namesake(role)
    const { code, stderr } = await takeOver()
    expect([code, stderr]).toEqual([1, expect.stringMatching(/"elsewhere" polled for .*; stop it first/)])
    expect(loops()).toHaveLength(2)
  },
)

test('a name is taken over where none does', async () => {
  const { loops, takeOver } = await namesake()
  expect((await takeOver()).code).toBe(0)
  expect(loops()).toEqual([])
})
