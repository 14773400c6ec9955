// What the Joiner of a release does in its cluster, and what it leaves.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { request } from 'undici'
import type { Operator } from '../../deploy/local/operator.ts'
import type { Stage } from '../../deploy/local/real-nodes/stage.ts'
import { until } from '../../deploy/local/real-nodes/until.ts'
import { namespace, type Pod, type Release, uiHost } from './release.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

interface Azure {
  readonly virtualMachines: readonly unknown[]
  readonly networkInterfaces: readonly unknown[]
  readonly disks: readonly unknown[]
}

/** Pods that fit nowhere get a node. Errors: what did not happen. */
export async function proveLife({ cluster, operator }: Stage, say: (line: string) => void): Promise<void> {
  const examples = ['general-purpose.yaml', 'inflate.yaml'].flatMap((name) => ['-f', join(root, 'examples', name)])
  await operator.kubectl(['apply', ...examples])
  await inflate(operator, 3)
  say('pods that were pending run on a node of Joiner')
  await untilKept(operator)
  say('what ends is kept for a week')
  await readForwarded(cluster, { target: ['joiner-temporal-0', ':8233'], path: '/', holds: '<html' })
  say("Temporal's page answers behind kubectl port-forward")
}

/** Reads what the pods of a release serve: metrics, and the page. Errors: what does not answer. */
export async function proveServed({ cluster }: Stage, say: (line: string) => void): Promise<void> {
  const metrics = { target: ['service/joiner-metrics', ':http-metrics'], path: '/metrics' } as const
  await readForwarded(cluster, { ...metrics, holds: 'karpenter_build_info' })
  await readForwarded(cluster, { target: ['service/joiner-ui', ':http'], path: '/', host: uiHost, holds: '<html' })
  say('metrics, and the page of joiner ui, answer behind kubectl port-forward')
}

/** Nodes that are empty go. Errors: what stays. */
export async function proveEmptied({ operator }: Stage, say: (line: string) => void): Promise<void> {
  await inflate(operator, 0)
  await until('the nodes are gone', 240_000, async () => {
    const nodeClaims = await operator.kubectl(['get', 'nodeclaims', '--output', 'name'])
    return nodeClaims === '' && (await azureThings(operator)) === 0
  })
  await operator.kubectl(['delete', 'deployment', 'inflate'])
  say('the nodes are gone, with VM, NIC and disk')
}

/** Has so many pods that ask for a CPU each, and waits until they run. */
export async function inflate(operator: Operator, replicas: number): Promise<void> {
  await operator.kubectl(['scale', 'deployment', 'inflate', `--replicas=${replicas}`])
  await untilInflated(operator, replicas)
}

/** Waits until so many of them run. Errors: they do not. */
export async function untilInflated(operator: Operator, replicas: number): Promise<void> {
  const path = '/api/v1/namespaces/default/pods?labelSelector=app%3Dinflate'
  await until(`${replicas} pods run on nodes of Joiner`, 60_000, async () => {
    const { items } = await operator.api<{ readonly items: readonly Pod[] }>('GET', path)
    const running = items.filter(({ spec, status }) => spec.nodeName !== undefined && status.phase === 'Running')
    return running.length === replicas
  })
}

/** Takes Joiner away as docs/uninstall.md does. Errors: what is left of it. */
export async function proveUninstall(
  { cluster, operator }: Stage,
  release: Release,
  say: (line: string) => void,
): Promise<void> {
  const command = [
    join(root, 'starter', 'joiner.ts'),
    'admin',
    'uninstall',
    '--nodes',
    'remove',
    '--delete-history',
    '--yes',
  ]
  await run(process.execPath, command, { env: { ...process.env, KUBECONFIG: cluster.adminKubeconfig } })
  say('joiner admin uninstall has returned')
  await release.helm(['uninstall', 'joiner'])
  say('helm uninstall has returned')
  await until('nothing of Joiner is left', 60_000, async () => {
    const left = await release.left()
    if (left.length > 0) throw new Error(left.join(', '))
    return true
  })
  await operator.kubectl(['delete', 'namespace', namespace])
  const names = await operator.kubectl(['get', 'crd', '--output', 'name'])
  await operator.kubectl(['delete', ...names.trim().split('\n')])
  say('of Joiner nothing was left but its CRDs, which are deleted')
}

/** Waits until Joiner has raised the retention. */
async function untilKept(operator: Operator): Promise<void> {
  const describe = ['/temporal', 'operator', 'namespace', 'describe', '--namespace', 'default', '--output', 'json']
  await until('the retention is a week', 60_000, async () => {
    const text = await operator.kubectl(['exec', '--namespace', namespace, 'joiner-temporal-0', '--', ...describe])
    return text.includes('604800s')
  })
}

/** What is read of a release over `kubectl port-forward`. */
interface Read {
  /** As kubectl takes it, with the port. */
  readonly target: readonly [string, string]
  readonly path: string
  /** The name under which a browser knows the page, where the page asks for one. */
  readonly host?: string
  /** What the answer holds. */
  readonly holds: string
}

/** Errors: it does not answer so. */
async function readForwarded(
  { adminKubeconfig, binaries }: Stage['cluster'],
  { target, path, host, holds }: Read,
): Promise<void> {
  const env = { ...process.env, KUBECONFIG: adminKubeconfig }
  const args = ['port-forward', '--namespace', namespace, ...target]
  const child = spawn(binaries.kubectl, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    const [line] = (await once(child.stdout, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer]
    const port = /127\.0\.0\.1:(\d+)/.exec(String(line))?.[1]
    const headers = host === undefined ? {} : { host }
    const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`, { headers, bodyTimeout: 30_000 })
    const text = await body.text()
    if (statusCode !== 200 || !text.includes(holds))
      throw new Error(`${target.join(' ')}: ${statusCode} ${text.slice(0, 200)}`)
  } finally {
    child.kill()
  }
}

async function azureThings(operator: Operator): Promise<number> {
  const { virtualMachines, networkInterfaces, disks } = await operator.simulator<Azure>('GET', '/state')
  return virtualMachines.length + networkInterfaces.length + disks.length
}
