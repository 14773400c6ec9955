// What Joiner has made is lost from the API server: etcd goes back in time, NodeClaims or their CRDs are forced away. Pods end by a drain or not at all.
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { expectWhole } from './whole.ts'
import { isTrue, World } from './world.ts'

/** Nodes of before, and made since. */
const [older, newer] = [5, 30]
/** NodeClaims come back ten minutes after their VMs were found, and Nodes that are being deleted are drained one after the other. */
const backMs = 45 * 60_000
const wholeMs = 2 * backMs
const crds = ['nodeclaims.karpenter.sh', 'nodepools.karpenter.sh', 'aksnodeclasses.karpenter.azure.com']

let world: World

const pool = nodePool({ consolidateAfter: 'Never', budget: '2' })

beforeAll(async () => {
  // Its servers lose what they hold, so no other suite may have them.
  world = await World.start({ cloud: 'instant', audit: false })
  await world.startWithPool(pool, nodeClass(), deployment({ apart: true }))
})

afterAll(() => world?.stop())

const namesOf = async (kind: 'nodeclaims' | 'aksnodeclasses' | 'nodes') =>
  (await world.list(kind)).map(({ metadata: { name } }) => name)
const vmNames = async () => (await world.azure()).virtualMachines.map(({ name }) => name).sort()
/** The pods that run, by name with their UIDs. */
const runningPods = async () => {
  const pods = await world.list('pods')
  return new Map(
    pods.filter(({ status }) => status?.phase === 'Running').map(({ metadata }) => [metadata.name, metadata.uid]),
  )
}
/** Scales to so many pods, each on a node of its own, and returns those that run. */
async function withPods(count: number) {
  await world.scale('inflate', count)
  await expectWhole(world, count)
  return runningPods()
}
const evicted = async () =>
  new Set(
    (await world.list('events')).filter(({ reason }) => reason === 'Evicted').map((one) => one.involvedObject?.name),
  )

/** Errors: one of the pods is gone that was not evicted. */
async function expectDrained(pods: ReadonlyMap<string, string>): Promise<void> {
  const [left, drained] = [await runningPods(), await evicted()]
  expect([...pods.keys()].filter((name) => !left.has(name) && !drained.has(name))).toEqual([])
}

function told(what: string, sinceMs: number): void {
  console.log(`${what}: ${((Date.now() - sinceMs) / 60_000).toFixed(1)} min`)
}

/** Ends the control plane, which starts again once that is done. Joiner runs on. */
async function withoutControlPlane(work: () => Promise<void>): Promise<void> {
  const { supervisor } = world.cluster
  const names = ['kwok', 'kube-scheduler', 'kube-controller-manager', 'kube-apiserver', 'etcd']
  const specs = []
  for (const name of names) specs.push(await supervisor.stop(name))
  await work()
  for (const spec of specs.toReversed()) {
    if (spec === undefined) throw new Error('a server of the control plane did not run')
    supervisor.start(spec)
    if (spec.name === 'kube-apiserver')
      await world.until('the API server answers', () => world.operator.kubectl(['get', '--raw', '/readyz']))
  }
}

test(
  'etcd goes back in time: older nodes keep their pods, VMs made since are named and end, pods get nodes',
  async () => {
    const data = join(world.cluster.stateDir, 'etcd')
    const kept = `${data}-kept`
    const pods = await withPods(older)
    const vms = await vmNames()
    await withoutControlPlane(() => cp(data, kept, { recursive: true }))
    await withPods(older + newer)
    const since = (await vmNames()).filter((name) => !vms.includes(name))
    expect(since).toHaveLength(newer)
    await withoutControlPlane(async () => {
      await rm(data, { recursive: true })
      await cp(kept, data, { recursive: true })
    })
    // Its caches hold what was lost, so it ends; here the test starts it again as a kubelet does.
    await world.until('Joiner ends', async () => !('joiner' in world.cluster.supervisor.pids))
    expect(await world.cluster.supervisor.tail('joiner', 5)).toContain('went back from version')
    world.startJoiner()
    const startedMs = Date.now()
    await world.until(`the ${newer} VMs are gone`, async () => (await vmNames()).length === older, backMs)
    told(`${newer} VMs that etcd had forgotten were gone after`, startedMs)
    expect(await vmNames()).toEqual(vms)
    expect(await runningPods()).toEqual(pods)
    const log = await world.cluster.supervisor.tail('joiner', 100_000)
    const named = log.split('\n').filter((line) => line.includes('found leaked resources'))
    expect(since.filter((name) => !named.some((line) => line.includes(name)))).toEqual([])
    await withPods(older + 3)
  },
  wholeMs,
)

test(
  'NodeClaims and their CRDs are forced away while Joiner is down: what cannot be kept is drained, the rest is back',
  async () => {
    const pods = await withPods(older + 3)
    await world.crash()
    const [claims, classes] = [await namesOf('nodeclaims'), await namesOf('aksnodeclasses')]
    const held = [...claims.map((name) => `nodeclaim/${name}`), ...classes.map((name) => `aksnodeclass/${name}`)]
    await world.operator.kubectl(['delete', 'crd', ...crds, '--wait=false'])
    await world.operator.kubectl(['patch', ...held, '--type=merge', '-p', '{"metadata":{"finalizers":[]}}'])
    await world.operator.kubectl(['wait', '--for=delete', '--timeout=60s', ...crds.map((name) => `crd/${name}`)])
    await world.installation.applyCrds()
    world.startJoiner()
    const startedMs = Date.now()
    await world.apply(pool, nodeClass())
    await world.until(
      'no Node is being deleted, and each has its NodeClaim',
      async () => {
        const [claims, nodes] = [await world.list('nodeclaims'), await world.list('nodes')]
        const isStaying = nodes.every(({ metadata }) => metadata.deletionTimestamp === undefined)
        return isStaying && claims.length === nodes.length && claims.every((claim) => isTrue(claim, 'Ready'))
      },
      backMs,
    )
    told('NodeClaims that were lost with their CRDs were back, or drained, after', startedMs)
    await expectDrained(pods)
    await expectWhole(world, pods.size)
  },
  wholeMs,
)

test(
  'CRDs are deleted while Joiner runs: every node is drained, and planning is back once they are applied again',
  async () => {
    const pods = await withPods(older + 3)
    await world.operator.kubectl(['delete', 'crd', ...crds, '--wait=false'])
    const startedMs = Date.now()
    await world.until(
      'no VM and no Node is left',
      async () => (await vmNames()).length + (await namesOf('nodes')).length === 0,
      backMs,
    )
    told('CRDs were deleted, and all nodes drained after', startedMs)
    await expectDrained(pods)
    await world.operator.kubectl(['wait', '--for=delete', '--timeout=120s', ...crds.map((name) => `crd/${name}`)])
    await world.installation.applyCrds()
    await world.apply(pool, nodeClass())
    const againMs = Date.now()
    await expectWhole(world, pods.size, backMs)
    told('planning was back after', againMs)
  },
  wholeMs,
)
