import { performance } from 'node:perf_hooks'
import type { InstanceType } from '../core/instance-type.ts'
import type { Pod } from '../core/objects.ts'
import { quantityMilliValue } from '../core/quantity.ts'
import { samplePod, samplePool, sampleType } from '../core/sample-objects.ts'
import { schedule } from '../core/scheduling/schedule.ts'
import { circumstances, table } from './report.ts'

const families = 50
const cores = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128] as const
const runs = 3

/** 600 types; families differ by a label, and a little in size so that no two types are alike. */
const types: readonly InstanceType[] = Array.from({ length: families }, (_, family) =>
  cores.map((cpu) =>
    sampleType(`f${family}-${cpu}`, cpu + family / 1000, [
      { key: 'karpenter.azure.com/sku-family', operator: 'In', values: [`F${family}`] },
    ]),
  ),
).flat()

interface Workload {
  readonly name: string
  readonly pod: (index: number) => Pod
}

const app = (index: number) => ({ app: `app-${index % 20}` })
const sizes = [
  { cpu: '100m', memory: '256Mi' },
  { cpu: '500m', memory: '1Gi' },
  { cpu: 1, memory: '2Gi' },
  { cpu: 2, memory: '12Gi' },
] as const

/** Pods of twenty Deployments each. */
const workloads: readonly Workload[] = [
  { name: 'plain', pod: (index) => samplePod(`p${index}`, shape(index)) },
  {
    name: 'spread over zones',
    pod: (index) =>
      samplePod(`p${index}`, {
        ...shape(index),
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'topology.kubernetes.io/zone',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: app(index) },
          },
        ],
      }),
  },
  {
    name: 'apart by hostname',
    pod: (index) =>
      samplePod(`p${index}`, {
        ...shape(index),
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: app(index) } },
            ],
          },
        },
      }),
  },
]

function shape(index: number) {
  return { metadata: { labels: app(index) }, requests: sizes[index % sizes.length] ?? sizes[0] }
}

/** Times the planner on each workload and size, and prints one table. */
export function scheduling(podCounts: readonly number[]): void {
  const rows = workloads.flatMap(({ name, pod }) =>
    podCounts.map((count) => {
      const pods = Array.from({ length: count }, (_, index) => pod(index))
      const planned = timed(() => plan(pods))
      const floor = timed(() => firstFit(pods))
      return [
        `${name}, ${count} pods`,
        `${planned.ms.toFixed(0)} ms`,
        String(planned.result),
        ((1000 * count) / planned.ms).toFixed(0),
        `${floor.ms.toFixed(1)} ms`,
        String(floor.result),
      ]
    }),
  )
  const head = ['median of 3', 'schedule()', 'NodeClaims', 'pods/s', 'baseline', 'nodes']
  console.log(`### Planner, ${types.length} instance types, ${circumstances()}\n\n${table(head, rows)}\n`)
  console.log(
    'Baseline: first fit of two numbers, cores and memory, into nodes of the largest size; no rules, no choice of types.\n',
  )
}

/** Returns how many NodeClaims the planner wants. Errors: a pod without a place, which would make the time worthless. */
function plan(pods: readonly Pod[]): number {
  const option = { nodePool: samplePool(), instanceTypes: types, usage: {} }
  const { newNodeClaims, unschedulable } = schedule({ pods, nodes: [], nodePools: [option], daemonSets: [] })
  const [first] = unschedulable
  if (first !== undefined) throw new Error(`pod ${first.pod.metadata.name} has no place: ${first.message}`)
  return newNodeClaims.length
}

/** The least that any placement of these pods has to do. */
function firstFit(pods: readonly Pod[]): number {
  const amount = (pod: Pod, name: string) =>
    Number(quantityMilliValue(pod.requests[name] ?? { nano: 0n, format: 'DecimalSI' }))
  const wanted = pods.map((pod) => ({ cpu: amount(pod, 'cpu'), memory: amount(pod, 'memory') }))
  wanted.sort((a, b) => b.cpu - a.cpu || b.memory - a.memory)
  const largest = Math.max(...cores)
  const nodes: { cpu: number; memory: number; pods: number }[] = []
  for (const { cpu, memory } of wanted) {
    let node = nodes.find((open) => open.cpu >= cpu && open.memory >= memory && open.pods > 0)
    if (node === undefined) {
      node = { cpu: largest * 1000, memory: largest * 4 * 1024 ** 3 * 1000, pods: 110 }
      nodes.push(node)
    }
    node.cpu -= cpu
    node.memory -= memory
    node.pods -= 1
  }
  return nodes.length
}

/** The median time of a few runs, after one that warms the code. */
function timed(work: () => number): { readonly ms: number; readonly result: number } {
  const result = work()
  const times = Array.from({ length: runs }, () => {
    const start = performance.now()
    work()
    return performance.now() - start
  })
  return { ms: times.toSorted((a, b) => a - b)[Math.floor(runs / 2)] ?? 0, result }
}
