// `joiner ui` on a real cluster: what its page gets, what it may do, and what is kept from others.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildUi } from '../deploy/build-ui.ts'
import { namespace } from '../deploy/local/installation-accounts.ts'
import type {
  ActionAnswer,
  ActionRequest,
  Calendar,
  ClusterView,
  CostReport,
  Decisions,
  NodeDetails,
  PlanPreview,
  Session,
  StreamEvent,
} from '../starter/ui/contract.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { openPage, startBrowser } from './browser/browser.ts'
import { ofShape, renderChart, role, smallestValues } from './chart.ts'
import { UiProcess } from './ui-client.ts'
import { operatorUser, type Seen, World } from './world.ts'

let world: World
let page: UiProcess
const started: UiProcess[] = []

beforeAll(async () => {
  await buildUi()
  world = await World.start()
  await world.startWithPool(
    nodePool({ consolidateAfter: 'Never' }),
    nodeClass(),
    deployment({ name: 'inflate', cpu: '1' }),
  )
  await world.scale('inflate', 2)
  await world.untilRunning(2)
  page = await start([])
  await page.logIn()
})

afterAll(async () => {
  for (const each of started) await each.stop()
  await world?.stop()
})

async function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<UiProcess> {
  const own = { KUBECONFIG: world.installation.operatorKubeconfig, ...world.cluster.temporalEnv, ...env }
  const process = await UiProcess.start(own, ...args)
  started.push(process)
  return process
}

const act = (request: ActionRequest) => page.post<ActionAnswer>('/api/actions', request)
const pausesPath = `/api/v1/namespaces/${namespace}/configmaps/joiner-pauses`
const pauses = async () => {
  const { data = {} } = await world.operator.api<{ data?: Record<string, string> }>('GET', pausesPath)
  return Object.values(data).map((text) => JSON.parse(text) as { readonly reason: string; readonly by: string })
}
const onlyClaim = async (): Promise<Seen> => {
  const [claim, ...others] = await world.list('nodeclaims')
  if (claim === undefined || others.length > 0) throw new Error('not one NodeClaim')
  return claim
}

/** A pod that is bound from its beginning. */
const boundPod = (name: string, nodeName: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { nodeName, terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'pause' }] },
})

describe('what the page gets', () => {
  test('a session and the cluster', async () => {
    const session = await page.get<Session>('/api/session')
    expect(session).toMatchObject({ isReadOnly: false, version: expect.stringMatching(/^\d+\.\d+/) })
    const claim = await onlyClaim()
    const { nodes, totals, pools, missing } = await page.get<ClusterView>('/api/cluster')
    expect([missing, totals.nodes, totals.unpriced]).toEqual([[], 1, 0])
    expect(pools.map(({ name, nodes: count }) => [name, count])).toEqual([['general', 1]])
    expect(nodes).toEqual([
      expect.objectContaining({ key: claim.metadata.name, phase: 'Ready', nodePool: 'general', isReady: true }),
    ])
    expect(nodes[0]?.pods.filter(([name]) => name.startsWith('default/inflate-'))).toHaveLength(2)
  })

  test('a node: its timeline, why it stays, its conditions, and its cost', async () => {
    const claim = await onlyClaim()
    const details = await page.get<NodeDetails>(`/api/nodes/${claim.metadata.name}`)
    expect(details.timeline.map(({ phase }) => phase)).toEqual(['Launching', 'Registering', 'Initializing', 'Ready'])
    expect(details.why).toEqual(expect.arrayContaining(['it exists for 2 pods', 'ready']))
    expect(details.conditions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ of: 'Node', type: 'Ready', status: 'True' }),
        expect.objectContaining({ of: 'NodeClaim', type: 'Initialized', status: 'True' }),
      ]),
    )
    expect(details.cost.pricePerHour).toBeGreaterThan(0)
    expect(details.cost.soFar).toBeGreaterThan(0)
    expect(details.isHeld).toBe(false)
    expect(details.workflowId).toContain(claim.metadata.uid)
    expect((await page.send('/api/nodes/nobody')).status).toBe(404)
  })

  test('decisions, cost and the calendar', async () => {
    const claim = await onlyClaim()
    const { decisions } = await page.get<Decisions>('/api/decisions?days=1')
    expect(decisions).toEqual([
      expect.objectContaining({
        kind: 'launch',
        outcome: 'done',
        reason: 'for 2 pods',
        workflowId: expect.stringContaining(claim.metadata.uid),
      }),
    ])
    const cost = await page.get<CostReport>('/api/cost?days=1')
    expect(cost.total).toBeGreaterThan(0)
    expect(cost.byNodePool).toEqual([expect.objectContaining({ key: 'general', usd: cost.total })])
    const calendar = await page.get<Calendar>('/api/calendar')
    expect(calendar.pools).toEqual([
      {
        nodePool: 'general',
        spans: [
          {
            fromMs: calendar.fromMs,
            toMs: calendar.toMs,
            reasons: ['Unhealthy', 'Empty', 'Drifted', 'Underutilized'],
            allowed: 1,
            limitedBy: '100% (budgets[0])',
          },
        ],
      },
    ])
  })

  test('each change of the cluster within a second, in every open page', async () => {
    const node = (await world.list('nodes'))[0]?.metadata.name ?? ''
    const names = ['first', 'second', 'third']
    const seen = new Map<string, number>()
    const note = (stream: number) => (event: StreamEvent) => {
      if (event.event !== 'change') return
      const pods = event.data.nodes.flatMap((each) => each.pods.map(([name]) => name))
      for (const name of names)
        if (pods.includes(`default/${name}`) && !seen.has(`${stream} ${name}`))
          seen.set(`${stream} ${name}`, Date.now())
    }
    const streams = await Promise.all([page.stream(note(0)), page.stream(note(1))])
    for (const name of names) {
      const at = Date.now()
      await world.operator.api('POST', '/api/v1/namespaces/default/pods', boundPod(name, node))
      await expect.poll(() => [0, 1].every((stream) => seen.has(`${stream} ${name}`)), { timeout: 5000 }).toBe(true)
      const took = [0, 1].map((stream) => (seen.get(`${stream} ${name}`) ?? 0) - at)
      expect(Math.max(...took), `${name} came after ${took.join(' and ')} ms`).toBeLessThan(1000)
    }
    for (const { events, close } of streams) {
      expect(events.slice(0, 2).map(({ event }) => event)).toEqual(['cluster', 'missing'])
      close()
    }
    for (const name of names) await world.operator.api('DELETE', `/api/v1/namespaces/default/pods/${name}`)
  })
})

test("a real browser takes the link, and shows the cluster live under the server's policy", async () => {
  const own = await start(['--read-only'])
  await using browser = await startBrowser()
  const { page: tab, origins, complaints } = await openPage(browser, own.link)
  const { metadata } = await onlyClaim()
  const pods = tab.locator(`.node[data-key="${metadata.name}"] svg.pods`)
  await pods.waitFor()
  const before = Number(await pods.getAttribute('data-pods'))
  const node = (await world.list('nodes'))[0]?.metadata.name ?? ''
  await world.operator.api('POST', '/api/v1/namespaces/default/pods', boundPod('drawn', node))
  await tab.locator(`.node[data-key="${metadata.name}"] svg.pods[data-pods="${before + 1}"]`).waitFor()
  expect(new URL(tab.url()).search).toBe('')
  expect([[...origins], complaints]).toEqual([[own.origin], []])
  await world.operator.api('DELETE', '/api/v1/namespaces/default/pods/drawn')
})

describe('what the page does', () => {
  test('a pause and its end, recorded with the user', async () => {
    const paused = await act({ kind: 'pause', loop: 'disruption', nodePool: 'general', reason: 'from the page' })
    expect(paused).toEqual({ isDone: true, message: expect.stringContaining('NodePool "general"') })
    expect(await pauses()).toEqual([expect.objectContaining({ reason: 'from the page', by: operatorUser })])
    const { pauses: shown } = await page.get<Calendar>('/api/calendar')
    expect(shown).toEqual([
      expect.objectContaining({ loop: 'disruption', scope: 'nodepool general', by: operatorUser }),
    ])
    const resumed = await act({ kind: 'resume', loop: 'disruption', nodePool: 'general' })
    expect(resumed.isDone).toBe(true)
    expect(await pauses()).toEqual([])
  })

  test('a hold and its release', async () => {
    const { metadata } = await onlyClaim()
    const held = await act({ kind: 'hold', key: metadata.name, reason: 'looked at', forMs: 3_600_000 })
    expect(held).toEqual({ isDone: true, message: expect.stringContaining('held') })
    const { annotations } = (await onlyClaim()).metadata
    expect(annotations).toMatchObject({ 'joiner.sh/hold-by': operatorUser, 'joiner.sh/hold-reason': 'looked at' })
    expect((await page.get<NodeDetails>(`/api/nodes/${metadata.name}`)).isHeld).toBe(true)
    expect((await act({ kind: 'release', key: metadata.name })).isDone).toBe(true)
    expect((await onlyClaim()).metadata.annotations?.['joiner.sh/hold-until']).toBeUndefined()
    const nobody = await page.send('/api/actions', {
      method: 'POST',
      headers: { origin: page.origin, 'x-joiner-action': '1' },
      body: { kind: 'hold', key: 'nobody', reason: 'x' },
    })
    expect([nobody.status, nobody.text]).toEqual([503, expect.stringContaining('no lifecycle')])
  })

  test('a plan with nothing to do, which is not applied, nor is one that there is not', async () => {
    const plan = await page.post<PlanPreview>('/api/plan', {})
    expect(plan).toMatchObject({ commands: [], before: plan.after })
    expect(plan.before).toBeGreaterThan(0)
    expect(plan.text.join('\n')).toContain('there is nothing to do')
    const applied = await act({ kind: 'apply', plan: plan.id })
    expect(applied).toEqual({ isDone: false, message: `plan ${plan.id} has nothing to do` })
    const other = plan.id === '7fffffff' ? '7ffffffe' : '7fffffff'
    expect(await act({ kind: 'apply', plan: other })).toEqual({
      isDone: false,
      message: expect.stringContaining(other),
    })
  })
})

describe('what is kept from others', () => {
  test('the link works once; another Host, Origin or path gets nothing', async () => {
    const again = await page.send(`/${new URL(page.link).search}`, { headers: { cookie: 'none=1' } })
    expect([again.status, again.headers['set-cookie']]).toEqual([401, undefined])
    expect((await page.send('/api/cluster', { headers: { cookie: 'none=1' } })).status).toBe(401)
    expect((await page.send('/api/cluster', { headers: { host: `evil.example:${page.port}` } })).status).toBe(421)
    expect((await page.send('/api/cluster', { headers: { origin: 'http://evil.example' } })).status).toBe(403)
    for (const path of ['/../../package.json', '/%2e%2e/%2e%2e/package.json', '/..%2f..%2fpackage.json'])
      expect((await page.send(path)).status).toBe(400)
  })

  test('with --read-only nothing is done', async () => {
    const readOnly = await start(['--read-only'])
    await readOnly.logIn()
    expect(await readOnly.get<Session>('/api/session')).toMatchObject({ isReadOnly: true })
    const { metadata } = await onlyClaim()
    for (const body of [
      { kind: 'pause', loop: 'provisioning', reason: 'x' },
      { kind: 'hold', key: metadata.name, reason: 'x' },
    ]) {
      const headers = { origin: readOnly.origin, 'x-joiner-action': '1' }
      const { status, text } = await readOnly.send('/api/actions', { method: 'POST', headers, body })
      expect([status, text]).toEqual([403, expect.stringContaining('read-only')])
    }
    expect(await pauses()).toEqual([])
    expect((await onlyClaim()).metadata.annotations?.['joiner.sh/hold-until']).toBeUndefined()
  })
})

describe('what is missing is said', () => {
  test('kinds that the user may not read', async () => {
    await world.apply(
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'ui-nodes-only' },
        rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch'] }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'ui-nodes-only' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'ui-nodes-only' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'nadia' }],
      },
    )
    const limited = await start(['--as', 'nadia'], { KUBECONFIG: world.cluster.adminKubeconfig })
    await limited.logIn()
    const view = await limited.get<ClusterView>('/api/cluster')
    expect(view.nodes).toHaveLength(1)
    for (const kind of ['pods', 'nodeclaims', 'nodepools', 'joiner-prices'])
      expect(view.missing).toEqual(expect.arrayContaining([expect.stringContaining(kind)]))
    const calendar = await limited.send('/api/calendar')
    expect([calendar.status, calendar.text]).toEqual([403, expect.stringContaining('nadia')])
    const nobody = UiProcess.start({ KUBECONFIG: world.cluster.adminKubeconfig }, '--as', 'nobody')
    await expect(nobody).rejects.toThrow(/ended with 1: the cluster at .* cannot be read: .*nobody/)
  })

  test('Temporal, without which the cluster is shown all the same', async () => {
    const alone = await start([], { TEMPORAL_ADDRESS: '127.0.0.1:1' })
    await alone.logIn()
    const stream = await alone.stream()
    await expect
      .poll(() => stream.events.findLast(({ event }) => event === 'missing')?.data, { timeout: 20_000 })
      .toEqual([expect.stringContaining('decisions, cost, the history of nodes and actions')])
    expect((await alone.get<ClusterView>('/api/cluster')).nodes).toHaveLength(1)
    expect((await alone.get<Session>('/api/session')).isReadOnly).toBe(true)
    const decisions = await alone.send('/api/decisions')
    expect([decisions.status, decisions.text]).toEqual([503, expect.stringContaining('127.0.0.1:1')])
    const { metadata } = await onlyClaim()
    const { timeline } = await alone.get<NodeDetails>(`/api/nodes/${metadata.name}`)
    expect(timeline.map(({ phase }) => phase)).toEqual(['Launching', 'Registering', 'Initializing', 'Ready'])
  })

  test('a port that is taken, and a kubeconfig that is not there', async () => {
    const kubeconfig = { KUBECONFIG: world.installation.operatorKubeconfig, ...world.cluster.temporalEnv }
    await expect(UiProcess.start(kubeconfig, '--port', String(page.port))).rejects.toThrow(
      `ended with 1: --port ${page.port}: another process listens on it`,
    )
    await expect(UiProcess.start({ KUBECONFIG: '/nowhere' })).rejects.toThrow('there is no such file')
  })
})

test('behind a proxy, the account of the chart reads all that the page shows, and does nothing', async () => {
  const host = 'joiner.example.com'
  const manifests = await renderChart({
    ...smallestValues,
    ui: { enabled: true, host, allowedNamespaces: ['ingress'] },
  })
  const roles = ofShape(manifests, ['Role', 'ClusterRole'], role).filter(
    ({ metadata }) => metadata.name === 'joiner-ui',
  )
  const place = ({ kind }: { readonly kind: string }) => (kind === 'Role' ? { namespace } : {})
  await world.apply(
    ...roles.map(({ apiVersion, kind, rules }) => ({
      apiVersion,
      kind,
      metadata: { name: 'shared-ui', ...place({ kind }) },
      rules,
    })),
    ...roles.map(({ apiVersion, kind }) => ({
      apiVersion,
      kind: `${kind}Binding`,
      metadata: { name: 'shared-ui', ...place({ kind }) },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: 'shared-ui' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'shared-ui' }],
    })),
  )
  const shared = await start(['--behind-proxy', host, '--as', 'shared-ui'], {
    KUBECONFIG: world.cluster.adminKubeconfig,
  })
  const ask = (path: string, method = 'GET', body?: unknown) =>
    shared.send(path, {
      method,
      headers: { host, origin: `https://${host}`, 'x-joiner-action': '1' },
      ...(body === undefined ? {} : { body }),
    })
  await expect.poll(async () => (await ask('/api/decisions')).status).toBe(200)
  const { metadata } = await onlyClaim()
  for (const path of ['/api/session', '/api/cluster', `/api/nodes/${metadata.name}`, '/api/cost', '/api/calendar']) {
    const { status, text } = await ask(path)
    expect([status, text]).toEqual([200, expect.not.stringMatching(/may not|are missing|could not be read/)])
  }
  const view = JSON.parse((await ask('/api/cluster')).text) as ClusterView
  expect([view.missing, view.nodes.length]).toEqual([[], 1])
  expect((await shared.send('/api/cluster')).status).toBe(421)
  for (const [path, body] of [
    ['/api/plan', {}],
    ['/api/actions', { kind: 'hold', key: metadata.name, reason: 'x' }],
  ] as const)
    expect((await ask(path, 'POST', body)).status).toBe(403)
})

test('a plan is applied, and its nodes go', async () => {
  const { metadata } = await onlyClaim()
  const [node] = await world.list('nodes')
  await world.scale('inflate', 0)
  await world.untilRunning(0)
  await world.apply(nodePool({ consolidateAfter: '1s' }))
  const plan = await world.until('the plan removes the node', async () => {
    const made = await page.post<PlanPreview>('/api/plan', {})
    return made.commands.length > 0 && made
  })
  expect(plan.commands).toEqual([
    expect.objectContaining({ reason: 'Empty', removes: [node?.metadata.name], creates: [], pods: 0 }),
  ])
  expect(plan.commands[0]?.savings).toBeCloseTo(plan.before - plan.after)
  const applied = await act({ kind: 'apply', plan: plan.id })
  expect(applied).toEqual({ isDone: true, message: expect.stringMatching(/^BEGUN/) })
  await world.untilNothingLeft()
  const gone = await world.until('its end is decided', async () => {
    const { decisions } = await page.get<Decisions>('/api/decisions?days=1')
    return decisions.find(({ kind, outcome }) => kind === 'disruption' && outcome === 'done')
  })
  expect(gone).toMatchObject({ reason: 'Empty', nodes: [node?.metadata.name], after: 0 })
  expect(gone.before).toBeGreaterThan(0)
  const details = await world.until('the page has only its history', async () => {
    const read = await page.get<NodeDetails>(`/api/nodes/${metadata.name}`)
    return read.view === undefined && read
  })
  expect(details.timeline.at(-1)).toMatchObject({ phase: 'Ended', text: 'disrupted: Empty' })
})

test('at its end it says so, and leaves nothing', async () => {
  const own = await start([])
  await own.logIn()
  const streams = await Promise.all([own.stream(), own.stream()])
  const { child } = own
  expect(await own.stop()).toBe(0)
  await Promise.all(streams.map(({ ended }) => ended))
  for (const { events } of streams) expect(events.at(-1)).toMatchObject({ event: 'end' })
  expect(() => process.kill(child.pid ?? 0, 0)).toThrow('ESRCH')
  await expect(own.send('/api/session')).rejects.toThrow('ECONNREFUSED')
})
