// Pods that no node is to be bought or kept for: those that never run, and those that kube-scheduler left over.
import { timeText } from '../../../core/values/time.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { boundVolume, claimOf, patchPool, pod, untilBound } from '../../why-situations/objects.ts'
import { type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool(), nodeClass())
})

afterAll(() => world?.stop())

const general = { pool: 'general' }
const podPath = (name: string) => `/api/v1/namespaces/default/pods/${name}`
const claims = () => world.list('nodeclaims')
const why = (name: string) => world.joiner('why', 'pod', `default/${name}`)
const remove = (...names: readonly string[]) => world.operator.kubectl(['delete', 'pod', ...names, '--wait=false'])

/** A pod that something else than its kubelet has to let go. */
function heldPod(name: string) {
  const made = pod(name, general)
  return { ...made, metadata: { ...(made['metadata'] as object), finalizers: ['example.com/queue'] } }
}

test('a pod that is deleted before it has a node gets none, and its node goes if it was coming', async () => {
  await world.apply(heldPod('early'))
  await world.until('a node comes for it', async () => (await claims()).length === 1)
  await remove('early')
  await world.untilNothingLeft()
  expect(await why('early')).toMatch(/not planned: it is being deleted .*finalizers hold it: example.com\/queue/)

  await world.joiner('pause', '--provisioning', '--reason', 'both are to be planned at once')
  await world.apply(heldPod('late'), pod('after', general))
  await world.until('kube-scheduler has looked at them', async () => (await why('late')).includes('Unschedulable'))
  await remove('late')
  await world.joiner('resume', '--provisioning')
  await untilBound(world, 'after')
  const [only, ...others] = await claims()
  expect([only?.metadata.annotations?.['joiner.sh/planned-pods'], others]).toEqual(['1', []])
  await remove('after')
  await world.untilNothingLeft()
  const left = (await world.list('pods')).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
  expect(left.map(({ metadata }) => metadata.name).toSorted()).toEqual(['early', 'late'])
  for (const name of ['early', 'late'])
    await world.operator.api('PATCH', podPath(name), { metadata: { finalizers: null } })
})

test('of equal pods those wait for the limit that kube-scheduler did not take, whichever the planner meant', async () => {
  await patchPool(world, 'general', { limits: { cpu: '8' } })
  await world.apply(
    deployment({ name: 'same', replicas: 6, cpu: '3', nodeSelector: { 'karpenter.sh/nodepool': 'general' } }),
  )
  await world.until('the limit is reached', async () => (await world.running('same')) === 2)
  const pending = async () =>
    (await world.list('pods')).filter(({ metadata, spec }) => metadata.labels?.['app'] === 'same' && !spec.nodeName)
  expect(await pending()).toHaveLength(4)
  await world.until('all others wait for it', async () => {
    const answers = await Promise.all((await pending()).map(({ metadata }) => why(metadata.name)))
    return answers.every((answer) => answer.includes('unschedulable (limits): '))
  })
  expect(await world.joiner('status')).toMatch(/^PENDING {2}.*4 unschedulable \(limits 4\)/m)
  expect(await claims()).toHaveLength(1)
  await world.operator.kubectl(['delete', 'deployment', 'same'])
  await patchPool(world, 'general', { limits: null })
  await world.untilNothingLeft()
})

test('a pod whose ReadWriteOncePod claim another one uses waits for that one, and gets no node', async () => {
  const [volume] = boundVolume('sole')
  const once = { accessModes: ['ReadWriteOncePod'], storageClassName: '' }
  await world.apply(
    { ...volume, spec: { ...(volume?.['spec'] as object), accessModes: once.accessModes } },
    claimOf('sole', { ...once, volumeName: 'sole' }),
    pod('first', { ...general, claim: 'sole' }),
  )
  await untilBound(world, 'first')
  await world.apply(pod('second', { ...general, claim: 'sole', requests: { cpu: '3' } }))
  const says = /unschedulable \(volume\): .*ReadWriteOncePod is used by another pod \(.*Pod=default\/first\)/
  await world.until('why pod names the user', async () => says.test(await why('second')))
  const event = (await world.list('events')).find(
    ({ involvedObject, reason, reportingInstance }) =>
      involvedObject?.name === 'second' && reason === 'FailedScheduling' && reportingInstance === 'joiner',
  )
  expect(event?.message).toContain('Pod=default/first')
  // A node for another one proves that there was time for one.
  await world.apply(pod('witness', { ...general, requests: { cpu: '3' } }))
  await untilBound(world, 'witness')
  expect(await claims()).toHaveLength(2)
  await remove('first')
  await untilBound(world, 'second')
  await remove('second', 'witness')
  await world.untilNothingLeft()
})

/** What the scheduler of a pod says of it, of which there is none but the test. */
function say(name: string, message: string): Promise<unknown> {
  // Times of the API server have whole seconds.
  const lastTransitionTime = timeText(Date.now() + 2000)
  const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastTransitionTime }
  return world.operator.api('PATCH', `${podPath(name)}/status`, { status: { conditions: [unschedulable] } })
}

const eventOf = (name: string, reason: string) =>
  world.until(`pod ${name} has an event ${reason}`, async () =>
    (await world.list('events')).find((event) => event.involvedObject?.name === name && event.reason === reason),
  )

test('a pod that its scheduler does not bind where it has room holds no node, and the text says why', async () => {
  await world.apply(pod('user', general))
  await untilBound(world, 'user')
  const [node] = (await world.list('nodes')) as readonly [Seen]
  const { name } = node.metadata
  await world.apply(pod('refused', { ...general, requests: { cpu: '200m' }, spec: { schedulerName: 'example' } }))
  await say('refused', 'no nodes available')
  expect((await eventOf('refused', 'Nominated')).message).toContain(`node/${name}`)
  await say('refused', '0/1 nodes are available: 1 node(s) are not to the liking of a plugin.')
  expect((await eventOf('refused', 'NodeRefused')).message).toMatch(/ has room, .* not to the liking of a plugin/)
  const says = new RegExp(`held back \\(kube-scheduler\\): node ${name} has room, .* not to the liking of a plugin`)
  await world.until('why pod says it too', async () => says.test(await why('refused')))
  expect(await claims()).toHaveLength(1)

  // What it says helps.
  await world.operator.kubectl(['cordon', name])
  await world.until('another node is made for it', async () => (await claims()).length === 2)
  await remove('user', 'refused')
  await world.untilNothingLeft()
})
