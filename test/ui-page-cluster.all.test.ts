// The page of `joiner ui` in a real browser, served by the real command on a real cluster.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildUi } from '../deploy/build-ui.ts'
import { namespace } from '../deploy/local/installation-accounts.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { browserStartMs, openPage, seriousViolations, startBrowser, type WatchedPage } from './browser/browser.ts'
import { patient } from './runner/patience.ts'
import { UiProcess } from './ui-client.ts'
import { operatorUser, World } from './world.ts'

let world: World
let browser: Browser
let server: UiProcess
let watched: WatchedPage
let page: Page
const started: UiProcess[] = []

beforeAll(async () => {
  await buildUi()
  browser = await startBrowser()
  world = await World.start()
  await world.startWithPool(
    nodePool({ consolidateAfter: 'Never' }),
    nodeClass(),
    deployment({ name: 'inflate', cpu: '1' }),
  )
  await world.scale('inflate', 2)
  await world.untilRunning(2)
  server = await start()
  watched = await openPage(browser, server.link)
  page = watched.page
}, browserStartMs)

afterAll(async () => {
  await browser?.close()
  for (const each of started) await each.stop()
  await world?.stop()
})

async function start(...args: readonly string[]): Promise<UiProcess> {
  const env = { KUBECONFIG: world.installation.operatorKubeconfig, ...world.cluster.temporalEnv }
  const process = await UiProcess.start(env, ...args)
  started.push(process)
  return process
}

const claimName = async () => (await world.list('nodeclaims'))[0]?.metadata.name ?? ''
const podsPath = '/api/v1/namespaces/default/pods'
const pausesPath = `/api/v1/namespaces/${namespace}/configmaps/joiner-pauses`
const pauses = async () => {
  const { data = {} } = await world.operator.api<{ data?: Record<string, string> }>('GET', pausesPath)
  return Object.values(data).map((text) => JSON.parse(text) as unknown)
}

async function open(hash: string): Promise<string> {
  await page.goto(`${server.origin}/${hash}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.locator('.waiting').waitFor({ state: 'detached' })
  return page.locator('main').innerText()
}

describe('the page on a cluster', () => {
  test('draws its nodes and pods, and a pod that is bound now', async () => {
    const key = await claimName()
    const pods = page.locator(`.node[data-key="${key}"] .pods`)
    const before = Number(await pods.getAttribute('data-pods'))
    expect(before).toBeGreaterThanOrEqual(2)
    // The token is gone from the address.
    expect(new URL(page.url()).search).toBe('')
    const node = (await world.list('nodes'))[0]?.metadata.name ?? ''
    expect(await page.locator('.node').innerText()).toContain(node)
    const name = 'seen-at-once'
    await world.operator.api('POST', podsPath, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { nodeName: node, terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'pause' }] },
    })
    await page.locator(`.node[data-key="${key}"] .pods[data-pods="${before + 1}"]`).waitFor({ timeout: patient(5000) })
    await world.operator.api('DELETE', `${podsPath}/${name}`)
    await page.locator(`.node[data-key="${key}"] .pods[data-pods="${before}"]`).waitFor({ timeout: patient(10_000) })
  })

  test('tells the life of a node, decisions, cost, budgets and a plan', async () => {
    const key = await claimName()
    const node = await open(`#/nodes/${key}`)
    for (const text of ['Launching', 'Ready', 'came: for 2 pods', 'Initialized', 'default/inflate-'])
      expect(node).toContain(text)
    expect(await open('#/decisions')).toContain('for 2 pods')
    expect(await open('#/cost')).toMatch(/general\s+\$0\.0/)
    expect(await open('#/calendar')).toContain('general')
    await open('#/plan')
    await page.getByRole('button', { name: 'Ask for a plan' }).click()
    await page.getByText('There is nothing to save.').waitFor()
  })

  test('pauses and resumes, as the user', async () => {
    await open('#/calendar')
    await page.getByRole('button', { name: 'Pause …' }).click()
    await page.getByLabel('Reason').fill('from a browser')
    await page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true }).click()
    await page.locator('.pauses').getByText('from a browser').waitFor()
    expect(await pauses()).toEqual([expect.objectContaining({ reason: 'from a browser', by: operatorUser })])
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
    await page.getByText('Nothing is paused or held.').waitFor()
    expect(await pauses()).toEqual([])
  })

  test('shows a pod that is too big, with its name and what helps', async () => {
    await world.apply(deployment({ name: 'giant', cpu: '900' }))
    await world.scale('giant', 1)
    await open('#/')
    // kube-scheduler speaks first, then the planner.
    await page.locator('.pending').getByText('too-big').waitFor()
    expect(await page.locator('.pending').innerText()).toMatch(/No node fits[\s\S]*1 pod/)
    expect(await page.locator('.remedies li').count()).toBeGreaterThan(0)
    await world.scale('giant', 0)
    await page.locator('.pending').waitFor({ state: 'detached' })
  })

  test('hinders nobody, asks nobody but its server, and complains of nothing', async () => {
    for (const hash of ['#/', `#/nodes/${await claimName()}`, '#/decisions', '#/cost', '#/calendar', '#/plan']) {
      await open(hash)
      expect(await seriousViolations(page), hash).toEqual([])
    }
    expect([...watched.origins]).toEqual([server.origin])
    expect(watched.complaints).toEqual([])
  })

  test('offers no action with --read-only', async () => {
    const readOnly = await start('--read-only')
    const { page: other } = await openPage(browser, readOnly.link)
    await other.goto(`${readOnly.origin}/#/calendar`)
    await other.getByText('Read-only').waitFor()
    await other.getByText('general').first().waitFor()
    expect(await other.getByRole('button', { name: /Pause|Resume/ }).count()).toBe(0)
  })

  test('says so when the server is gone', async () => {
    await open('#/')
    await server.stop()
    await page.getByRole('status').getByText('Reconnecting').waitFor()
    expect(await page.locator('.node').count()).toBe(1)
  })
})
