import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Advice } from '../../starter/cli/advise/advice.ts'
import { circumstances, seconds, table } from '../report.ts'
import { usages } from '../usage.ts'
import { runningCluster } from '../workloads/running-cluster.ts'
import type { ObjectJson, Scenario } from '../workloads/scenario.ts'

const joiner = fileURLToPath(new URL('../../starter/joiner.ts', import.meta.url))

/** What `joiner advise` takes on a large cluster, of Karpenter's nodes and of agent pools, from an API server that answers at once. */
export async function advise(nodes: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'joiner-bench-advise-'))
  try {
    const scenario = runningCluster(nodes)
    const catalog = join(folder, 'catalog.json')
    await writeFile(
      catalog,
      JSON.stringify({ instanceTypes: scenario.instanceTypes, wellKnownLabels: scenario.wellKnownLabels }),
    )
    const objects = running(scenario)
    const rows = [
      await measured('Karpenter', objects, { folder, catalog }),
      await measured('agent pools', objects.flatMap(asAgentPool), { folder, catalog }),
    ]
    console.log(`### A look beside an autoscaler, ${circumstances()}\n`)
    console.log(
      table(['cluster', 'nodes', 'pods', 'time', 'processor time', 'memory at the peak', 'nodes removed'], rows),
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** As an API server holds them, with NodePools that may be consolidated. */
function running({ objects }: Scenario): readonly ObjectJson[] {
  return objects.map((object) => {
    const metadata = {
      uid: `${object.kind}/${String(object.metadata['name'])}`,
      resourceVersion: '1',
      ...object.metadata,
    }
    if (object.kind !== 'NodePool') return { ...object, metadata }
    const disruption = {
      consolidateAfter: '1h',
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      budgets: [{ nodes: '100%' }],
    }
    const status = { conditions: [{ type: 'Ready', status: 'True' }] }
    return { ...object, metadata, spec: { ...object.spec, disruption }, status }
  })
}

/** The Nodes of a pool of AKS; nothing of Karpenter. */
function asAgentPool(object: ObjectJson): readonly ObjectJson[] {
  if (object.kind === 'NodePool' || object.kind === 'NodeClaim') return []
  if (object.kind !== 'Node') return [object]
  const own = Object.entries(object.metadata['labels'] as Readonly<Record<string, string>>)
  const isSpot = own.some(([key, value]) => key === 'karpenter.sh/capacity-type' && value === 'spot')
  const labels = {
    ...Object.fromEntries(own.filter(([key]) => !key.startsWith('karpenter'))),
    'kubernetes.io/os': 'linux',
    'kubernetes.azure.com/mode': 'user',
    'kubernetes.azure.com/agentpool': isSpot ? 'spot' : 'user',
    ...(isSpot ? { 'kubernetes.azure.com/scalesetpriority': 'spot' } : {}),
  }
  return [{ ...object, metadata: { ...object.metadata, labels } }]
}

interface Place {
  readonly folder: string
  readonly catalog: string
}

async function measured(
  name: string,
  objects: readonly ObjectJson[],
  { folder, catalog }: Place,
): Promise<readonly string[]> {
  const server = apiServer(objects)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const kubeconfig = join(folder, 'kubeconfig')
  const cluster = { clusters: [{ name: 'b', cluster: { server: url } }], users: [{ name: 'b', user: { token: 'b' } }] }
  const contexts = [{ name: 'b', context: { cluster: 'b', user: 'b' } }]
  await writeFile(kubeconfig, JSON.stringify({ ...cluster, contexts, 'current-context': 'b' }))
  const startedAt = performance.now()
  const args = [joiner, 'advise', '--kubeconfig', kubeconfig, '--catalog', catalog, '--budget', '100%', '-o', 'json']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let used = { cpuSeconds: 0, peakRssMiB: 0, rssMiB: 0 }
  const look = async () => {
    const now = (await usages({ advise: child.pid ?? 0 })).get('advise')
    if (now !== undefined && now.peakRssMiB > 0) used = now
  }
  const timer = setInterval(() => void look(), 100)
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  const ms = performance.now() - startedAt
  clearInterval(timer)
  server.close()
  const { bill, pass } = JSON.parse(output) as Advice
  const pods = objects.filter(({ kind }) => kind === 'Pod').length
  return [
    name,
    String(bill.nodes),
    String(pods),
    seconds(ms),
    `${used.cpuSeconds.toFixed(1)} s`,
    `${used.peakRssMiB.toFixed(0)} MiB`,
    String(pass?.nodesRemoved ?? 0),
  ]
}

/** Lists, page by page, as an API server answers them. */
function apiServer(objects: readonly ObjectJson[]) {
  const byPlural = Map.groupBy(objects, ({ kind }) =>
    kind === 'AKSNodeClass' ? 'aksnodeclasses' : `${kind.toLowerCase()}s`,
  )
  return createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://b')
    const all = byPlural.get(pathname.slice(pathname.lastIndexOf('/') + 1)) ?? []
    const from = Number(searchParams.get('continue') ?? 0)
    const limit = Number(searchParams.get('limit') ?? all.length)
    const next = from + limit < all.length ? { continue: String(from + limit) } : {}
    const isOne = pathname.includes('/configmaps/')
    response.writeHead(isOne ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ metadata: { resourceVersion: '1', ...next }, items: all.slice(from, from + limit) }))
  })
}
