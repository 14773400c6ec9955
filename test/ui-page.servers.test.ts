import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildUi } from '../deploy/build-ui.ts'
import type { ClusterView, NodeView, Session } from '../starter/ui/contract.ts'
import { browserStartMs, openPage, seriousViolations, startBrowser, type WatchedPage } from './browser/browser.ts'
import { FakeUi } from './browser/fake-ui.ts'
import { generatedNode, viewOf } from './browser/generated-cluster.ts'
import { sampleCalendar, sampleCost, sampleDecisions, sampleDetails, samplePlan } from './browser/sample-answers.ts'

const session: Session = {
  cluster: 'test',
  version: '0.0.0',
  isReadOnly: false,
  temporalUi: 'https://temporal.example/namespaces/joiner/workflows',
}
const nodes = Array.from({ length: 6 }, (_, index) => generatedNode(index, 5))
const [first, second] = nodes as [NodeView, NodeView]

/** Every page, by its address. */
const pages = ['#/', `#/nodes/${first.key}`, '#/decisions', '#/cost', '#/calendar', '#/plan'] as const

let browser: Browser
let dist: string
beforeAll(async () => {
  dist = await buildUi()
  browser = await startBrowser()
}, browserStartMs)
afterAll(() => browser?.close())

interface Scene {
  readonly fake: FakeUi
  readonly page: Page
  readonly watched: WatchedPage
}

interface Setting {
  readonly cluster?: ClusterView
  readonly isReadOnly?: boolean
  readonly colorScheme?: 'light' | 'dark'
}

/** Runs a test on a page of a server that knows a cluster. */
async function onPage(
  hash: string,
  use: (scene: Scene) => Promise<void>,
  { cluster = viewOf(nodes), isReadOnly = false, colorScheme = 'light' }: Setting = {},
): Promise<void> {
  const now = Date.now()
  const answers = new Map<string, unknown>([
    [`api/nodes/${first.key}`, sampleDetails(first, now)],
    ['api/decisions', sampleDecisions(now)],
    ['api/cost', sampleCost(now)],
    ['api/calendar', sampleCalendar(now)],
    ['api/plan', samplePlan],
  ])
  await using fake = new FakeUi(dist, { session: { ...session, isReadOnly }, cluster, answers })
  await fake.start()
  const watched = await openPage(browser, fake.url + hash, { colorScheme, reducedMotion: 'reduce' })
  try {
    await watched.page.getByRole('status').getByText('Live').waitFor()
    await drawn(watched.page)
    await use({ fake, watched, page: watched.page })
  } finally {
    await watched.page.context().close()
  }
}

/** Goes to a page and waits for what it shows. */
async function visit(page: Page, fake: FakeUi, hash: string): Promise<void> {
  await page.goto(fake.url + hash)
  await drawn(page)
}

/** Waits until the page shows what it asked for, or why it cannot. */
async function drawn(page: Page): Promise<void> {
  await page.locator('main').locator('h1, [role=alert]').first().waitFor()
  await page.locator('.waiting').waitFor({ state: 'detached' })
}

const main = (page: Page) => page.locator('main').innerText()

describe('the cluster', () => {
  it('draws each node with its pods by NodePool, and asks nobody but its server', () =>
    onPage('#/', async ({ page, fake, watched: { origins, complaints } }) => {
      for (const { key, pods } of nodes)
        expect(await page.locator(`[data-key="${key}"] .pods`).getAttribute('data-pods')).toBe(String(pods.length))
      expect(await page.getByRole('region', { name: /^NodePool/ }).count()).toBe(4)
      expect(await page.locator('.totals').innerText()).toMatch(/Nodes\s+6\s+Pods\s+30\s/)
      expect([...origins]).toEqual([new URL(fake.url).origin])
      expect(complaints).toEqual([])
    }))

  const change = (changed: readonly NodeView[], gone: readonly string[] = []) => ({
    event: 'change' as const,
    data: { ...viewOf(nodes), nodes: changed, gone },
  })

  it('draws a pod that arrives, a node that comes and one that goes', () =>
    onPage('#/', async ({ page, fake }) => {
      const third = generatedNode(8, 3)
      fake.send(change([{ ...first, pods: [...first.pods, ['shop/new', 0.5, 0]] }, third], [second.key]))
      await page.locator(`[data-key="${first.key}"] .pods[data-pods="6"]`).waitFor()
      await page.locator(`[data-key="${third.key}"] .pods[data-pods="3"]`).waitFor()
      expect(await page.locator(`[data-key="${second.key}"]`).count()).toBe(0)
    }))

  it('says that it lost the server, and shows what is true when it is back', () =>
    onPage('#/', async ({ page, fake }) => {
      fake.cut()
      await page.getByRole('status').getByText('Reconnecting').waitFor()
      expect(await page.locator('.node').count()).toBe(nodes.length)
      await page.getByRole('status').getByText('Live').waitFor()
    }))

  it('filters nodes by their pods, and lists them in a table', () =>
    onPage('#/', async ({ page }) => {
      await page.getByRole('searchbox').fill('web-1-')
      expect(await page.locator('.node').count()).toBe(1)
      await page.getByRole('searchbox').fill('')
      await page.getByText('Table', { exact: true }).click()
      expect(await page.locator('tbody tr').count()).toBe(nodes.length)
      expect(await page.getByRole('row', { name: second.key }).innerText()).toContain('$0.504/h')
    }))

  it('shows hostile names as text', async () => {
    const hostile = '<img src=x onerror=alert(1)>"\'</script>'
    const node: NodeView = { ...first, node: hostile, nodePool: hostile, note: hostile, instanceType: hostile }
    const pending = [
      {
        state: 'unschedulable',
        pods: [hostile],
        count: 1,
        sinceMs: 0,
        plannedOn: [hostile],
        finding: hostile,
        funnel: [hostile],
        remedies: [hostile],
      } as const,
    ]
    const cluster: ClusterView = viewOf([node], {
      pending,
      missing: [{ what: hostile, why: hostile, remedy: hostile }],
    })
    await onPage(
      '#/',
      async ({ page, watched: { complaints } }) => {
        expect((await main(page)).split(hostile).length - 1).toBeGreaterThanOrEqual(7)
        expect(await page.locator('img[src="x"], main script').count()).toBe(0)
        expect(complaints).toEqual([])
      },
      { cluster },
    )
  })
})

describe('the other pages', () => {
  it('tell the life of a node, why it stays and what it costs', () =>
    onPage(pages[1], async ({ page }) => {
      const text = await main(page)
      expect(text).toMatch(/Launching\s+48s/)
      expect(text).toContain('PodDisruptionBudget shop/checkout allows no eviction now.')
      expect(text).toContain('$4.99')
      expect(await page.getByRole('row', { name: 'FailedDraining' }).innerText()).toMatch(/7\s+3\ds/)
      expect(await page.getByRole('link', { name: 'Workflow in Temporal' }).getAttribute('href')).toBe(
        `${session.temporalUi}/nodeclaim-${first.key}`,
      )
    }))

  it('say why a node leaves, and offer no hold, which would not keep it', () =>
    onPage(
      `#/nodes/${first.key}`,
      async ({ page }) => {
        expect(await main(page)).toContain('Why it leaves')
        expect(await page.getByRole('button', { name: 'Hold' }).count()).toBe(0)
      },
      { cluster: viewOf([{ ...first, phase: 'Draining' }, ...nodes.slice(1)]) },
    ))

  it('say that nothing is known of a node, and lead back', () =>
    onPage('#/nodes/nobody', async ({ page }) => {
      await page.getByRole('alert').getByText('nothing is known of it').waitFor()
      await page.getByRole('link', { name: 'Cluster' }).last().click()
      await page.locator('.node').first().waitFor()
    }))

  it('list decisions by day, and those of one kind', () =>
    onPage('#/decisions', async ({ page }) => {
      await page.getByText('Replaces 3 nodes by one of Standard_D8s_v5.').waitFor()
      expect(await main(page)).toContain('-$0.192/h')
      await page.getByLabel('Kind', { exact: true }).selectOption('launch')
      expect(await page.locator('.entry').count()).toBe(2)
      await page.locator('.entry').getByRole('link', { name: 'pool-1-00005' }).click()
      expect(new URL(page.url()).hash).toBe('#/nodes/pool-1-00005')
    }))

  it('plot the cost, and leave out what is unknown', () =>
    onPage('#/cost', async ({ page }) => {
      await page.locator('.plot canvas').waitFor()
      const text = await main(page)
      expect(text).toContain('4 hours are unknown: gaps in the plot')
      expect(text).toContain('$96.40')
      expect(await page.getByRole('row', { name: 'gpu' }).innerText()).toContain('$194.40')
    }))

  it('show the plan, and apply it when a person agreed', () =>
    onPage('#/plan', async ({ page, fake }) => {
      await page.getByRole('button', { name: 'Ask for a plan' }).click()
      expect(await page.getByRole('row', { name: 'Underutilized' }).innerText()).toContain('$589.84')
      // The text is for who wants each pod.
      expect(await main(page)).not.toContain('allows no eviction')
      await page.getByText('Which pods move where').click()
      expect(await main(page)).toContain('allows no eviction')
      await page.getByRole('button', { name: 'Apply …' }).click()
      await page.getByRole('button', { name: 'Cancel' }).click()
      expect(fake.asked).toEqual([])
      await page.getByRole('button', { name: 'Apply …' }).click()
      await page.getByRole('button', { name: 'Apply', exact: true }).click()
      await page.getByText('did apply').waitFor()
      expect(fake.asked).toEqual([{ kind: 'apply', plan: 'plan-1' }])
    }))
})

describe('actions', () => {
  it('pause a NodePool for a time after a person said why', () =>
    onPage('#/calendar', async ({ page, fake }) => {
      await page.getByRole('button', { name: 'Pause …' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Where').selectOption('pool-1')
      await dialog.getByLabel('For', { exact: true }).selectOption('4 hours')
      // Without a reason the browser itself stops it.
      await dialog.getByRole('button', { name: 'Pause', exact: true }).click()
      expect(fake.asked).toEqual([])
      await dialog.getByLabel('Reason').fill('a release')
      await page.keyboard.press('Enter')
      await page.getByText('did pause').waitFor()
      expect(fake.asked).toEqual([
        { kind: 'pause', loop: 'disruption', nodePool: 'pool-1', reason: 'a release', forMs: 4 * 3_600_000 },
      ])
    }))

  it('resume and hold', async () => {
    await onPage('#/calendar', async ({ page, fake }) => {
      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
      await page.getByText('did resume').waitFor()
      expect(fake.asked).toEqual([{ kind: 'resume', loop: 'disruption', nodePool: 'gpu' }])
      // What the page cannot end it does not offer to end.
      expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(1)
    })
    await onPage(pages[1], async ({ page, fake }) => {
      await page.getByRole('button', { name: 'Hold' }).click()
      await page.getByLabel('Reason').fill('debugging')
      await page.getByLabel('For', { exact: true }).selectOption('until somebody ends it')
      await page.getByRole('dialog').getByRole('button', { name: 'Hold' }).click()
      await page.getByText('did hold').waitFor()
      expect(fake.asked).toEqual([{ kind: 'hold', key: first.key, reason: 'debugging' }])
    })
  })

  it('are on no page where nothing may be done', () =>
    onPage(
      '#/',
      async ({ page, fake }) => {
        await page.getByText('Read-only').waitFor()
        for (const hash of pages) {
          await visit(page, fake, hash)
          if (hash === '#/plan') {
            await page.getByRole('button', { name: 'Ask for a plan' }).click()
            await page.getByRole('row', { name: 'Underutilized' }).waitFor()
          }
          expect(await page.getByRole('button', { name: /Pause|Resume|Hold|Release|Apply/ }).count(), hash).toBe(0)
        }
      },
      { isReadOnly: true },
    ))
})

describe('people', () => {
  it.each(['light', 'dark'] as const)('with disabilities are not hindered by any page in %s colours', (colorScheme) =>
    onPage(
      '#/',
      async ({ page, fake, watched: { origins, complaints } }) => {
        for (const hash of pages) {
          await visit(page, fake, hash)
          expect(await seriousViolations(page), hash).toEqual([])
        }
        await page.goto(`${fake.url}#/calendar`)
        await page.getByRole('button', { name: 'Pause …' }).click()
        expect(await seriousViolations(page)).toEqual([])
        expect([...origins]).toEqual([new URL(fake.url).origin])
        expect(complaints).toEqual([])
      },
      { colorScheme },
    ),
  )

  it('may use the keyboard alone', () =>
    onPage('#/', async ({ page }) => {
      const focus = page.locator(':focus')
      await page.keyboard.press('Tab')
      expect(await focus.innerText()).toBe('Skip to content')
      await page.keyboard.press('Enter')
      await page.locator('#main:focus').waitFor()
      await page.getByRole('radio', { name: 'Boxes', exact: true }).focus()
      await page.keyboard.press('Tab')
      await page.keyboard.press('ArrowRight')
      // The second node of the first NodePool.
      expect(await page.locator('.node:has(:focus)').getAttribute('data-key')).toBe(nodes[4]?.key)
      await page.keyboard.press('Enter')
      await page.waitForURL(/#\/nodes\//)
      await page.locator('#main:focus').waitFor()
    }))

  it('get the colours that they choose, also the next time', () =>
    onPage('#/', async ({ page }) => {
      const background = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor')
      const light = await background()
      await page.getByRole('button', { name: /^Colours/ }).click()
      await page.getByRole('button', { name: /^Colours: light/ }).click()
      expect(await background()).not.toBe(light)
      await page.reload()
      await page.getByRole('button', { name: /^Colours: dark/ }).waitFor()
      expect(await background()).not.toBe(light)
    }))
})
