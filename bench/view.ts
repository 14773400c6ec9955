import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Json } from '../activities/kubernetes/client/answers.ts'
import { noPaint } from '../starter/cli/top/columns.ts'
import { frameOf } from '../starter/cli/top/frame.ts'
import { ClusterModel } from '../starter/picture/watch/cluster-model.ts'
import { claimFact, nodeFact, podFact } from '../starter/picture/watch/facts.ts'
import { circumstances, percentile, table } from './report.ts'

const created = '2026-01-01T00:00:00Z'
const changes = 1000
const rebuilds = 10

/** The view of a large cluster: the first one from its lists, each change, its memory; and everything built again for each change instead. */
export function view({ nodes, podsEach }: { readonly nodes: number; readonly podsEach: number }): void {
  const collect = collector()
  const lists = textsOf(nodes, podsEach)
  const startedAt = performance.now()
  const objects = { nodes: parsed(lists.nodes), claims: parsed(lists.claims), pods: lists.pods.map(parsed).flat() }
  const parseMs = performance.now() - startedAt
  collect()
  const before = process.memoryUsage().heapUsed
  const model = new ClusterModel()
  const decoded = measured(() => enterAll(model, objects))
  const firstMs = measured(() => void model.takeChange(Date.now()))
  collect()
  const heap = process.memoryUsage().heapUsed - before

  const singles = Array.from({ length: changes }, (_, at) =>
    measured(() => {
      move(model, objects.pods[at * 7] as Json, `node-${at % nodes}`)
      model.takeChange(Date.now())
    }),
  )
  const burst = measured(() => {
    for (let at = 0; at < changes; at++) move(model, objects.pods[at * 11] as Json, `node-${(at * 3) % nodes}`)
    model.takeChange(Date.now())
  })
  const whole = Array.from({ length: rebuilds }, () =>
    measured(() => {
      const again = new ClusterModel()
      enterAll(again, objects)
      again.takeChange(Date.now())
    }),
  )
  const state = { sort: 'cpu', isReversed: false, filter: '', isTyping: false, offset: 0 } as const
  const place = { columns: 160, rows: 50, paint: noPaint, server: 'bench', resources: ['cpu', 'memory'] } as const
  const frames = Array.from({ length: rebuilds }, () =>
    measured(() => void frameOf(model.view(Date.now()), state, place)),
  )
  const text = JSON.stringify(model.view(Date.now()))
  move(model, objects.pods[0] as Json, 'node-1')
  const change = JSON.stringify(model.takeChange(Date.now()))

  const single = percentile(singles, 50)
  const rebuilt = percentile(whole, 50)
  console.log(`### A view of ${nodes} nodes with ${nodes * podsEach} pods, ${circumstances()}\n`)
  console.log(
    table(
      ['', 'time', 'to everything built again'],
      [
        ['JSON of all lists parsed', ms(parseMs), ''],
        ['objects decoded and entered', ms(decoded), ''],
        ['the first view from them', ms(firstMs), ''],
        ['a pod moves, median', ms(single), (single / rebuilt).toFixed(4)],
        ['a pod moves, 99 of 100', ms(percentile(singles, 99)), (percentile(singles, 99) / rebuilt).toFixed(4)],
        [`${changes} pods move at once`, ms(burst), (burst / rebuilt).toFixed(2)],
        ['everything built again, median', ms(rebuilt), '1'],
        ['a frame of `joiner top`, median', ms(percentile(frames, 50)), ''],
      ],
    ),
  )
  console.log(
    `\nMemory that the view keeps: ${mib(heap)}. As JSON it has ${mib(text.length)}, a change of one pod ${(change.length / 1024).toFixed(0)} KiB.`,
  )
}

interface Objects {
  readonly nodes: readonly Json[]
  readonly claims: readonly Json[]
  readonly pods: readonly Json[]
}

function enterAll(model: ClusterModel, { nodes, claims, pods }: Objects): void {
  for (const json of nodes) model.setNode(nameOf(json), nodeFact(json))
  for (const json of claims) model.setClaim(nameOf(json), claimFact(json))
  for (const json of pods) model.setPod(`shop/${nameOf(json)}`, podFact(json))
  model.setPrices(() => 0.2)
}

function move(model: ClusterModel, pod: Json, nodeName: string): void {
  const moved = { ...pod, spec: { ...(pod['spec'] as Json), nodeName } }
  model.setPod(`shop/${nameOf(pod)}`, podFact(moved))
}

const nameOf = ({ metadata }: Json) => (metadata as { readonly name: string }).name
const parsed = (text: string) => JSON.parse(text) as readonly Json[]
const ms = (value: number) => `${value.toFixed(value < 10 ? 2 : 0)} ms`
const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`

function measured(work: () => void): number {
  const startedAt = performance.now()
  work()
  return performance.now() - startedAt
}

/** Returns a function that collects garbage now. */
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}

/** Lists as an API server sends them; pods in pages of 500, each as large as those of a usual Deployment. */
function textsOf(nodes: number, podsEach: number) {
  const names = Array.from({ length: nodes }, (_, at) => at)
  const pods = names.flatMap((at) =>
    Array.from({ length: podsEach }, (_, one) => pod(`web-${at}-${one}`, `node-${at}`)),
  )
  return {
    nodes: JSON.stringify(names.map((at) => node(`node-${at}`))),
    claims: JSON.stringify(names.map((at) => claim(`general-${at}`, `node-${at}`))),
    pods: Array.from({ length: Math.ceil(pods.length / 500) }, (_, page) =>
      JSON.stringify(pods.slice(page * 500, (page + 1) * 500)),
    ),
  }
}

const meta = (name: string, more: Json = {}): Json => ({
  name,
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: created,
  ...more,
})

const labels = {
  'karpenter.sh/nodepool': 'general',
  'karpenter.sh/capacity-type': 'spot',
  'topology.kubernetes.io/zone': 'westus2-1',
  'node.kubernetes.io/instance-type': 'Standard_D16s_v5',
}

const condition = (type: string) => ({ type, status: 'True', reason: type, message: '', lastTransitionTime: created })

function node(name: string): Json {
  return {
    metadata: meta(name, { labels: { ...labels, 'kubernetes.io/hostname': name } }),
    spec: { providerID: `azure:///${name}` },
    status: {
      allocatable: { cpu: '15820m', memory: '60Gi', pods: '110' },
      capacity: { cpu: '16', memory: '64Gi', pods: '110' },
      conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map(condition),
      images: Array.from({ length: 50 }, (_, at) => ({ names: [`registry/image-${at}:v1`], sizeBytes: 10 ** 8 })),
    },
  }
}

function claim(name: string, nodeName: string): Json {
  return {
    metadata: meta(name, { labels }),
    spec: { requirements: [], nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' } },
    status: {
      nodeName,
      providerID: `azure:///${nodeName}`,
      allocatable: { cpu: '15820m', memory: '60Gi', pods: '110' },
      conditions: ['Launched', 'Registered', 'Initialized'].map(condition),
    },
  }
}

function pod(name: string, nodeName: string): Json {
  const container = (at: number) => ({
    name: `container-${at}`,
    image: 'registry/web:v1',
    env: Array.from({ length: 10 }, (_, one) => ({ name: `VARIABLE_${one}`, value: 'a value of an ordinary length' })),
    resources: { requests: { cpu: '250m', memory: '512Mi' }, limits: { memory: '512Mi' } },
  })
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'uid-web', controller: true }
  return {
    metadata: meta(name, {
      namespace: 'shop',
      labels: { app: 'web', 'pod-template-hash': '5d9c7' },
      ownerReferences: [owner],
      managedFields: Array.from({ length: 20 }, (_, at) => ({ manager: `manager-${at}`, fieldsV1: { 'f:spec': {} } })),
    }),
    spec: { nodeName, containers: [container(0), container(1)], tolerations: [{ key: 'a', operator: 'Exists' }] },
    status: {
      phase: 'Running',
      startTime: created,
      conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map(condition),
      containerStatuses: [0, 1].map((at) => ({ name: `container-${at}`, ready: true, restartCount: 0 })),
    },
  }
}
