import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { pino } from 'pino'
import { Gauge, Registry, register } from 'prom-client'
import { request } from 'undici'
import { ClusterCache } from '../activities/kubernetes/cache/cluster-cache.ts'
import type { Json } from '../activities/kubernetes/client/answers.ts'
import { exposition, type GaugeFamily } from '../activities/telemetry/gauge-family.ts'
import type { Config } from '../api/config.ts'
import { observeCluster } from '../workers/cluster-observer.ts'
import { startHealthServer } from '../workers/telemetry/health-server.ts'
import { metricsText } from '../workers/telemetry/metrics-text.ts'
import { circumstances, table } from './report.ts'
import { entering } from './scheduling/entering.ts'
import { largeCluster } from './workloads/azure-workloads.ts'

const log = pino({ level: 'silent' })

/** A scrape of the process that reports a large cluster, and what it keeps other work waiting; the same series in prom-client beside it. */
export async function scrape(): Promise<void> {
  const scenario = largeCluster()
  const cache = new ClusterCache({} as never, log)
  const enter = entering(cache, scenario)
  for (const object of scenario.objects) enter(withConditions(object as unknown as Json, scenario.now))
  const config = { JOINER_ROLES: ['bridge'], DISABLE_CLUSTER_STATE_OBSERVABILITY: false } as unknown as Config
  const observer = observeCluster({ cache, registry: register, now: () => Date.now() } as never, config, {
    isReported: () => true,
  })
  const server = await startHealthServer(0, {
    notReady: () => [],
    metrics: () => metricsText({ gauges: [observer.families], temporal: async () => '', log }),
  })
  const url = `${server.address.replace('0.0.0.0', '127.0.0.1')}/metrics`
  const written = await measured(3, async () => {
    let size = 0
    for await (const chunk of exposition(observer.families())) size += chunk.length
    return size
  })
  const served = await measured(3, async () => {
    const { body } = await request(url, { headers: { 'accept-encoding': 'gzip' } })
    let size = 0
    for await (const chunk of body) size += (chunk as Buffer).length
    return size
  })
  const families = observer.families().map(parsed)
  const library = await measured(1, () => inLibrary(families))
  const series = families.reduce((sum, family) => sum + family.series.length, 0)
  console.log(`### A scrape, ${circumstances()}\n`)
  console.log(
    table(
      ['', 'CPU', 'time', 'longest wait of other work', 'size'],
      [
        ['the text', ...written],
        ['/metrics, compressed', ...served],
        ['the text from prom-client', ...library],
      ],
    ),
  )
  console.log(`\n${scenario.description}; ${series} series; medians.`)
  await server.close()
  process.exit(0)
}

/** CPU time, time, and the longest that the event loop stood still; medians, and the size of the text. */
async function measured(rounds: number, work: () => Promise<number>): Promise<readonly string[]> {
  const figures: (readonly [cpuMs: number, ms: number, waitMs: number])[] = []
  let size = 0
  for (let round = 0; round < rounds; round++) {
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    await setTimeout(10)
    delay.reset()
    const cpu = process.cpuUsage()
    const startedAt = performance.now()
    size = await work()
    const { user, system } = process.cpuUsage(cpu)
    const ms = performance.now() - startedAt
    await setTimeout(10)
    figures.push([(user + system) / 1000, ms, delay.max / 1e6])
    delay.disable()
  }
  const median = (column: 0 | 1 | 2) =>
    figures.map((row) => row[column]).toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0
  return [
    ...([0, 1, 2] as const).map((column) => `${median(column).toFixed(0)} ms`),
    `${(size / 2 ** 20).toFixed(0)} MiB`,
  ]
}

/** What the library would be asked for a scrape: to take each series again and to write them. */
async function inLibrary(families: readonly Parsed[]): Promise<number> {
  const registry = new Registry()
  for (const { name, help, labelNames, series } of families) {
    const gauge = new Gauge({ name, help, labelNames, registers: [registry] })
    for (const [labels, value] of series) gauge.set(labels, value)
  }
  return (await registry.metrics()).length
}

type Parsed = ReturnType<typeof parsed>

function parsed({ name, help, samples }: GaugeFamily) {
  const series = [...samples()].map(([labels, value]) => [pairsOf(labels), value] as const)
  return { name, help, series, labelNames: [...new Set(series.flatMap(([labels]) => Object.keys(labels)))] }
}

function pairsOf(labels: string): Record<string, string> {
  return Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]))
}

/** What controllers and kubelets say of a settled object. */
const settled: Readonly<Record<string, readonly string[]>> = {
  Node: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'],
  NodeClaim: ['Launched', 'Registered', 'Initialized', 'Ready', 'Consolidatable'],
  Pod: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'],
}

function withConditions(object: Json, now: string): Json {
  const types = settled[String(object['kind'])]
  const spec = object['spec'] as Json | undefined
  if (types === undefined || (object['kind'] === 'Pod' && spec?.['nodeName'] === undefined)) return object
  const conditions = types.map((type) => ({ type, status: 'True', reason: type, lastTransitionTime: now }))
  return { ...object, status: { ...(object['status'] as Json | undefined), conditions } }
}
