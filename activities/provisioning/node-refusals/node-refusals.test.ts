import { describe, expect, it, test, vi } from 'vitest'
import type { SchedulingPlan } from '../../../core/scheduling/snapshot.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { metricLines } from '../../../test/fakes/deps.ts'
import { at, claimJson, condition, nodeClassJson, nodeJson, podJson, poolJson } from '../../../test/fakes/objects.ts'
import { plannedClaim, planningDeps } from '../../../test/fakes/planning.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { podClass } from '../../scheduler-thread/pod-fingerprint.ts'
import { createClaims } from '../create-claims.ts'
import { Fence } from '../fence.ts'
import { podsToPlace } from '../planning-snapshot.ts'
import { NodeRefusals } from './node-refusals.ts'

useFakeTime()

const text = '0/2 nodes are available: 2 node(s) exceed max volume count.'
const fields = { 'f:status': { 'f:conditions': { 'k:{"type":"PodScheduled"}': {} } } }

/** A pending pod of which kube-scheduler wrote at a time, with fields of its spec and metadata. */
function pending(name: string, judgedAt: number, spec: Json = {}, metadata: Json = {}): Json {
  return podJson(name, '', {
    metadata: { labels: { app: 'web' }, managedFields: [{ time: at(judgedAt), fieldsV1: fields }], ...metadata },
    spec: { nodeName: undefined, containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }], ...spec },
    status: {
      phase: 'Pending',
      startTime: undefined,
      conditions: [
        { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: text, lastTransitionTime: at(0) },
      ],
    },
  })
}

async function world(...pods: readonly Json[]) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson())
  cluster.put('aksnodeclasses', nodeClassJson())
  for (const pod of pods) cluster.put('pods', pod)
  const known = await planningDeps(cluster)
  const { deps } = known
  const refusals = deps.nodeRefusals
  const all = () => podsToPlace(deps)
  const fence = await Fence.take(deps, 'joiner-planner-fence', 'test')
  return {
    ...known,
    cluster,
    refusals,
    all,
    look: (by = refusals) => by.look(deps, all()),
    waits: (by = refusals) =>
      all()
        .filter((pod) => by.isWaiting(deps, pod, Date.now()))
        .map(({ metadata }) => metadata.name),
    /** Creates a NodeClaim for all pending pods but some, whose node is up at a time; its name. */
    make: async (readyAt: number, status: Json = {}, but: readonly string[] = []) => {
      const pods = all().filter(({ metadata }) => !but.includes(metadata.name))
      const { names } = await ended(createClaims(deps, fence, [plannedClaim({ pods })]))
      const [name = ''] = names
      const ready = ['Launched', 'Registered', 'Initialized'].map((type) => condition(type, 'True', readyAt))
      cluster.edit('nodeclaims', name, {
        ...claimJson(name, { metadata: {}, status: { allocatable: { cpu: '4', memory: '16Gi', pods: '110' } } }),
        metadata: {},
        spec: {},
        status: {
          ...(claimJson(name)['status'] as Json),
          allocatable: { cpu: '4', memory: '16Gi', pods: '110' },
          conditions: ready,
        },
      })
      cluster.put('nodes', nodeJson(name, { status: { ...(nodeJson(name)['status'] as Json), ...status } }))
      return name
    },
    /** What is left to create of a plan that wants a new NodeClaim for these pods. */
    admitted: (names: readonly string[], existing: SchedulingPlan['existing'] = []) =>
      refusals.admitted(deps, {
        newNodeClaims: [plannedClaim({ pods: all().filter(({ metadata }) => names.includes(metadata.name)) })],
        existing,
        unschedulable: [],
        stopped: false,
      }).length,
  }
}

type Known = Awaited<ReturnType<typeof world>>

/** Lets kube-scheduler refuse the node of a claim. */
async function refused({ cluster, look }: Known, pod: string, seconds: number): Promise<void> {
  await pass(at(seconds) > new Date().toISOString() ? Date.parse(at(seconds)) - Date.now() : 0)
  cluster.put('pods', pending(pod, seconds))
  look()
}

/** Three pods of one controller, whose node is refused. */
async function refusedThree(): Promise<Known> {
  const labels = (name: string) => ({ labels: { app: 'web', 'statefulset.kubernetes.io/pod-name': name } })
  const known = await world(...['a', 'b', 'c'].map((name) => pending(name, 0, {}, labels(name))))
  await known.make(5)
  await pass(6000)
  known.cluster.put('pods', pending('a', 6, {}, labels('a')))
  known.look()
  return known
}

describe('a pod that kube-scheduler does not bind to the node made for it', () => {
  it('backs off with the words of kube-scheduler, for 30 s', async () => {
    const known = await world(pending('a', 0))
    const name = await known.make(20)
    expect(known.cluster.all('nodeclaims')[0]?.metadata.annotations).toMatchObject({
      'joiner.sh/planned-pods': '1',
      'joiner.sh/planned-pod-classes': expect.stringMatching(/^[0-9a-f]{16}$/),
    })
    await pass(20_000)
    known.look()
    expect(known.waits()).toEqual([])
    await refused(known, 'a', 21)
    expect(known.waits()).toEqual(['a'])
    const event = known.reported.find(({ reason }) => reason === 'NodeRefused')
    expect(event).toMatchObject({ about: 'Pod/a', message: expect.stringContaining(name) })
    expect(event?.message).toContain(text)
    expect(await metricLines(known.registry, 'joiner_node_refusals{')).toEqual([
      `joiner_node_refusals{pod="default/a",nodepool="default",message="${text}"} 1`,
    ])
    await pass(29_999)
    expect(known.waits()).toEqual(['a'])
    await pass(1)
    expect(known.waits()).toEqual([])
  })

  it('is like others of its controller, whose nodes are refused as well; one of them is tried after the back-off', async () => {
    const known = await refusedThree()
    expect(known.waits()).toEqual(['a', 'b', 'c'])
    await pass(30_000)
    known.look()
    const first = known.waits()
    expect(first).toHaveLength(2)
    await pass(10_000)
    known.look()
    expect(known.waits()).toHaveLength(2)
    expect(known.waits()).not.toEqual(first)
  })

  it('waits while the node of another one is tried', async () => {
    const known = await refusedThree()
    await pass(30_000)
    known.look()
    const others = known.waits()
    await known.make(120, {}, others)
    for (let turn = 0; turn < 4; turn++) {
      await pass(10_000)
      known.look()
      expect(known.waits()).toEqual(expect.arrayContaining([...others]))
    }
  })

  it('does not back off when other pods took the room', async () => {
    const known = await world(pending('a', 0))
    const name = await known.make(5)
    known.cluster.put(
      'pods',
      podJson('other', name, { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '3500m' } } }] } }),
    )
    await refused(known, 'a', 10)
    expect(known.waits()).toEqual([])
  })

  it('does not back off while kube-scheduler waits for its volumes on that node', async () => {
    const disk = { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'disk' } }] }
    const known = await world(pending('a', 0, disk))
    const volumeClaim = (node: string): Json => ({
      metadata: { name: 'disk', namespace: 'default', annotations: { 'volume.kubernetes.io/selected-node': node } },
      spec: { storageClassName: 'disks' },
      status: { phase: 'Pending' },
    })
    known.cluster.put('persistentvolumeclaims', volumeClaim('another'))
    const name = await known.make(5)
    known.cluster.put('persistentvolumeclaims', volumeClaim(`aks-${name}`))
    await pass(30_000)
    known.cluster.put('pods', pending('a', 30, disk))
    known.look()
    expect(known.waits()).toEqual([])
    known.cluster.put('persistentvolumeclaims', volumeClaim('another'))
    known.look()
    expect(known.waits()).toEqual(['a'])
  })

  it('does not back off while another node for the class is to come', async () => {
    const known = await world(pending('a', 0))
    const name = await known.make(5)
    const other = await known.make(5)
    known.cluster.edit('nodeclaims', other, { status: { conditions: [condition('Initialized', 'Unknown')] } })
    known.deps.nominations.nominate('uid-a', name, Date.now())
    await refused(known, 'a', 10)
    expect(known.waits()).toEqual([])
    known.cluster.remove('nodeclaims', other)
    await pass(0)
    known.look()
    expect(known.waits()).toEqual(['a'])
  })

  it('does not back off when kube-scheduler bound another pod of the class to a node made for it, and not any more then', async () => {
    const known = await world(pending('a', 0), pending('b', 0))
    const name = await known.make(5)
    await refused(known, 'a', 10)
    expect(known.waits()).toEqual(['a', 'b'])
    const bound = podJson('b', name, {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] },
      status: { conditions: [condition('PodScheduled', 'True', 11)] },
    })
    known.cluster.remove('pods', 'b', 'default')
    known.cluster.put('pods', bound)
    known.look()
    expect(known.waits()).toEqual([])
    await refused(known, 'a', 12)
    expect(known.waits()).toEqual([])
  })

  it.each([
    [
      'a change of its NodePool',
      ({ cluster }: Known) => cluster.edit('nodepools', 'default', { metadata: { generation: 2 } }),
    ],
    [
      'a change of its AKSNodeClass',
      ({ cluster }: Known) => cluster.edit('aksnodeclasses', 'default', { metadata: { generation: 2 } }),
    ],
    ['another NodePool', ({ cluster }: Known) => cluster.put('nodepools', poolJson('other'))],
    [
      'a change of the pod',
      ({ cluster }: Known) => {
        cluster.remove('pods', 'a', 'default')
        cluster.put('pods', pending('a', 10, { nodeSelector: { disk: 'none' } }, { uid: 'uid-other' }))
      },
    ],
  ])('is planned again at once after %s', async (_, change) => {
    const known = await world(pending('a', 0))
    await known.make(5)
    await refused(known, 'a', 10)
    expect(known.waits()).toEqual(['a'])
    change(known)
    known.look()
    expect(known.waits()).toEqual([])
  })

  it('waits after a restart of the planner as before', async () => {
    const known = await world(pending('a', 0))
    await known.make(5)
    await refused(known, 'a', 10)
    await pass(0)
    const restarted = new NodeRefusals(new (await import('prom-client')).Registry())
    await restarted.read(known.deps)
    known.look(restarted)
    expect(known.waits(restarted)).toEqual(['a'])
    expect(known.cluster.all('configmaps').map(({ metadata }) => metadata.name)).toContain('joiner-node-refusals')
  })
})

describe('the ConfigMap of refusals', () => {
  const name = 'joiner-node-refusals'
  const entries = ({ cluster }: Known) => cluster.object('configmaps', name, 'joiner')?.data ?? {}
  const one = (podClass: string) => ({
    podClass,
    pod: 'shop/a',
    nodePool: 'default',
    state: 's',
    message: 'no',
    refused: ['n'],
    claims: {},
    count: 1,
    sinceMs: Date.now(),
    untilMs: Date.now() + 30_000,
  })
  const stored = (known: Known, data: Readonly<Record<string, string>>) =>
    known.cluster.put('configmaps', { metadata: { name, namespace: 'joiner' }, data })

  it('loses what is no refusal, or stands under the name of another class', async () => {
    const known = await world(pending('a', 0))
    stored(known, { c: JSON.stringify(one('c')), odd: '{', other: JSON.stringify(one('b')) })
    await known.refusals.read(known.deps)
    known.look()
    await pass(0)
    expect(Object.keys(entries(known))).toEqual(['c'])
  })

  it('holds 200 classes: the oldest makes room', async () => {
    const known = await world(pending('a', 0))
    const classes = Array.from({ length: 200 }, (_, at) => `c${at}`)
    stored(known, Object.fromEntries(classes.map((each) => [each, JSON.stringify(one(each))])))
    await known.make(5)
    await known.refusals.read(known.deps)
    await refused(known, 'a', 10)
    await pass(0)
    expect([Object.keys(entries(known)).length, 'c0' in entries(known)]).toEqual([200, false])
  })
})

describe('a new NodeClaim for a pod that has a node already', () => {
  test('waits for kube-scheduler where the node reports less than was promised', async () => {
    const known = await world(pending('a', 0))
    const name = await known.make(5, { allocatable: { cpu: '500m', memory: '16Gi', pods: '110' } })
    await pass(5000)
    expect(known.admitted(['a'])).toBe(0)
    expect(known.waits()).toEqual(['a'])
    expect(known.deps.nominations.targets(Date.now()).has(name)).toBe(true)
    await pass(15_000)
    known.look()
    expect([known.waits(), known.deps.nominations.targets(Date.now()).has(name)]).toEqual([['a'], true])
    // A text of after the registration, and kube-scheduler has had time.
    await refused(known, 'a', 20)
    await pass(29_000)
    expect(known.waits()).toEqual(['a'])
    await pass(1000)
    expect([known.waits(), known.admitted(['a'])]).toEqual([[], 1])
  })

  test('is created when the node is gone, full, leaving, or planned for others', async () => {
    const known = await world(pending('a', 0), pending('b', 0, {}, { labels: { app: 'other' } }))
    const name = await known.make(5)
    await pass(5000)
    const [a, b] = known.all()
    const full = {
      node: `aks-${name}`,
      pods: [{ ...a, metadata: { ...a?.metadata, uid: 'x' }, requests: b?.requests }],
    } as never
    const four = Array.from({ length: 4 }, () => full) as SchedulingPlan['existing']
    expect(
      known.admitted(
        ['a'],
        [
          {
            node: `aks-${name}`,
            pods: four.flatMap(({ pods }, at) =>
              pods.map((pod) => ({ ...pod, metadata: { ...pod.metadata, uid: `x${at}` } })),
            ),
          },
        ],
      ),
    ).toBe(1)
    expect(known.admitted(['a'])).toBe(0)
    known.cluster.edit('nodeclaims', name, { metadata: { deletionTimestamp: at(6) } })
    known.look()
    expect([known.waits(), known.admitted(['a', 'b'])]).toEqual([[], 1])
  })

  test('is created for a pod that came after the node', async () => {
    const known = await world(pending('a', 0))
    await known.make(5, { allocatable: { cpu: '500m', memory: '16Gi', pods: '110' } })
    await pass(10_000)
    known.cluster.put('pods', pending('late', 10, {}, { creationTimestamp: at(9) }))
    expect(known.admitted(['late'])).toBe(1)
  })
})

test.each([
  ['that are full', '1'],
  ['with room, each of which waits', '4'],
])('many pods look at many nodes of their class %s, and not each at each', async (_, cpu) => {
  const [nodes, pods] = [30, 40]
  const names = Array.from({ length: pods }, (_, at) => `p${at}`)
  const known = await world(...names.map((name) => pending(name, 0)))
  const [first] = known.all()
  const classes = first === undefined ? '' : podClass(known.deps.cache, first)
  const ready = ['Launched', 'Registered', 'Initialized'].map((type) => condition(type, 'True', 5))
  for (let at = 0; at < nodes; at++) {
    const name = `n${at}`
    const own = { annotations: { 'joiner.sh/planned-pod-classes': classes } }
    const status = { allocatable: { cpu, memory: '16Gi', pods: '110' }, conditions: ready }
    known.cluster.put('nodeclaims', claimJson(name, { metadata: own, status }))
    known.cluster.put('nodes', nodeJson(name))
    const containers = [{ name: 'c', resources: { requests: { cpu: '1' } } }]
    known.cluster.put('pods', podJson(`b${at}`, name, { spec: { containers } }))
  }
  await pass(6000)
  const reads = vi.spyOn(known.deps.cache.pods, 'by')
  expect(known.admitted(names)).toBe(cpu === '1' ? 1 : 0)
  expect(reads.mock.calls.length).toBeLessThanOrEqual(3 * nodes)
})

test('three NodeClaims in five minutes, and each refusal doubles the wait, on a cluster whose nodes are always refused', async () => {
  const known = await world(pending('a', 0))
  const created: number[] = []
  for (let second = 0; second < 1200; second += 5) {
    const isOut = known.cluster.all('nodeclaims').length > 0
    if (!isOut && known.waits().length === 0 && known.admitted(['a']) === 1) {
      created.push(second)
      await known.make(second + 5)
    }
    await pass(5000)
    await refused(known, 'a', second + 6)
    for (const { metadata } of known.waits().length > 0 ? known.cluster.all('nodeclaims') : []) {
      known.cluster.remove('nodes', `aks-${metadata.name}`)
      known.cluster.remove('nodeclaims', metadata.name)
    }
  }
  const most = Math.max(...created.map((from) => created.filter((time) => time >= from && time < from + 300).length))
  expect([most, created.length]).toEqual([3, 6])
})
