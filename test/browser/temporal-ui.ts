// Pictures of Temporal's own page, which the local Temporal serves, for docs/temporal-ui.md: what each of its questions leads to.
import type { Browser, Locator, Page, PageScreenshotOptions } from 'playwright-core'
import { timeText } from '../../core/values/time.ts'
import { clusterName } from '../../deploy/local/cluster.ts'
import { pauseUpdate } from '../../workflows/messages.ts'
import { deployment, nodePool, standaloneClaim } from '../applied-objects.ts'
import { summaries } from '../observed/summaries.ts'
import type { World } from '../world.ts'

/** Writes a picture of a page, or of a part of it. */
export type Save = (page: Page, name: string, clip?: PageScreenshotOptions['clip']) => Promise<void>

/** As wide as a timeline's longest line. Lists and timelines are as high as their pictures need. */
const width = 1440
const margin = 16

const isLifecycle = "WorkflowType = 'nodeClaimLifecycle'"
const failed = `${isLifecycle} AND ExecutionStatus = 'Failed'`
const draining = "NodePhase = 'Draining' AND ExecutionStatus = 'Running'"
const readyRunOf = (nodeClaim: string) =>
  `WorkflowId STARTS_WITH 'nodeclaim/${clusterName}/${nodeClaim}-' AND NodePhase = 'Ready'`
const isCommand = "WorkflowType = 'disruptionCommand'"
const commandIn = (pool: string) => `${isCommand} AND NodePool = '${pool}'`
const endedIn = (pool: string) => `${commandIn(pool)} AND ExecutionStatus = 'Completed'`

/** What the pictures of a cluster in order do not show. The drain comes last: a timeline has room for its words only while it is recent. */
export async function addTroubles(world: World): Promise<void> {
  await launchThrice(world)
  await neverServe(world)
  await replaceDrifted(world)
  await rejectCommand(world)
  await undoCommand(world)
  await holdDrain(world)
}

/** The first offering is refused, the VM of the second fails. */
async function launchThrice(world: World): Promise<void> {
  await world.fault({ kind: 'failSync', code: 'SkuNotAvailable' })
  await world.fault({ kind: 'failAsync', code: 'AllocationFailed' })
  await world.apply(standaloneClaim('third-time-lucky'))
  await untilListed(world, readyRunOf('third-time-lucky'))
}

/** A zone that the region does not have, and spot VMs that Azure has no room for. */
async function neverServe(world: World): Promise<void> {
  const { requirements } = standaloneClaim('').spec
  const nowhere = { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['westus2-9'] }
  const spot = [
    { key: 'karpenter.azure.com/sku-name', operator: 'In', values: ['Standard_D4s_v5', 'Standard_D4as_v5'] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] },
  ]
  await world.fault({ kind: 'failSync', code: 'SkuNotAvailable', match: { capacityType: 'spot' }, count: 10_000 })
  await world.apply(
    standaloneClaim('night-job', { requirements: [...requirements, nowhere] }),
    nodePool({ name: 'spot', requirements: spot }),
    deployment({ name: 'crawler', replicas: 2, apart: true, nodeSelector: { 'karpenter.sh/nodepool': 'spot' } }),
  )
  await untilListed(world, failed, 3)
}

/** A NodePool whose template is edited once it has a node. */
async function replaceDrifted(world: World): Promise<void> {
  const pool = nodePool({ name: 'queue', consolidateAfter: '1h' })
  await runOne(world, pool, 'worker')
  const template = { metadata: { labels: { release: '2' } }, ...pool.spec.template }
  await world.apply({ ...pool, spec: { ...pool.spec, template } })
  await untilListed(world, endedIn('queue'))
}

/** A node that is empty until a pod comes back during the validation delay. */
async function rejectCommand(world: World): Promise<void> {
  await runOne(world, nodePool({ name: 'imports' }), 'import')
  await world.scale('import', 0)
  await untilListed(world, commandIn('imports'))
  await world.scale('import', 1)
  await untilListed(world, endedIn('imports'))
}

/** A NodePool that shall be of spot VMs now, which Azure has no room for. */
async function undoCommand(world: World): Promise<void> {
  const requirements = (capacityType: string) => [
    { key: 'karpenter.azure.com/sku-name', operator: 'In', values: ['Standard_D2s_v5'] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacityType] },
  ]
  const ofType = (capacityType: string) =>
    nodePool({ name: 'report', consolidateAfter: '1h', requirements: requirements(capacityType) })
  await runOne(world, ofType('on-demand'), 'monthly')
  await world.apply(ofType('spot'))
  await untilListed(world, endedIn('report'))
}

/** Has one pod run on a node of a NodePool. */
async function runOne(world: World, pool: ReturnType<typeof nodePool>, name: string): Promise<void> {
  const nodeSelector = { 'karpenter.sh/nodepool': pool.metadata.name }
  await world.apply(pool, deployment({ name, replicas: 1, nodeSelector }))
  await world.until(`the pod of ${name} runs`, async () => (await world.running(name)) === 1)
}

/** A node whose pod a budget keeps. */
async function holdDrain(world: World): Promise<void> {
  await world.apply({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'checkout', namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'checkout' } } },
  })
  const pod = (await world.list('pods')).find(({ metadata }) => metadata.labels?.['app'] === 'checkout')
  const nodeClaim = pod?.spec.nodeName?.replace(/^aks-/, '') ?? ''
  await world.operator.kubectl(['delete', 'nodeclaim', nodeClaim, '--wait=false'])
  // The page asks only once what is under way.
  await world.until('the drain under way says what holds it up', async () => {
    const [{ id } = { id: '' }] = await world.lifecycles(draining)
    const lifecycle = world.temporal.workflow.getHandle(id)
    const isNamed = (await summaries(lifecycle, { activity: 'drain' })).at(-1)?.includes('PodDisruptionBudget')
    const { pendingActivities } = (await lifecycle.describe()).raw
    return isNamed && pendingActivities?.some(({ lastStartedTime }) => lastStartedTime != null)
  })
}

async function untilListed(world: World, query: string, count = 1): Promise<void> {
  const isListed = async () => (await world.temporal.workflow.count(query)).count >= count
  await world.until(`Temporal lists ${count}: ${query}`, isListed)
}

/** The list without a filter. */
export async function shootList(browser: Browser, world: World, save: Save): Promise<void> {
  const temporal = await TemporalPage.open(browser, world, save)
  await temporal.list('temporal', { text: `disruption/${clusterName}`, height: 860, isWide: true })
}

/** What an on-call person finds in a cluster with troubles. */
export async function shootAnswers(browser: Browser, world: World, save: Save): Promise<void> {
  const temporal = await TemporalPage.open(browser, world, save)
  await temporal.timeline('temporal-drain', draining, /Attempt[^]*PodDisruptionBudget/)
  await temporal.details('temporal-details', 'PodDisruptionBudget')
  await temporal.list('temporal-failed', { query: failed, text: 'night-job', height: 660 })
  await temporal.timeline('temporal-attempts', readyRunOf('third-time-lucky'), 'attempt 3')
  await temporal.timeline('temporal-command', endedIn('queue'), 'deleteCandidates')
  await temporal.timeline('temporal-rejected', endedIn('imports'), 'commitDisruption')
  await temporal.timeline('temporal-undone', endedIn('report'), 'awaitReplacements')
  await temporal.list('temporal-commands', { query: isCommand, text: 'disrupt/', height: 660 })
  const until = timeText(Date.now() + 48 * 3_600_000)
  const request = { reason: 'nightly upgrade', by: 'ana@contoso.com', until }
  await world.loop('provisioning').executeUpdate(pauseUpdate, { args: [request] })
  await temporal.timeline('temporal-pause', `WorkflowId = 'provisioning/${clusterName}'`, request.reason)
}

/** A tab with the page. */
class TemporalPage {
  readonly #page: Page
  readonly #world: World
  readonly #save: Save

  private constructor(page: Page, world: World, save: Save) {
    this.#page = page
    this.#world = world
    this.#save = save
  }

  static async open(browser: Browser, world: World, save: Save): Promise<TemporalPage> {
    const page = await browser.newPage({ reducedMotion: 'reduce' })
    page.setDefaultTimeout(120_000)
    await page.addInitScript(`localStorage.setItem('namespace-workflow-table-columns', ${JSON.stringify(columns())})`)
    return new TemporalPage(page, world, save)
  }

  async list(name: string, { query, text, height, isWide = false }: Listed): Promise<void> {
    await this.#page.setViewportSize({ width, height })
    await this.#page.goto(this.#address + (query === undefined ? '' : `?query=${encodeURIComponent(query)}`))
    if (isWide) await this.#page.getByRole('button', { name: 'Collapse saved views' }).click()
    await this.#page.getByRole('columnheader', { name: 'NodePhase' }).waitFor()
    await this.#page.getByText(text).first().waitFor()
    await this.#saveTo(name, this.#page.locator('main'))
  }

  async timeline(name: string, query: string, text: string | RegExp): Promise<void> {
    await this.#page.setViewportSize({ width, height: 1200 })
    const { workflowId, runId } = await this.#first(query)
    await this.#page.goto(`${this.#address}/${encodeURIComponent(workflowId)}/${runId}/timeline`)
    const graph = this.#page.locator('#event-history-timeline-graph')
    await graph.getByText(text).first().waitFor()
    await this.#saveTo(name, graph)
  }

  /** The "Current details" of the workflow that was shown last. The page shows Markdown in a frame of its own. */
  async details(name: string, text: string): Promise<void> {
    await this.#page.getByRole('tab', { name: 'User Metadata' }).click()
    const details = this.#page.locator('iframe').last().contentFrame()
    await details.getByText(text).first().waitFor()
    await this.#saveTo(name, details.getByText('joiner history node'))
  }

  get #address(): string {
    return `http://127.0.0.1:${this.#world.cluster.ports.temporalUi}/namespaces/default/workflows`
  }

  async #first(query: string): Promise<{ readonly workflowId: string; readonly runId: string }> {
    for await (const found of this.#world.temporal.workflow.list({ query })) return found
    throw new Error(`no workflow to show: ${query}`)
  }

  /** Without the navigation, which would make the words smaller, and what is below the element. */
  async #saveTo(name: string, last: Locator): Promise<void> {
    const main = await this.#page.locator('main').boundingBox()
    const end = await last.boundingBox()
    if (main === null || end === null) throw new Error(`${name}: the page shows nothing`)
    const height = end.y + end.height + margin - main.y
    await this.#save(this.#page, name, { x: main.x, y: main.y, width: main.width, height })
  }
}

interface Listed {
  readonly query?: string
  /** What a row has once the list is there. */
  readonly text: string
  readonly height: number
  /** Without saved views beside it. */
  readonly isWide?: boolean
}

/** The columns that docs/temporal-ui.md recommends, as the page keeps them for one browser. */
function columns(): string {
  const labels = ['Status', 'Workflow ID', 'NodePool', 'NodePhase', 'InstanceType', 'CapacityType', 'Zone']
  return JSON.stringify({ default: labels.map((label, index) => ({ label, pinned: index < 2 })) })
}
