// `joiner ui`: what its page does, and what is kept from others.
import { describe, expect, test } from 'vitest'
import { namespace } from '../../deploy/local/installation-accounts.ts'
import type {
  ActionAnswer,
  ActionRequest,
  Calendar,
  Decisions,
  NodeDetails,
  PlanPreview,
  Session,
} from '../../starter/ui/contract.ts'
import { operatorUser, type Seen } from '../world.ts'
import type { Pages } from './pages.ts'
import { type Prepared, pool } from './prepared.ts'

const pausesPath = `/api/v1/namespaces/${namespace}/configmaps/joiner-pauses`

export function pageActs(prepared: () => Prepared, pages: () => Pages): void {
  const act = (request: ActionRequest) => pages().own.post<ActionAnswer>('/api/actions', request)
  const firstClaim = async () => (await prepared().claims())[0] as Seen
  const pauses = async () => {
    const { data = {} } = await prepared().world.operator.api<{ data?: Record<string, string> }>('GET', pausesPath)
    return Object.values(data).map((text) => JSON.parse(text) as { readonly reason: string; readonly by: string })
  }

  test('a pause and its end, recorded with the user', async () => {
    const paused = await act({ kind: 'pause', loop: 'disruption', nodePool: 'general', reason: 'from the page' })
    expect(paused).toEqual({ isDone: true, message: expect.stringContaining('NodePool "general"') as string })
    expect(await pauses()).toEqual([expect.objectContaining({ reason: 'from the page', by: operatorUser })])
    const { pauses: shown } = await pages().own.get<Calendar>('/api/calendar')
    expect(shown).toEqual([
      expect.objectContaining({ loop: 'disruption', scope: 'nodepool general', by: operatorUser }),
    ])
    const resumed = await act({ kind: 'resume', loop: 'disruption', nodePool: 'general' })
    expect(resumed.isDone).toBe(true)
    expect(await pauses()).toEqual([])
  })

  test('a hold and its release', async () => {
    const { metadata } = await firstClaim()
    const held = await act({ kind: 'hold', key: metadata.name, reason: 'looked at', forMs: 3_600_000 })
    expect(held).toEqual({ isDone: true, message: expect.stringContaining('held') as string })
    const { annotations } = (await firstClaim()).metadata
    expect(annotations).toMatchObject({ 'joiner.sh/hold-by': operatorUser, 'joiner.sh/hold-reason': 'looked at' })
    expect((await pages().own.get<NodeDetails>(`/api/nodes/${metadata.name}`)).isHeld).toBe(true)
    expect((await act({ kind: 'release', key: metadata.name })).isDone).toBe(true)
    expect((await firstClaim()).metadata.annotations?.['joiner.sh/hold-until']).toBeUndefined()
    const { own } = pages()
    const nobody = await own.send('/api/actions', {
      method: 'POST',
      headers: { origin: own.origin, 'x-joiner-action': '1' },
      body: { kind: 'hold', key: 'nobody', reason: 'x' },
    })
    expect([nobody.status, nobody.text]).toEqual([503, expect.stringContaining('no lifecycle')])
  })

  test('a plan with nothing to do, which is not applied, nor is one that there is not', async () => {
    const plan = await pages().own.post<PlanPreview>('/api/plan', {})
    expect(plan).toMatchObject({ commands: [], before: plan.after })
    expect(plan.before).toBeGreaterThan(0)
    expect(plan.text.join('\n')).toContain('there is nothing to do')
    const applied = await act({ kind: 'apply', plan: plan.id })
    expect(applied).toEqual({ isDone: false, message: `plan ${plan.id} has nothing to do` })
    const other = plan.id === '7fffffff' ? '7ffffffe' : '7fffffff'
    expect(await act({ kind: 'apply', plan: other })).toEqual({
      isDone: false,
      message: expect.stringContaining(other) as string,
    })
  })

  describe('what is kept from others', () => {
    test('the link works once; another Host, Origin or path gets nothing', async () => {
      const { own: page } = pages()
      const again = await page.send(`/${new URL(page.link).search}`, { headers: { cookie: 'none=1' } })
      expect([again.status, again.headers['set-cookie']]).toEqual([401, undefined])
      expect((await page.send('/api/cluster', { headers: { cookie: 'none=1' } })).status).toBe(401)
      expect((await page.send('/api/cluster', { headers: { host: `evil.example:${page.port}` } })).status).toBe(421)
      expect((await page.send('/api/cluster', { headers: { origin: 'http://evil.example' } })).status).toBe(403)
      for (const path of ['/../../package.json', '/%2e%2e/%2e%2e/package.json', '/..%2f..%2fpackage.json'])
        expect((await page.send(path)).status).toBe(400)
    })

    test('with --read-only nothing is done', async () => {
      const { readOnly } = pages()
      await readOnly.logIn()
      expect(await readOnly.get<Session>('/api/session')).toMatchObject({ isReadOnly: true })
      const { metadata } = await firstClaim()
      for (const body of [
        { kind: 'pause', loop: 'provisioning', reason: 'x' },
        { kind: 'hold', key: metadata.name, reason: 'x' },
      ]) {
        const headers = { origin: readOnly.origin, 'x-joiner-action': '1' }
        const { status, text } = await readOnly.send('/api/actions', { method: 'POST', headers, body })
        expect([status, text]).toEqual([403, expect.stringContaining('read-only')])
      }
      expect(await pauses()).toEqual([])
      expect((await firstClaim()).metadata.annotations?.['joiner.sh/hold-until']).toBeUndefined()
    })
  })

  test('at its end it says so, and leaves nothing', async () => {
    const { readOnly } = pages()
    const streams = await Promise.all([readOnly.stream(), readOnly.stream()])
    const { child } = readOnly
    expect(await readOnly.stop()).toBe(0)
    await Promise.all(streams.map(({ ended }) => ended))
    for (const { events } of streams) expect(events.at(-1)).toMatchObject({ event: 'end' })
    expect(() => process.kill(child.pid ?? 0, 0)).toThrow('ESRCH')
    await expect(readOnly.send('/api/session')).rejects.toThrow('ECONNREFUSED')
  })
}

/** Nodes end while `between` is tested: one with a pod stays. */
export function pageApplies(prepared: () => Prepared, pages: () => Pages, between: () => void): void {
  let names: readonly string[] = []

  test('a plan is applied', async () => {
    const { world } = prepared()
    await world.scale('inflate', 1)
    await world.untilRunning(1)
    const [pod] = await world.list('pods')
    const idle = (await world.list('nodes')).filter(({ metadata }) => metadata.name !== pod?.spec.nodeName)
    names = idle.map(({ metadata }) => metadata.name).toSorted()
    await world.apply(pool('1s'))
    const plan = await world.until('the plan removes the nodes without pods', async () => {
      const made = await pages().own.post<PlanPreview>('/api/plan', {})
      return made.commands.flatMap(({ removes }) => removes).length === names.length && made
    })
    expect(plan.commands.flatMap(({ removes }) => removes).toSorted()).toEqual(names)
    for (const command of plan.commands) expect(command).toMatchObject({ reason: 'Empty', creates: [], pods: 0 })
    expect(plan.commands.reduce((sum, { savings }) => sum + savings, 0)).toBeCloseTo(plan.before - plan.after)
    const applied = await pages().own.post<ActionAnswer>('/api/actions', { kind: 'apply', plan: plan.id })
    expect(applied).toEqual({ isDone: true, message: expect.stringMatching(/^BEGUN/) as string })
  })

  between()

  test('its nodes go', async () => {
    const { world } = prepared()
    await world.until('one node is left', async () => (await world.list('nodes')).length === 1)
    const gone = await world.until('their end is decided', async () => {
      const { decisions } = await pages().own.get<Decisions>('/api/decisions?days=1')
      const done = decisions.filter(({ kind, outcome }) => kind === 'disruption' && outcome === 'done')
      return done.flatMap(({ nodes }) => nodes).length === names.length && done
    })
    expect(gone.flatMap(({ nodes }) => nodes).toSorted()).toEqual(names)
    for (const { reason, before = 0, after = 0 } of gone) {
      expect(reason).toBe('Empty')
      expect(before).toBeGreaterThan(after)
    }
    const { lives } = await prepared().json<{ readonly lives: readonly { nodeClaim: string; node?: string }[] }>(
      'history',
      '--since',
      '1h',
    )
    const ended = lives.find(({ node }) => node === names[0])
    const details = await world.until('the page has only its history', async () => {
      const read = await pages().own.get<NodeDetails>(`/api/nodes/${ended?.nodeClaim}`)
      return read.view === undefined && read
    })
    expect(details.timeline.at(-1)).toMatchObject({
      phase: 'Gone',
      text: expect.stringMatching(/^Empty \(command /) as string,
    })
  })
}
