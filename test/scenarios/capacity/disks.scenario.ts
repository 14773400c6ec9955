// Pods with disks: sizes that take them, and nodes that take fewer than their size does.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const driver = 'disk.csi.azure.com'
const zone = 'westus2-1'

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool({ consolidateAfter: 'Never' }), nodeClass())
})

afterAll(() => world?.stop())

const claim = (name: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'default' },
  spec: {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    storageClassName: '',
    volumeName: name,
  },
})

const volume = (name: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    storageClassName: '',
    claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name },
    csi: { driver, volumeHandle: name },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [
          { matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] }] },
        ],
      },
    },
  },
})

/** A workload of one pod with six disks. */
async function withDisks(app: string, nodePoolName: string): Promise<void> {
  const names = Array.from({ length: 6 }, (_, at) => `${app}-${at}`)
  await world.apply(...names.flatMap((name) => [volume(name), claim(name)]))
  for (const name of names) {
    await world.until(`PersistentVolumeClaim ${name} is bound`, async () => {
      const path = `/api/v1/namespaces/default/persistentvolumeclaims/${name}`
      return (await world.operator.api<Seen>('GET', path)).status?.phase === 'Bound'
    })
  }
  const made = deployment({
    name: app,
    replicas: 1,
    cpu: '100m',
    nodeSelector: { 'karpenter.sh/nodepool': nodePoolName },
  })
  const { template } = made.spec
  const volumes = names.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }))
  await world.apply({
    ...made,
    spec: { ...made.spec, template: { ...template, spec: { ...template.spec, volumes } } },
  })
}

async function remove(app: string): Promise<void> {
  await world.operator.kubectl(['delete', 'deployment', app])
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()
}

test('a pod with six disks gets one node, of a size that takes them', async () => {
  await withDisks('stateful', 'general')

  await world.until('it runs', async () => (await world.running('stateful')) === 1)
  const [node, ...others] = await world.list('nodes')
  expect(others).toEqual([])
  // Two CPUs would do, and take four disks.
  expect(node?.metadata.labels?.['karpenter.azure.com/sku-cpu']).toBe('4')
  await remove('stateful')
})

const kubeletTaint = { key: 'example.com/disks', effect: 'NoSchedule' }

/** Lets a node that has joined report that it takes so many disks, and only then take pods. */
async function reportDisks(node: string, count: number): Promise<void> {
  await world.apply({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: node },
    spec: { drivers: [{ name: driver, nodeID: node, topologyKeys: [], allocatable: { count } }] },
  })
  await world.operator.kubectl(['taint', 'node', node, `${kubeletTaint.key}-`])
}

interface Refusal {
  readonly count: number
  readonly message: string
  readonly untilMs: number
  readonly refused: readonly string[]
  readonly claims: Readonly<Record<string, number>>
}

async function refusalOf(pod: string): Promise<Refusal | undefined> {
  type Maps = { readonly items: readonly (Seen & { readonly data?: Readonly<Record<string, string>> })[] }
  const { items } = await world.operator.api<Maps>('GET', '/api/v1/configmaps')
  const stored = items.find(({ metadata }) => metadata.name === 'joiner-node-refusals')?.data ?? {}
  return Object.values(stored)
    .map((text) => JSON.parse(text) as Refusal & { pod: string })
    .find((one) => one.pod.includes(pod))
}

test('a pod that kube-scheduler refuses on the nodes made for it backs off, until its NodePool changes', async () => {
  const own = nodePool({ name: 'few-disks', consolidateAfter: '0s' })
  const { template } = own.spec
  const pool = {
    ...own,
    spec: { ...own.spec, template: { ...template, spec: { ...template.spec, startupTaints: [kubeletTaint] } } },
  }
  await world.apply(pool)
  await withDisks('refused', 'few-disks')
  const reported = new Set<string>()
  /** Each new node takes two disks where the size takes eight. */
  const until = async <T>(what: string, found: () => Promise<T | undefined | false>, count = 2) =>
    world.until(what, async () => {
      for (const { metadata } of await world.list('nodes')) {
        if (reported.has(metadata.name) || metadata.deletionTimestamp !== undefined) continue
        reported.add(metadata.name)
        await reportDisks(metadata.name, count)
      }
      return (await found()) || undefined
    })
  const first = await until('the first node is refused', () => refusalOf('refused'))
  expect([first.count, first.refused.length]).toEqual([1, 1])
  expect(first.message).toMatch(/^0\/\d+ nodes are available: .*exceed max volume count/)
  const second = await until('the second node is refused', async () => {
    const found = await refusalOf('refused')
    return found !== undefined && found.count > 1 && found
  })
  expect(Object.keys(second.claims)).toHaveLength(2)
  expect(second.untilMs - Math.max(...Object.values(second.claims))).toBeGreaterThan(60_000)
  // Nothing was made before the back-off ended.
  expect(Math.max(...Object.values(second.claims))).toBeGreaterThanOrEqual(first.untilMs)
  const events = (await world.list('events')).filter(({ reason }) => reason === 'NodeRefused')
  expect(events[0]?.message).toContain('exceed max volume count')
  const pod = (await world.list('pods')).find(({ metadata }) => metadata.labels?.['app'] === 'refused')
  expect(await world.joiner('why', 'pod', `default/${pod?.metadata.name}`)).toContain(second.message)

  const weighted = { ...pool, spec: { ...pool.spec, weight: 1 } }
  await world.apply(weighted)
  await until('it runs on a node that takes its disks', async () => (await world.running('refused')) === 1, 16)
  await world.operator.kubectl(['delete', 'nodepool', 'few-disks'])
  await remove('refused')
})
