// `joiner ui`: what its page gets, and what is missing there.
import { describe, expect, test } from 'vitest'
import { lifecycleId } from '../../core/task-queues.ts'
import { clusterName } from '../../deploy/local/cluster.ts'
import type { Calendar, ClusterView, CostReport, Decisions, NodeDetails, Session } from '../../starter/ui/contract.ts'
import type { Seen } from '../world.ts'
import { runHere } from './command-line.ts'
import { type Pages, proxyHost } from './pages.ts'
import type { Prepared } from './prepared.ts'

const phases = ['Launching', 'Registering', 'Initializing', 'Ready']

/** A pod that is bound from its beginning. */
const boundPod = (name: string, nodeName: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { nodeName, terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'pause' }] },
})

export function pageShows(prepared: () => Prepared, pages: () => Pages): void {
  const firstClaim = async () => (await prepared().claims())[0] as Seen

  test('a session and the cluster', async () => {
    const session = await pages().own.get<Session>('/api/session')
    expect(session).toMatchObject({ isReadOnly: false, version: expect.stringMatching(/^\d+\.\d+/) as string })
    const names = (await prepared().claims()).map(({ metadata }) => metadata.name)
    const { nodes, totals, pools, missing } = await pages().own.get<ClusterView>('/api/cluster')
    expect([missing, totals.nodes, totals.unpriced]).toEqual([[], names.length, 0])
    expect(pools.map(({ name, nodes: count }) => [name, count])).toEqual([['general', names.length]])
    expect(nodes.map(({ key }) => key).toSorted()).toEqual(names)
    for (const node of nodes) expect(node).toMatchObject({ phase: 'Ready', nodePool: 'general', isReady: true })
    const pods = nodes.flatMap((node) => node.pods.map(([name]) => name))
    expect(pods.filter((name) => name.startsWith('default/inflate-'))).toHaveLength(names.length)
  })

  test('a node: its timeline, why it stays, its conditions, and its cost', async () => {
    const { metadata } = await firstClaim()
    const details = await pages().own.get<NodeDetails>(`/api/nodes/${metadata.name}`)
    expect(details.timeline.map(({ phase }) => phase)).toEqual(phases)
    expect(details.why).toEqual(expect.arrayContaining(['came: for 1 pod', 'ready']))
    expect(details.conditions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ of: 'Node', type: 'Ready', status: 'True' }),
        expect.objectContaining({ of: 'NodeClaim', type: 'Initialized', status: 'True' }),
      ]),
    )
    expect(details.cost.pricePerHour).toBeGreaterThan(0)
    expect(details.cost.soFar).toBeGreaterThan(0)
    expect(details.isHeld).toBe(false)
    expect(details.workflowId).toBe(lifecycleId(clusterName, metadata))
    expect((await pages().own.send('/api/nodes/nobody')).status).toBe(404)
  })

  test('decisions, cost and the calendar', async () => {
    const claims = await prepared().claims()
    const { decisions } = await pages().own.get<Decisions>('/api/decisions?days=1')
    for (const { metadata } of claims)
      expect(decisions).toContainEqual(
        expect.objectContaining({
          kind: 'launch',
          outcome: 'done',
          reason: 'for 1 pod',
          workflowId: lifecycleId(clusterName, metadata),
        }),
      )
    const cost = await pages().own.get<CostReport>('/api/cost?days=1')
    expect(cost.total).toBeGreaterThan(0)
    expect(cost.byNodePool.reduce((sum, { usd }) => sum + usd, 0)).toBeCloseTo(cost.total)
    expect(cost.byNodePool.find(({ key }) => key === 'general')?.usd).toBeGreaterThan(0)
    const calendar = await pages().own.get<Calendar>('/api/calendar')
    const span = {
      fromMs: calendar.fromMs,
      toMs: calendar.toMs,
      reasons: ['Unhealthy', 'Empty', 'Drifted', 'Underutilized'],
      allowed: claims.length,
      limitedBy: '100% (budgets[0])',
    }
    expect(calendar.pools).toEqual([{ nodePool: 'general', spans: [span] }])
  })

  test('each change of the cluster, in every open page', async () => {
    const { world } = prepared()
    const node = (await world.list('nodes'))[0]?.metadata.name ?? ''
    const streams = await Promise.all([pages().own.stream(), pages().own.stream()])
    for (const name of ['first', 'second', 'third']) {
      await world.operator.api('POST', '/api/v1/namespaces/default/pods', boundPod(name, node))
      for (const { until } of streams)
        await until(
          ({ event, data }) =>
            event === 'change' && data.nodes.some(({ pods }) => pods.some(([shown]) => shown === `default/${name}`)),
        )
      await world.operator.api('DELETE', `/api/v1/namespaces/default/pods/${name}`)
    }
    for (const { events, close } of streams) {
      expect(events.slice(0, 2).map(({ event }) => event)).toEqual(['cluster', 'missing'])
      close()
    }
  })

  describe('what is missing is said', () => {
    test('kinds that the user may not read', async () => {
      const { limited } = pages()
      const view = await limited.get<ClusterView>('/api/cluster')
      expect(view.nodes).toHaveLength((await prepared().claims()).length)
      for (const kind of ['pods', 'nodeclaims', 'nodepools', 'joiner-prices'])
        expect(view.missing.map(({ what }) => what)).toContainEqual(expect.stringContaining(kind))
      const calendar = await limited.send('/api/calendar')
      expect([calendar.status, calendar.text]).toEqual([403, expect.stringContaining('nodepools: no right to read it')])
      expect(await runHere(prepared().admin, 'ui', '--no-open', '--as', 'nobody')).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/the cluster at .* cannot be read: .*nobody/) as string,
      })
    })

    test('Temporal, without which the cluster is shown all the same', async () => {
      const { alone } = pages()
      const { until, close } = await alone.stream()
      await until(
        ({ event, data }) =>
          event === 'missing' && String(data).includes('decisions, cost, the history of nodes and actions'),
      )
      close()
      const claims = await prepared().claims()
      expect((await alone.get<ClusterView>('/api/cluster')).nodes).toHaveLength(claims.length)
      expect((await alone.get<Session>('/api/session')).isReadOnly).toBe(true)
      const decisions = await alone.send('/api/decisions')
      expect([decisions.status, decisions.text]).toEqual([503, expect.stringContaining('127.0.0.1:1')])
      const { timeline } = await alone.get<NodeDetails>(`/api/nodes/${claims[0]?.metadata.name}`)
      expect(timeline.map(({ phase }) => phase)).toEqual(phases)
    })

    test('a port that is taken, and a kubeconfig that is not there', async () => {
      const port = String(pages().own.port)
      expect(await prepared().ask('ui', '--no-open', '--port', port)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`--port ${port}: another process listens on it`) as string,
      })
      expect(await runHere({ KUBECONFIG: '/nowhere' }, 'ui', '--no-open')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('there is no such file') as string,
      })
    })
  })

  test('behind a proxy, the account of the chart reads all that the page shows, and does nothing', async () => {
    const { shared } = pages()
    const ask = (path: string, method = 'GET', body?: unknown) =>
      shared.send(path, {
        method,
        headers: { host: proxyHost, origin: `https://${proxyHost}`, 'x-joiner-action': '1' },
        ...(body === undefined ? {} : { body }),
      })
    await prepared().world.until('Temporal is reached', async () => (await ask('/api/decisions')).status === 200)
    const { metadata } = await firstClaim()
    for (const path of ['/api/session', '/api/cluster', `/api/nodes/${metadata.name}`, '/api/cost', '/api/calendar']) {
      const { status, text } = await ask(path)
      expect([status, text]).toEqual([200, expect.not.stringMatching(/may not|are missing|could not be read/)])
    }
    const view = JSON.parse((await ask('/api/cluster')).text) as ClusterView
    expect([view.missing, view.nodes.length]).toEqual([[], (await prepared().claims()).length])
    expect((await shared.send('/api/cluster')).status).toBe(421)
    for (const [path, body] of [
      ['/api/plan', {}],
      ['/api/actions', { kind: 'hold', key: metadata.name, reason: 'x' }],
    ] as const)
      expect((await ask(path, 'POST', body)).status).toBe(403)
  })
}
