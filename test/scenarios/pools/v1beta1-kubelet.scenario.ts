import { kubeletAnnotation } from '../../../core/node-class/kubelet-conversion.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  await world.apply(nodeClass())
})

afterAll(() => world?.stop())

function pool(name: string, kubelet: string) {
  const plain = nodePool({ name })
  return { ...plain, metadata: { name, annotations: { [kubeletAnnotation]: kubelet } } }
}

interface Stored {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
  readonly status: { readonly capacity: Readonly<Record<string, string>> }
}

const stored = async (path: string) => (await world.operator.api<{ items: readonly Stored[] }>('GET', path)).items

test('settings of v1beta1 reach NodeClaim, plan and node, and its lifecycle is told by events', async () => {
  const kubelet = '{"maxPods":42,"kubeReserved":{"cpu":"500m"}}'
  await world.apply(pool('old', kubelet))
  await world.untilReady('old')
  await world.apply(deployment({ replicas: 1 }))
  await world.untilRunning(1)
  const [claim] = await stored('/apis/karpenter.sh/v1/nodeclaims')
  expect(claim?.metadata.annotations?.[kubeletAnnotation]).toBe(kubelet)
  expect(claim?.status.capacity['pods']).toBe('42')
  const [node] = await stored('/api/v1/nodes')
  expect(node?.status.capacity['pods']).toBe('42')
  await world.until('transitions of the claim are events', async () => {
    const reported = (await world.list('events')).filter(
      ({ involvedObject }) => involvedObject?.name === claim?.metadata.name,
    )
    return ['Registered', 'Initialized'].every((type) =>
      reported.some(
        ({ reason, message }) =>
          reason === type &&
          message?.startsWith(`Status condition transitioned, Type: ${type}, Status: `) &&
          message.includes('-> True, Reason: '),
      ),
    )
  })
  await world.scale('inflate', 0)
  await world.untilNothingLeft()
  await world.until('the end of claim and node is an event', async () => {
    const finalized = (await world.list('events')).filter(({ reason }) => reason === 'Finalized')
    return (
      finalized.some(({ involvedObject }) => involvedObject?.name === claim?.metadata.name) && finalized.length >= 2
    )
  })
})

test('settings that cannot be read make the pool not ready, and say why', async () => {
  await world.apply(pool('broken', '{"maxPods":"many"}'))
  const found = await world.until('ValidationSucceeded is False', async () =>
    (await world.list('nodepools'))
      .find(({ metadata }) => metadata.name === 'broken')
      ?.status?.conditions?.find(({ type, status }) => type === 'ValidationSucceeded' && status === 'False'),
  )
  expect(found.message).toContain(`metadata.annotations[${kubeletAnnotation}]: maxPods "many" must be a whole number`)
})
