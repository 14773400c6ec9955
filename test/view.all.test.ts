// What `joiner top` and `joiner ui` watch, while the API server goes away.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KubernetesClient } from '../activities/kubernetes/client/client.ts'
import type { Missing } from '../starter/picture/gaps.ts'
import { ClusterWatch } from '../starter/picture/watch/from-watch.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(
    nodePool({ consolidateAfter: 'Never' }),
    nodeClass(),
    deployment({ replicas: 2, apart: true }),
  )
  await world.untilRunning(2)
})

afterAll(() => world?.stop())

test('after the API server was killed the view goes on', async () => {
  const client = await KubernetesClient.load(world.installation.operatorKubeconfig)
  const watch = await ClusterWatch.start({ client, namespace: 'joiner' })
  const said: Missing[] = []
  watch.onChange(({ missing }) => said.push(...missing))
  const { nodes } = watch.view()
  try {
    await world.restartServer('kube-apiserver', 2000)
    expect(said).toContainEqual(expect.objectContaining({ what: 'pods', asOfMs: expect.any(Number) as number }))
    await world.scale('inflate', 1)
    await world.until('the view has a pod less', async () => watch.view().totals.pods === 1)
    await world.until('nothing is missing', async () => watch.view().missing.length === 0)
    expect(watch.view().nodes).toHaveLength(nodes.length)
  } finally {
    watch.close()
    await client.close()
  }
})
