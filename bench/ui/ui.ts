import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { kubeconfig } from '../../deploy/local/kubernetes.ts'
import { claim, node, pod } from '../../starter/view/sample-cluster.ts'
import { UiProcess } from '../../test/ui-client.ts'
import { circumstances, table } from '../report.ts'
import { percentile } from '../statistics.ts'
import { StandInApi } from './stand-in-api.ts'

const answers = 100
const changes = 200
/** Longer than changes are gathered for, so that each is reported by itself. */
const pauseMs = 270

/**
 * `joiner ui` with a large cluster, by a client that reads as a browser does: its start, the whole view, and how soon a change of a pod is there, from
 * the line of the watch to the event of the stream.
 */
export async function ui({ nodes, podsEach }: { readonly nodes: number; readonly podsEach: number }): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-ui-'))
  const pods = podsOf(nodes, podsEach)
  const names = Array.from({ length: nodes }, (_, at) => at)
  const api = await StandInApi.start(
    new Map<string, readonly Json[]>([
      ['nodes', names.map((at) => node(`node-${at}`))],
      [
        'nodeclaims',
        names.map((at) => claim(`general-${at}`, { providerID: `azure:///node-${at}`, nodeName: `node-${at}` })),
      ],
      ['nodepools', [{ metadata: { name: 'general', uid: 'general' } }]],
      ['pods', pods],
    ]),
  )
  const file = join(folder, 'config')
  await writeFile(file, kubeconfig({ server: api.url, caFile: '', user: { token: 'none' } }))
  const startedAt = performance.now()
  const page = await UiProcess.start({ KUBECONFIG: file, TEMPORAL_ADDRESS: '127.0.0.1:1' })
  const startMs = performance.now() - startedAt
  try {
    await page.logIn()
    const first = await timed(() => page.send('/api/cluster'))
    const size = (await page.send('/api/cluster')).text.length
    const more: number[] = []
    for (let at = 0; at < answers; at++) more.push(await timed(() => page.send('/api/cluster')))
    const latencies = await changeLatencies(page, api, pods)
    const rss = await residentMiB(page.child.pid ?? 0)
    console.log(`### joiner ui with ${nodes} nodes and ${pods.length} pods, ${circumstances()}\n`)
    console.log(
      table(
        ['', ''],
        [
          ['from its start to its link, all lists read', ms(startMs)],
          ['first answer with the whole view', ms(first)],
          ['the next ones, median', ms(percentile(more, 50))],
          ['its size', `${(size / 1024).toFixed(0)} KiB`],
          ['a change, median', ms(percentile(latencies, 50))],
          ['a change, 99 of 100', ms(percentile(latencies, 99))],
          ['memory (RSS)', `${rss.toFixed(0)} MiB`],
        ],
      ),
    )
  } finally {
    await page.stop()
    api.close()
    await rm(folder, { recursive: true, force: true })
  }
}

const podsOf = (nodes: number, each: number) =>
  Array.from({ length: nodes * each }, (_, at) => pod(`web-${at}`, { nodeName: `node-${at % nodes}`, cpu: '100m' }))

/** From the line of the watch until the client has read the event that names the pod. */
async function changeLatencies(page: UiProcess, api: StandInApi, pods: readonly Json[]): Promise<readonly number[]> {
  let awaited: { readonly name: string; readonly seen: () => void } | undefined
  const stream = await page.stream((event) => {
    if (event.event !== 'change' || awaited === undefined) return
    const { name, seen } = awaited
    if (event.data.nodes.some((each) => each.pods.some(([own, cpu]) => own === name && cpu === 0.2))) seen()
  })
  const latencies: number[] = []
  for (const changed of pods.slice(0, changes)) {
    await setTimeout(pauseMs)
    const { name } = changed['metadata'] as { readonly name: string }
    const spec = {
      ...(changed['spec'] as Json),
      containers: [{ resources: { requests: { cpu: '200m', memory: '1Gi' } } }],
    }
    const at = performance.now()
    await new Promise<void>((seen) => {
      awaited = { name: `shop/${name}`, seen }
      api.change('pods', { ...changed, spec })
    })
    latencies.push(performance.now() - at)
  }
  stream.close()
  return latencies
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const at = performance.now()
  await work()
  return performance.now() - at
}

async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}

const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`
