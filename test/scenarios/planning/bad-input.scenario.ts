import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { scrape, sum } from '../../observed/metrics.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, realTest, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start({ cloud: 'instant' })
  await world.startWithPool(nodePool(), nodeClass())
})

afterAll(() => world?.stop())

async function condition(kind: 'nodepools' | 'aksnodeclasses', name: string, type: string) {
  const object = (await world.list(kind)).find(({ metadata }) => metadata.name === name)
  return object?.status?.conditions?.find((found) => found.type === type)
}

/** The event that says why a deployment's pod got no node. */
function whyPending(app: string): Promise<string> {
  return world.until(`an event about ${app}`, async () => {
    const reported = (await world.list('events')).find(
      ({ reason, involvedObject, reportingInstance }) =>
        reason === 'FailedScheduling' && involvedObject?.name?.startsWith(app) && reportingInstance === 'joiner',
    )
    return reported?.message
  })
}

test('a NodePool whose node class does not exist says so, and works once it does', async () => {
  await world.apply(nodePool({ name: 'lost', nodeClass: 'nowhere' }))
  const found = await world.until('NodeClassReady is False', async () => {
    const seen = await condition('nodepools', 'lost', 'NodeClassReady')
    return seen?.status === 'False' && seen
  })
  expect(found.message).toMatch(/nowhere/)
  expect((await condition('nodepools', 'lost', 'Ready'))?.status).toBe('False')
  await world.apply(nodeClass('nowhere'))
  await world.untilReady('lost')
  await world.operator.kubectl(['delete', 'nodepool', 'lost'])
})

test('requirements that nothing satisfies: the event names pool, key and what is wrong', async () => {
  await world.apply(
    deployment({ name: 'arm-32', replicas: 1, nodeSelector: { 'node.kubernetes.io/instance-type': 'Standard_Nope' } }),
  )
  const why = await whyPending('arm-32')
  expect(why).toMatch(/general/)
  expect(why).toMatch(/node.kubernetes.io\/instance-type/)
})

test('a pod larger than any VM: the event says what it asked for', async () => {
  await world.apply(deployment({ name: 'huge', replicas: 1, cpu: '4000' }))
  const why = await whyPending('huge')
  expect(why).toMatch(/general/)
  expect(why).toMatch(/cpu/)
  expect(why).toMatch(/4000|4k/)
  expect(await world.list('nodeclaims')).toHaveLength(0)
})

test('what has no place does not keep Joiner busy, and does not hold up what has one', async () => {
  await world.apply(deployment({ name: 'small', replicas: 1 }))
  await world.until('the small pod runs', async () => (await world.running('small')) === 1)
  const before = (await world.loop('provisioning').describe()).historyLength
  const passes = async () => sum(await scrape(world), 'karpenter_scheduler_scheduling_duration_seconds_count') ?? 0
  const seen = await passes()
  // A loop that came back from a pass would begin the next one at once.
  await world.until('what has no place is planned for twice more', async () => (await passes()) >= seen + 2)
  expect((await world.loop('provisioning').describe()).historyLength).toBe(before)
})

test('a NodePool that breaks a rule of the API is refused with the field and the value', async () => {
  const bad = nodePool({ name: 'bad', consolidateAfter: 'soon' })
  const refusal = await world.apply(bad).catch((error: unknown) => String(error))
  expect(refusal).toMatch(/consolidateAfter/)
  expect(refusal).toMatch(/soon/)
})

test('NodePools and NodeClaims of another provider are left alone', async () => {
  const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }
  const foreign = nodePool({ name: 'foreign' })
  await world.apply(
    {
      ...foreign,
      spec: { ...foreign.spec, template: { spec: { ...foreign.spec.template.spec, nodeClassRef } } },
    },
    {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: 'foreign-abcde', labels: { 'karpenter.sh/nodepool': 'foreign' } },
      spec: { requirements: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }], nodeClassRef },
    },
  )
  // Whatever is seen for the first time is worked on within a second or two: a claim of ours proves that the time has passed.
  await world.apply(deployment({ name: 'ours', replicas: 1, cpu: '3' }))
  await world.until('our pod runs', async () => (await world.running('ours')) === 1)
  const claim = (await world.list('nodeclaims')).find(({ metadata }) => metadata.name === 'foreign-abcde')
  expect(claim?.metadata.deletionTimestamp).toBeUndefined()
  expect(claim?.status?.conditions ?? []).toEqual([])
  expect(claim?.metadata.finalizers ?? []).toEqual([])
  expect((await world.lifecycles()).filter(({ id }) => id.includes('foreign'))).toEqual([])
  expect((await world.list('nodepools')).find(({ metadata }) => metadata.name === 'foreign')?.status).toBeUndefined()
})

test('an unknown region is reported on the AKSNodeClass or in the log, and nothing crashes', async () => {
  await world.cluster.supervisor.stop('joiner')
  world.startJoiner('joiner', { LOCATION: 'atlantis' })
  await world.until('the log names the region', async () =>
    /"level":"(warn|error)".*atlantis/.test(await world.cluster.supervisor.tail('joiner', 200)),
  )
  expect(world.cluster.supervisor.pids['joiner']).toBeDefined()
  await world.cluster.supervisor.stop('joiner')
  world.startJoiner()
})

for (const server of ['azure', 'temporal'])
  realTest(
    `Joiner started while ${server} is down: it lives, says what it waits for, and works once it is back`,
    async () => {
      await world.cluster.supervisor.stop('joiner')
      const spec = await world.cluster.supervisor.stop(server)
      world.startJoiner()
      await world.until('the log names what cannot be reached', async () =>
        new RegExp(
          `"level":"(warn|error)".*${server === 'azure' ? world.cluster.azureEndpoint : world.cluster.temporalAddress}`,
        ).test(await world.cluster.supervisor.tail('joiner', 200)),
      )
      if (spec !== undefined) world.cluster.supervisor.start(spec)
      const name = `after-${server}`
      await world.apply(deployment({ name, replicas: 1, cpu: '3' }))
      await world.until('its pod runs', async () => (await world.running(name)) === 1)
    },
  )

realTest('a Temporal that accepts and never answers is named, and Joiner works once it answers', async () => {
  await world.cluster.supervisor.stop('joiner')
  const silent = new Set<Socket>()
  let accept = (socket: Socket) => void silent.add(socket)
  const server = createServer((socket) => accept(socket.on('error', () => socket.destroy())))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    world.startJoiner('joiner', { TEMPORAL_ADDRESS: address })
    await world.until('the log names the address', async () =>
      new RegExp(`"level":"warn".*"${address}"`).test(await world.cluster.supervisor.tail('joiner', 200)),
    )
    const [host, port] = world.cluster.temporalAddress.split(':')
    accept = (socket) => {
      const temporal = connect(Number(port), host).on('error', () => socket.destroy())
      socket
        .on('close', () => temporal.destroy())
        .pipe(temporal)
        .pipe(socket)
    }
    await world.apply(deployment({ name: 'after-silence', replicas: 1, cpu: '3' }))
    await world.until('its pod runs', async () => (await world.running('after-silence')) === 1)
  } finally {
    await world.cluster.supervisor.stop('joiner')
    for (const socket of silent) socket.destroy()
    server.close()
    world.startJoiner()
  }
})
