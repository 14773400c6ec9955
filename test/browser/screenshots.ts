// npm run ui-screenshots: pictures of `joiner ui` and of the Temporal UI on a local cluster, for docs/ui/. With -- URL FILE.png: of any page.
import { mkdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { buildUi } from '../../deploy/build-ui.ts'
import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import { UiProcess } from '../ui-client.ts'
import { World } from '../world.ts'
import { startBrowser } from './browser.ts'
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

async function shoot(browser: Browser, server: UiProcess): Promise<void> {
  const page = await browser.newPage({ viewport: size, reducedMotion: 'reduce' })
  await page.goto(server.link)
  await page.locator('.pending').getByText('too-big').waitFor()
  await save(page, 'cluster')
  await page.emulateMedia({ colorScheme: 'dark' })
  await save(page, 'cluster-dark')
  await page.emulateMedia({ colorScheme: 'light' })
  const key = await page.locator('.node').first().getAttribute('data-key')
  for (const [name, hash] of [
    ['node', `nodes/${key}`],
    ['decisions', 'decisions'],
    ['cost', 'cost'],
    ['calendar', 'calendar'],
  ] as const) {
    await page.goto(`${server.origin}/#/${hash}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.locator('.waiting').waitFor({ state: 'detached' })
    await save(page, name)
  }
  await page.getByRole('button', { name: 'Pause …' }).click()
  await page.getByLabel('Reason').fill('release day')
  await save(page, 'pause')
  await page.keyboard.press('Escape')
  await page.goto(`${server.origin}/#/plan`)
  await page.getByRole('button', { name: 'Ask for a plan' }).click()
  await page.locator('main .totals').waitFor()
  await save(page, 'plan')
}

const save: Save = async (page, name, clip) => {
  const path = join(docs, `${name}.png`)
  await page.screenshot({ path, ...(clip === undefined ? {} : { clip }) })
  console.log(path)
}

const [url, file] = process.argv.slice(2)
if (url !== undefined && file !== undefined) await picture(url, resolve(file))
else {
  await buildUi()
  await mkdir(docs, { recursive: true })
  const world = await World.start()
  try {
    await lively(world)
    const env = { KUBECONFIG: world.installation.operatorKubeconfig, ...world.cluster.temporalEnv }
    const server = await UiProcess.start(env)
    const browser = await startBrowser()
    try {
      await shoot(browser, server)
      await shootList(browser, world, save)
      await addTroubles(world)
      await shootAnswers(browser, world, save)
    } finally {
      await browser.close()
      await server.stop()
    }
  } finally {
    await world.stop()
  }
}
