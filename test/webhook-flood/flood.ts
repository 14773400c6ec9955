import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { World } from '../world.ts'

/** What was seen while foreign clients flooded the webhook's port. */
export interface FloodReport {
  /** How often a process ended, or the webhook's thread. */
  readonly restarts: number
  /** From the creation of a pod that needs a node to its being Running. */
  readonly podSeconds: readonly number[]
  /** How long the API server took to have an object converted, and how often it could not. */
  readonly conversionMs: readonly number[]
  readonly failedConversions: number
  /** Of each process, in MiB. */
  readonly peakRssMiB: Readonly<Record<string, number>>
  /** What the clients did, and what they got. */
  readonly done: Readonly<Record<string, number>>
}

/**
 * Floods the webhook's port for so long, from a client that knows no path and one that knows the right one, while one pod after the other needs a node
 * and the API server has objects converted. The NodePool `general` must be ready, and the Deployment `inflate` have a pod to each node.
 */
export async function flood(world: World, processes: readonly string[], ms: number): Promise<FloodReport> {
  const { conversion } = world.cluster.ports
  const pidsOf = () => processes.map((name) => world.cluster.supervisor.pids[name])
  const before = pidsOf()
  const clients = [client(conversion, '127.0.0.2'), client(conversion, '127.0.0.3', await knownPath(world))]
  const end = Date.now() + ms
  const [podSeconds, conversions] = await Promise.all([plan(world, end), convert(world, end)])
  const done: Record<string, number> = {}
  for (const { child, output } of clients) {
    child.kill('SIGTERM')
    for (const [what, times] of Object.entries(JSON.parse(await output) as Record<string, number>))
      done[what] = (done[what] ?? 0) + times
  }
  const logs = await Promise.all(processes.map((name) => world.cluster.supervisor.tail(name, 100_000)))
  const peaks = processes.map(async (name) => [name, await peakMiB(world.cluster.supervisor.pids[name])] as const)
  const ended = logs.flatMap((log) => log.split('\n').filter((line) => line.includes("webhook's thread ended"))).length
  return {
    restarts: ended + pidsOf().filter((pid, at) => pid === undefined || pid !== before[at]).length,
    podSeconds,
    conversionMs: conversions.filter((took) => took !== undefined),
    failedConversions: conversions.filter((took) => took === undefined).length,
    peakRssMiB: Object.fromEntries(await Promise.all(peaks)),
    done,
  }
}

function client(port: number, address: string, path?: string) {
  const script = fileURLToPath(new URL('./client.ts', import.meta.url))
  const args = [script, String(port), address, ...(path === undefined ? [] : [path])]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  return { child, output: Promise.all([text(child.stdout), once(child, 'exit')]).then(([written]) => written) }
}

/** Whoever may read the CRDs knows the path. */
async function knownPath(world: World): Promise<string> {
  const crd = await world.operator.api<{
    spec: { conversion: { webhook: { clientConfig: { url: string } } } }
  }>('GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.karpenter.sh')
  return new URL(crd.spec.conversion.webhook.clientConfig.url).pathname
}

async function plan(world: World, end: number): Promise<readonly number[]> {
  const seconds: number[] = []
  for (let replicas = 1; Date.now() < end || seconds.length === 0; replicas++) {
    const begun = Date.now()
    await world.scale('inflate', replicas)
    await world.untilRunning(replicas)
    seconds.push((Date.now() - begun) / 1000)
  }
  return seconds
}

/** Undefined: the API server could not have it converted. */
async function convert(world: World, end: number): Promise<readonly (number | undefined)[]> {
  const times: (number | undefined)[] = []
  while (Date.now() < end) {
    const begun = Date.now()
    const isConverted = await world.operator
      .api('POST', '/apis/karpenter.sh/v1beta1/nodepools?dryRun=All', oldPool)
      .then(() => true)
      .catch(() => false)
    times.push(isConverted ? Date.now() - begun : undefined)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return times
}

const oldPool = {
  apiVersion: 'karpenter.sh/v1beta1',
  kind: 'NodePool',
  metadata: { generateName: 'flood-' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { apiVersion: 'karpenter.azure.com/v1alpha2', kind: 'AKSNodeClass', name: 'default' },
        requirements: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }],
      },
    },
  },
}

async function peakMiB(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)
}
