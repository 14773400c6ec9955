// npm run pictures: pictures of `joiner ui` with a generated cluster, light and dark, for docs/ui/ and README.md. With -- --temporal: those of the Temporal UI on a
// local cluster too. With -- URL FILE.png: of any page.
import { mkdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { buildUi } from '../../deploy/build-ui.ts'
import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import { World } from '../world.ts'
import { browserStartMs, startBrowser } from './browser.ts'
import { FakeUi } from './fake-ui.ts'
import { picturedAnswers } from './pictured-answers.ts'
import { pictured } from './pictured-day.ts'
import { addTroubles, type Save, shootAnswers, shootList } from './temporal-ui.ts'

const docs = fileURLToPath(new URL('../../docs/ui/', import.meta.url))
const size = { width: 1280, height: 860 }

/** A picture of an address, once nothing is asked for any more. */
async function picture(url: string, file: string): Promise<void> {
  const browser = await startBrowser()
  try {
    const page = await browser.newPage({ viewport: size })
    await page.goto(url, { waitUntil: 'networkidle' })
    await mkdir(dirname(file), { recursive: true })
    await page.screenshot({ path: file })
  } finally {
    await browser.close()
  }
}

/** A cluster with something on each page: nodes that work, one that comes, pods that cannot run, a pause, nodes that could go. */
async function lively(world: World): Promise<void> {
  const onBatch = { 'karpenter.sh/nodepool': 'batch' }
  await world.startWithPool(
    nodePool({ consolidateAfter: '1h' }),
    nodePool({ name: 'batch', consolidateAfter: '1s', budget: '2' }),
    nodeClass(),
    deployment({ name: 'web', cpu: '500m', memory: '1Gi' }),
    deployment({ name: 'checkout', cpu: '2', memory: '6Gi', apart: true }),
    deployment({ name: 'report', cpu: '3', memory: '10Gi', apart: true, nodeSelector: onBatch }),
    deployment({ name: 'train', cpu: '120', memory: '64Gi' }),
  )
  const run = async (app: string, count: number) => {
    await world.scale(app, count)
    await world.until(`${count} pods of ${app} run`, async () => (await world.running(app)) === count)
  }
  await run('checkout', 5)
  await run('web', 21)
  await run('report', 3)
  await run('report', 1)
  const batch = async () =>
    (await world.list('nodeclaims')).filter(({ metadata }) => metadata.name.startsWith('batch-'))
  await world.until('empty nodes are gone', async () => (await batch()).length === 1)
  await world.scale('train', 2)
  await world.joiner('pause', '--nodepool', 'batch', '--reason', 'training run until Friday', '--until', '48h')
}

/** Takes the page with the pictured day: each of its parts, light and dark. */
async function takePage(browser: Browser): Promise<void> {
  const { drained, session, cluster, answers } = picturedAnswers()
  await using fake = new FakeUi(await buildUi(), { session, cluster, answers })
  const url = await fake.start()
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({
      viewport: size,
      reducedMotion: 'reduce',
      colorScheme,
      locale: 'en-GB',
      timezoneId: 'UTC',
    })
    context.setDefaultTimeout(browserStartMs)
    const page = await context.newPage()
    await page.clock.setFixedTime(pictured)
    const take = (name: string) => save(page, colorScheme === 'dark' ? `${name}-dark` : name)
    const visit = async (hash: string) => {
      await page.goto(url + hash)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.locator('.waiting').waitFor({ state: 'detached' })
    }
    await visit('#/')
    // All of its nodes: README.md says how many there are.
    const height = await page.evaluate<number>('document.documentElement.scrollHeight')
    await page.setViewportSize({ ...size, height })
    await take('cluster')
    await page.setViewportSize(size)
    await visit(`#/nodes/${drained}`)
    await take('node')
    await visit('#/decisions')
    await take('decisions')
    await visit('#/cost')
    await page.getByText('1 day', { exact: true }).click()
    await page.locator('.waiting').waitFor({ state: 'detached' })
    await take('cost')
    await visit('#/calendar')
    await take('calendar')
    await page.getByRole('button', { name: 'Pause …' }).click()
    await page.getByLabel('Reason').fill('release day')
    await take('pause')
    await page.keyboard.press('Escape')
    await visit('#/plan')
    await page.getByRole('button', { name: 'Ask for a plan' }).click()
    await page.locator('main .totals').waitFor()
    await take('plan')
    await context.close()
  }
}

/** Takes Temporal's own page, of a local cluster with something on each of its lists. */
async function takeTemporal(browser: Browser): Promise<void> {
  const world = await World.start()
  try {
    await lively(world)
    await shootList(browser, world, save)
    await addTroubles(world)
    await shootAnswers(browser, world, save)
  } finally {
    await world.stop()
  }
}

const save: Save = async (page, name, clip) => {
  const path = join(docs, `${name}.png`)
  await page.screenshot({ path, ...(clip === undefined ? {} : { clip }) })
  console.log(path)
}

const [first, file] = process.argv.slice(2)
if (first !== undefined && file !== undefined) await picture(first, resolve(file))
else {
  await mkdir(docs, { recursive: true })
  const browser = await startBrowser()
  try {
    await takePage(browser)
    if (first === '--temporal') await takeTemporal(browser)
  } finally {
    await browser.close()
  }
}
