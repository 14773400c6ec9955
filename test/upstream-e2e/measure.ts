// The performance suite, spec by spec in one cluster after the other, since each measures the whole machine.
import { createServer, type Server } from 'node:http'
import { availableParallelism, loadavg } from 'node:os'
import { table } from '../../bench/report.ts'
import type { Result, Spec } from './specs.ts'
import { machineAddress, SuiteCluster, type Surroundings } from './suite-cluster.ts'

interface Input {
  readonly surroundings: Surroundings
  readonly specs: readonly Spec[]
  readonly interrupted: AbortSignal
  readonly onResult: (result: Result) => void
}

/** The port at which the suite reads the metrics of Karpenter's pod. */
const metricsPort = 8080

/**
 * Runs specs of the performance suite, and returns a table of how they ended beside the machine's load. The suite's limits are those of machines of
 * upstream: it measures, and only the time that it waits at most ends a spec here. Its own reports go to the output folder.
 */
export async function measure({ surroundings, specs, interrupted, onResult }: Input): Promise<string> {
  const rows: (readonly string[])[] = []
  for (const spec of specs) {
    if (interrupted.aborted) break
    const before = loadText()
    const result = await measureOne(surroundings, spec, interrupted)
    if (interrupted.aborted) break
    onResult(result)
    const ended = result.outcome === 'passed' ? 'finished' : `not finished: ${result.why.slice(0, 120)}`
    rows.push([spec.name, ended, result.seconds.toFixed(0), before, loadText()])
  }
  return `${availableParallelism()} cores; reports of the suite are in ${surroundings.output}\n\n${table(['spec', 'outcome', 'seconds', 'load before', 'load after'], rows)}`
}

const loadText = () => (loadavg()[0] ?? 0).toFixed(1)

async function measureOne(surroundings: Surroundings, spec: Spec, interrupted: AbortSignal): Promise<Result> {
  const cluster = await SuiteCluster.start(surroundings)
  try {
    // The suite reads metrics by way of the API server, and of a port that it forwards.
    await cluster.forwardPort(metricsPort)
    const server = await serveMetrics(cluster.metricsUrl)
    try {
      const env = { OUTPUT_DIR: surroundings.output, GIT_REF: 'none', KARPENTER_PERF_THRESHOLDS: thresholds() }
      return await cluster.run(spec, interrupted, env)
    } finally {
      server.close()
    }
  } finally {
    await cluster.close()
  }
}

/** Serves the metrics where the suite looks for them. V8's heap stands for Go's live one, which Joiner does not have. */
async function serveMetrics(url: string): Promise<Server> {
  const server = createServer((_, response) => {
    fetch(url)
      .then((answer) => answer.text())
      .then((text) => {
        const heap = /^nodejs_heap_size_used_bytes(?:\{.*\})? (\S+)/m.exec(text)?.[1]
        const more = heap === undefined ? '' : `\n# TYPE go_gc_heap_live_bytes gauge\ngo_gc_heap_live_bytes ${heap}\n`
        response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(text + more)
      })
      .catch((error: unknown) => response.writeHead(503).end(String(error)))
  })
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(metricsPort, machineAddress(), resolve),
  )
  return server
}

const phases: Readonly<Record<string, readonly string[]>> = {
  basic: ['scaleOut', 'consolidation'],
  doNotDisrupt: ['scaleOut', 'consolidation'],
  drift: ['initial', 'drift'],
  hostNameSpreading: ['scaleOut', 'consolidation'],
  hostNameSpreadingXL: ['scaleOut', 'consolidation'],
  interference: ['scaleOut', 'interference', 'consolidation'],
  wideDeployments: ['scaleOut', 'consolidation'],
}

/** Limits that nothing reaches. */
function thresholds(): string {
  const none = { heap_mb: 16_000, cpu_cores: 64, total_time_minutes: 90, cpu_util: 0, memory_util: 0 }
  const keys = Object.entries(phases).flatMap(([name, parts]) => parts.map((part) => `${name}/${part}`))
  return JSON.stringify(Object.fromEntries(keys.map((key) => [key, none])))
}
