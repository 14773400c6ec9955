import { pino } from 'pino'
import { ClusterCache } from '../../../activities/kubernetes/cache/cluster-cache.ts'
import { PoolLimits } from '../../../activities/provisioning/pool-limits.ts'
import { parseResources } from '../../../core/resources.ts'
import { pauseSignal, resumeSignal } from '../../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { scrape } from '../../observed/metrics.ts'
import { type Seen, World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, beforeAll, expect, isFast, test } from '../scenario.ts'

const zoneKey = 'topology.kubernetes.io/zone'
const hostKey = 'kubernetes.io/hostname'
const selector = (app: string) => ({ matchLabels: { app } })
const zones = ['westus2-1', 'westus2-2', 'westus2-3']

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(pool(['2', '4', '8']), nodeClass())
})

/** Regional VMs are a domain of their own, named 0, so a pool that is to spread over zones names them. */
const pool = (cpus: readonly string[]) =>
  nodePool({
    consolidateAfter: 'Never',
    requirements: [
      { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
      { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: cpus },
      { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
      { key: zoneKey, operator: 'In', values: zones },
    ],
  })

afterAll(() => world?.stop())

interface WorkloadOptions {
  readonly name: string
  readonly replicas?: number
  readonly cpu?: string
  /** Fields of the pod's spec. */
  readonly pod?: object
}

function workload({ name, replicas = 1, cpu = '1', pod = {} }: WorkloadOptions) {
  const made = deployment({ name, replicas, cpu })
  const { template } = made.spec
  return { ...made, spec: { ...made.spec, template: { ...template, spec: { ...template.spec, ...pod } } } }
}

const podsOf = async (app: string) =>
  (await world.list('pods')).filter(({ metadata }) => metadata.labels?.['app'] === app)

const untilAllRun = (app: string, count: number, ms?: number) =>
  world.until(`${count} pods of ${app} run`, async () => (await world.running(app)) === count, ms)

/** Zone of the node of each pod. */
async function zonesOf(app: string): Promise<readonly string[]> {
  const nodes = new Map((await world.list('nodes')).map(({ metadata }) => [metadata.name, metadata.labels?.[zoneKey]]))
  return (await podsOf(app)).map(({ spec }) => nodes.get(spec.nodeName ?? '') ?? 'none').toSorted()
}

const nominationOf = (app: string) =>
  world.until(`an event says where ${app} should go`, async () =>
    (await world.list('events')).find(
      ({ reason, involvedObject }) => reason === 'Nominated' && involvedObject?.name?.startsWith(`${app}-`),
    ),
  )

async function remove(...apps: readonly string[]): Promise<void> {
  await world.operator.kubectl(['delete', 'deployment', ...apps])
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()
}

test('pods that must run beside others, pending together, come to one node', async () => {
  const beside = {
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: hostKey, labelSelector: selector('db') }],
  }
  await world.apply(
    workload({ name: 'db' }),
    workload({ name: 'web', replicas: 3, pod: { affinity: { podAffinity: beside } } }),
  )
  await untilAllRun('web', 3)
  const hosts = [...(await podsOf('web')), ...(await podsOf('db'))].map(({ spec }) => spec.nodeName)
  expect(new Set(hosts).size).toBe(1)
  expect((await nominationOf('web')).message).toMatch(/^Pod should schedule on: nodeclaim\/general-/)
  await remove('db', 'web')
})

const claim = (name: string, spec: object) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'default' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
})

const volume = (name: string, boundTo: string, zone: string, storageClassName: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    storageClassName,
    claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name: boundTo },
    csi: { driver: 'disk.csi.azure.com', volumeHandle: name },
    nodeAffinity: {
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: zoneKey, operator: 'In', values: [zone] }] }] },
    },
  },
})

const mounting = (claimName: string) => ({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }] })

const claimIs = (phase: string, name: string) =>
  world.until(`PersistentVolumeClaim ${name} is ${phase}`, async () => {
    const path = `/api/v1/namespaces/default/persistentvolumeclaims/${name}`
    return (await world.operator.api<Seen>('GET', path)).status?.phase === phase
  })

test('a pod goes to the zone of its bound volume', async () => {
  await world.apply(
    volume('disk', 'data', 'westus2-2', ''),
    claim('data', { storageClassName: '', volumeName: 'disk' }),
  )
  await claimIs('Bound', 'data')
  await world.apply(workload({ name: 'store', pod: mounting('data') }))
  await untilAllRun('store', 1)
  expect(await zonesOf('store')).toEqual(['westus2-2'])
  await remove('store')
})

test('a pod whose volume is to be made goes where its StorageClass allows, and keeps its node once the volume is there', async () => {
  await world.apply(
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'zonal' },
      provisioner: 'disk.csi.azure.com',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowedTopologies: [{ matchLabelExpressions: [{ key: zoneKey, values: ['westus2-3'] }] }],
    },
    claim('late', { storageClassName: 'zonal' }),
    workload({ name: 'writer', pod: mounting('late') }),
  )
  await world.until('its node is there', async () => (await world.list('nodes')).length === 1)
  // What the disk's driver would do now.
  await world.apply(volume('late-disk', 'late', 'westus2-3', 'zonal'))
  await untilAllRun('writer', 1)
  expect(await zonesOf('writer')).toEqual(['westus2-3'])
  expect(await world.list('nodeclaims')).toHaveLength(1)
  await remove('writer')
})

const spread = (app: string) => ({
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: zoneKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector: selector(app) },
  ],
})

test('pods are spread over the zones; one that comes while the nodes start finds room on them', async () => {
  await world.timing({ createMs: 5000 })
  await world.apply(workload({ name: 'spread', replicas: 6, cpu: '1500m', pod: spread('spread') }))
  const launched = await world.until('the NodeClaims are launched', async () => {
    const claims = await world.list('nodeclaims')
    const isLaunched = ({ status }: Seen) => status?.conditions?.some(({ type }) => type === 'Launched')
    return claims.length >= 3 && claims.every(isLaunched) && claims
  })
  await world.apply(workload({ name: 'more', cpu: '100m' }))
  expect((await nominationOf('more')).message).toMatch(/^Pod should schedule on: nodeclaim\/general-/)
  await untilAllRun('spread', 6)
  await untilAllRun('more', 1)
  expect(await zonesOf('spread')).toEqual([...zones, ...zones].toSorted())
  const names = (claims: readonly Seen[]) => claims.map(({ metadata }) => metadata.name).toSorted()
  expect(names(await world.list('nodeclaims'))).toEqual(names(launched))
  await world.timing({ createMs: 0 })
  await remove('spread', 'more')
})

test('a NodePool none of whose types it accepts itself says so', async () => {
  const nowhere = [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_Nope'] }]
  // A pass before it is Ready does not look at it.
  await world.apply(nodePool({ name: 'nowhere', requirements: nowhere }))
  await world.untilReady('nowhere')
  await world.apply(workload({ name: 'any' }))
  await untilAllRun('any', 1)
  const reported = await world.until('an event about the NodePool', async () =>
    (await world.list('events')).find(({ reason }) => reason === 'NoCompatibleInstanceTypes'),
  )
  expect(reported.involvedObject?.name).toBe('nowhere')
  await world.operator.kubectl(['delete', 'nodepool', 'nowhere'])
  await remove('any')
})

test('a pod that must not run on nodes of Karpenter gets no node and no event, as others beside it do', async () => {
  const elsewhere = { matchExpressions: [{ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' }] }
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [elsewhere] } }
  await world.apply(
    workload({ name: 'elsewhere', pod: { affinity: { nodeAffinity: required } } }),
    workload({ name: 'huge', cpu: '500' }),
    workload({ name: 'any' }),
  )
  await untilAllRun('any', 1)
  const eventsOf = async (app: string) =>
    (await world.list('events')).filter(
      ({ reason, source, involvedObject }) =>
        reason === 'FailedScheduling' &&
        source?.component === 'karpenter' &&
        involvedObject?.name?.startsWith(`${app}-`) === true,
    )
  await world.until('the pod that is too big has its event', async () => (await eventsOf('huge')).length > 0)
  expect(await eventsOf('elsewhere')).toEqual([])
  expect(await world.running('elsewhere')).toBe(0)
  expect(await world.list('nodeclaims')).toHaveLength(1)
  await remove('elsewhere', 'huge', 'any')
})

test('pods without constraints of their own are spread as the configuration says', async () => {
  await world.crash()
  const constraint = { maxSkew: 1, topologyKey: zoneKey, whenUnsatisfiable: 'DoNotSchedule' }
  const config = { podTopologySpread: { defaultConstraints: [constraint] } }
  await world.installation.applyRights({ 'settings.schedulerConfig': config })
  world.startJoiner('joiner', { SCHEDULER_CONFIG: JSON.stringify(config) })
  await world.apply(workload({ name: 'unaware', replicas: 3, cpu: '1500m' }))
  await untilAllRun('unaware', 3)
  const nodes = await world.list('nodes')
  expect(nodes.map(({ metadata }) => String(metadata.labels?.[zoneKey])).toSorted()).toEqual(zones)
  await remove('unaware')
  await world.crash()
  world.startJoiner()
})

test('limits count as they are when a claim is created, whatever the plan knew', async () => {
  const client = await world.kubernetes()
  const cache = new ClusterCache(client, pino({ level: 'silent' }))
  cache.start()
  await cache.synced()
  const limited = (cpu: string) => {
    const one = nodePool({ name: 'limited' })
    return { ...one, spec: { ...one.spec, limits: { cpu, nodes: '5' } } }
  }
  const admit = (limits: PoolLimits, cpu: string) =>
    limits.admit({ nodePool: 'limited', requests: parseResources({ cpu }) })
  const fresh = () => new PoolLimits({ client, cache, now: () => Date.now() })
  await world.apply(limited('4'))
  const limits = fresh()
  expect(await admit(limits, '3')).toMatchObject({ kind: 'admitted', nodePool: { metadata: { name: 'limited' } } })
  expect(await admit(limits, '2')).toMatchObject({ kind: 'limitExceeded', message: expect.stringContaining('limit=4') })
  expect(await admit(limits, '1')).toMatchObject({ kind: 'admitted' })
  await world.apply(limited('2'))
  expect(await admit(fresh(), '3')).toMatchObject({
    kind: 'limitExceeded',
    message: expect.stringContaining('limited'),
  })
  await world.operator.kubectl(['delete', 'nodepool', 'limited'])
  expect(await admit(fresh(), '1')).toEqual({ kind: 'poolGone' })
  cache.stop()
  await client.close()
})

/** The lines that Joiner logged, oldest first. */
async function logged(message: string): Promise<readonly Record<string, unknown>[]> {
  const lines = (await world.cluster.supervisor.tail('joiner', 10_000)).split('\n')
  return lines.flatMap((line) => {
    if (!line.startsWith('{')) return []
    const entry = JSON.parse(line) as Record<string, unknown>
    return entry['msg'] === message ? [entry] : []
  })
}

/** In virtual time a hundred show the same: benches hold the time that more take. */
const count = isFast ? 100 : 1000

test('many pods of mixed constraints become a plan in one pass, with its time in the log and in the metrics', async () => {
  await world.apply(pool(['32']))
  await world.loop('provisioning').signal(pauseSignal, { reason: 'until all are pending' })
  const apart = {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: hostKey, labelSelector: selector('apart') }],
    },
  }
  const near = {
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: zoneKey, labelSelector: selector('near') }],
    },
  }
  const wished = {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, preference: { matchExpressions: [{ key: zoneKey, operator: 'In', values: ['westus2-1'] }] } },
      ],
    },
  }
  await world.apply(
    workload({ name: 'plain', replicas: count / 2, cpu: '200m' }),
    workload({ name: 'evenly', replicas: count / 5, cpu: '250m', pod: spread('evenly') }),
    workload({ name: 'near', replicas: count / 10, cpu: '200m', pod: { affinity: near } }),
    workload({ name: 'wished', replicas: count / 10, cpu: '300m', pod: { affinity: wished } }),
    workload({
      name: 'fixed',
      replicas: count / 10 - 5,
      cpu: '100m',
      pod: { nodeSelector: { [zoneKey]: 'westus2-3' } },
    }),
    workload({ name: 'apart', replicas: 5, cpu: '500m', pod: { affinity: apart } }),
  )
  await world.until('all are pending', async () => {
    const pods = await world.list('pods')
    const waiting = pods.filter(({ status }) => status?.conditions?.some(({ reason }) => reason === 'Unschedulable'))
    return waiting.length === count
  })
  const before = await scrape(world)
  await world.loop('provisioning').signal(resumeSignal, dated())
  const pass = await world.until('the plan', async () =>
    (await logged('planned pods')).find(({ pods }) => pods === count),
  )
  expect(pass).toMatchObject({ pods: count, unschedulable: 0, ignored: 0, onNodes: 0 })
  expect(pass['nodeClaims']).toBeGreaterThanOrEqual(5)
  expect(pass['nodeClaims']).toBeLessThan(40)
  const createdTotal =
    'karpenter_nodeclaims_created_total{reason="provisioned",nodepool="general",min_values_relaxed="false"}'
  const after = await world.until('its NodeClaims are created', async () => {
    const metrics = await scrape(world)
    return (metrics.get(createdTotal) ?? 0) - (before.get(createdTotal) ?? 0) >= Number(pass['nodeClaims']) && metrics
  })
  expect((await world.list('nodeclaims')).length).toBeGreaterThanOrEqual(Number(pass['nodeClaims']))
  const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
  const duration = 'karpenter_scheduler_scheduling_duration_seconds'
  expect(grown(`${duration}_count{controller="provisioner"}`)).toBeGreaterThanOrEqual(1)
  const seconds = grown(`${duration}_sum{controller="provisioner"}`)
  expect(seconds * 1000).toBeGreaterThan(Number(pass['solveMs']) - 2)
  expect(grown('karpenter_pods_scheduling_decision_duration_seconds_count')).toBe(count)
  expect(Object.fromEntries(after)).toMatchObject({
    'karpenter_scheduler_unschedulable_pods_count{controller="provisioner"}': 0,
    karpenter_scheduler_ignored_pods_count: 0,
    karpenter_cluster_state_synced: 1,
  })
  await world.until('all run', async () =>
    (await world.list('pods')).every(({ status }) => status?.phase === 'Running'),
  )
  // kube-scheduler does not follow the plan to the letter, so that single pods may need another node.
  expect((await world.list('nodeclaims')).length).toBeLessThan(Number(pass['nodeClaims']) + 4)
})
