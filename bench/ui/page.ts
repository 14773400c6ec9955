import type { CDPSession, Page } from 'playwright-core'
import { buildUi } from '../../deploy/build-ui.ts'
import type { ClusterView, NodeView } from '../../starter/ui/contract.ts'
import { openPage, startBrowser } from '../../test/browser/browser.ts'
import { FakeUi } from '../../test/browser/fake-ui.ts'
import { generatedCluster } from '../../test/browser/generated-cluster.ts'
import { circumstances, table } from '../report.ts'
import { percentile } from '../statistics.ts'

const sizes = [
  { nodes: 100, podsPerNode: 20 },
  { nodes: 1000, podsPerNode: 20 },
] as const
const repeats = 20
const loads = 5

interface Figures {
  readonly firstPaint: readonly number[]
  readonly allDrawn: readonly number[]
  readonly updates: Readonly<Record<'one' | 'many', readonly number[]>>
  readonly heapMb: number
  readonly elements: number
}

/** The page of `joiner ui` in a real browser: until it is drawn, until a change is drawn, and what it holds in memory. */
export async function uiPage(): Promise<void> {
  const dist = await buildUi()
  const rows: string[][] = []
  for (const size of sizes) {
    const cluster = generatedCluster(size)
    const session = { cluster: 'bench', version: '0.0.0', isReadOnly: true }
    await using fake = new FakeUi(dist, { session, cluster, answers: new Map() })
    await fake.start()
    const browser = await startBrowser()
    try {
      const firstPaint: number[] = []
      const allDrawn: number[] = []
      for (let load = 0; load < loads; load += 1) {
        const page = await browser.newPage()
        await page.addInitScript(whenDrawn(size.nodes))
        await page.goto(fake.url)
        allDrawn.push(await drawnMs(page, 'allDrawn'))
        firstPaint.push(
          await page.evaluate<number>('performance.getEntriesByName("first-contentful-paint")[0].startTime'),
        )
        await page.close()
      }
      const { page } = await openPage(browser, fake.url)
      await page
        .locator(`[data-key]`)
        .nth(size.nodes - 1)
        .waitFor({ state: 'attached' })
      const devtools = await page.context().newCDPSession(page)
      const updates = { one: await update(page, fake, cluster, 1), many: await update(page, fake, cluster, 100) }
      rows.push(rowOf(size.nodes, { firstPaint, allDrawn, updates, ...(await memory(devtools)) }))
    } finally {
      await browser.close()
    }
  }
  console.log(`\n${circumstances()}:\n`)
  console.log(
    table(
      [
        'nodes, 20 pods each',
        'first paint',
        'all nodes drawn',
        '1 node changes',
        '100 nodes change',
        'heap',
        'elements',
      ],
      rows,
    ),
  )
}

function rowOf(nodes: number, { firstPaint, allDrawn, updates, heapMb, elements }: Figures): string[] {
  const spread = (values: readonly number[]) =>
    `${Math.round(percentile(values, 50))} ms (${Math.round(Math.max(...values))})`
  return [
    String(nodes),
    spread(firstPaint),
    spread(allDrawn),
    spread(updates.one),
    spread(updates.many),
    `${heapMb} MiB`,
    String(elements),
  ]
}

/** Notes when so many nodes are in the page and painted, in ms since the navigation began. */
const whenDrawn = (nodes: number) => `
  new MutationObserver((_, observer) => {
    if (document.querySelectorAll('[data-key]').length < ${nodes}) return
    observer.disconnect()
    requestAnimationFrame(() => requestAnimationFrame(() => { window.allDrawn = performance.now() }))
  }).observe(document, { childList: true, subtree: true })`

/** What a script in the page notes, once it did. The page's policy forbids Playwright's own way of waiting. */
async function drawnMs(page: Page, name: string): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    const look = () => (window.${name} === undefined ? setTimeout(look, 5) : resolve(window.${name}))
    look()
  })`)
}

/** Ms from the server's sending of a change until it is painted: each node concerned gets a pod, or loses it. */
async function update(page: Page, fake: FakeUi, cluster: ClusterView, nodes: number): Promise<readonly number[]> {
  const { nodes: all, ...rest } = cluster
  const taken: number[] = []
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const changed = all.slice(0, nodes).map(
      (node): NodeView => ({
        ...node,
        pods: repeat % 2 === 0 ? [...node.pods, ['bench/new', 0.1, 0]] : node.pods,
      }),
    )
    const last = changed.at(-1)
    if (last === undefined) throw new Error('the cluster has no nodes')
    await page.evaluate(`{
      window.painted = undefined
      const pods = document.querySelector('[data-key="${last.key}"] .pods')
      new MutationObserver((_, observer) => {
        observer.disconnect()
        requestAnimationFrame(() => setTimeout(() => { window.painted = performance.timeOrigin + performance.now() }))
      }).observe(pods, { attributes: true })
    }`)
    const sentMs = performance.timeOrigin + performance.now()
    fake.send({ event: 'change', data: { ...rest, nodes: changed, gone: [] } })
    taken.push((await drawnMs(page, 'painted')) - sentMs)
  }
  return taken
}

async function memory(devtools: CDPSession): Promise<Pick<Figures, 'heapMb' | 'elements'>> {
  await devtools.send('HeapProfiler.collectGarbage')
  await devtools.send('Performance.enable')
  const { metrics } = await devtools.send('Performance.getMetrics')
  const value = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0
  return { heapMb: Math.round(value('JSHeapUsedSize') / 1024 ** 2), elements: value('Nodes') }
}
