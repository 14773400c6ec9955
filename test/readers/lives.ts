// What Temporal keeps of nodes that are gone: why they came and went, and what they cost.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { lifecycleId } from '../../core/task-queues.ts'
import type { BilledVm } from '../../deploy/local/azure/virtual-machines/bill.ts'
import { readHistory } from '../../starter/picture/history.ts'
import type { Prepared } from './prepared.ts'

const hourMs = 3_600_000

interface Life {
  readonly nodeClaim: string
  readonly node?: string
  readonly isRunning: boolean
  readonly created: string
  readonly ready?: string
  readonly ended?: string
  readonly usd: number
  readonly vms: readonly { readonly pricePerHour?: number; readonly from: string; readonly to?: string }[]
  readonly came: Readonly<Record<string, unknown>>
  readonly went?: Readonly<Record<string, unknown>>
  readonly timeline?: readonly { readonly at: string; readonly what: string }[]
}

interface Shown {
  readonly lives: readonly Life[]
  readonly commands: readonly {
    readonly id: string
    readonly outcome?: string
    readonly candidates: readonly string[]
  }[]
  readonly unreadable: number
  readonly retentionHours: number | null
}

const lastHour = ['--since', '1h'] as const

/** After nodes have gone. */
export function livesCases(prepared: () => Prepared): void {
  const shown = (...words: readonly string[]) => prepared().json<Shown>('history', ...words, ...lastHour)
  const bill = async () => {
    const { virtualMachines } = await prepared().world.operator.simulator<{
      readonly virtualMachines: readonly BilledVm[]
    }>('GET', '/bill')
    return virtualMachines
  }
  /** All that have ended, once they are closed. */
  const past = () =>
    prepared().world.until('all lifecycles but that of the node that stays are closed', async () => {
      const history = await shown()
      return history.lives.filter(({ isRunning }) => isRunning).length === 1 && history
    })

  describe('history', () => {
    test('says why nodes came and went', async () => {
      const { lives, commands, unreadable, retentionHours } = await past()
      expect([unreadable, retentionHours]).toEqual([0, expect.any(Number)])
      const lifeOf = (name: string) => lives.find(({ nodeClaim }) => nodeClaim === name)
      for (const [name, kind] of [
        ['aged', 'expired'],
        ['too-big', 'gave-up'],
        ['unwanted', 'deleted'],
      ] as const) {
        expect(lifeOf(name)).toMatchObject({ came: { kind: 'by-hand' }, went: { kind } })
        expect(lifeOf(name)).not.toHaveProperty('nodePool')
      }
      const ofPool = lives.filter(({ came }) => came['kind'] === 'pods')
      for (const { came, went, isRunning, nodeClaim, vms } of ofPool) {
        expect(came).toMatchObject({ pods: 1 })
        expect([isRunning, vms[0]?.to]).toEqual(went === undefined ? [true, undefined] : [false, expect.any(String)])
        if (went === undefined) continue
        expect(went).toMatchObject({ reason: 'Empty' })
        const command = commands.find(({ id }) => id === went['command'])
        expect(command).toMatchObject({ outcome: 'done', candidates: expect.arrayContaining([nodeClaim]) as string[] })
      }
      expect(ofPool.filter(({ went }) => went !== undefined)).not.toEqual([])
    })

    test('has the VMs and their prices that were billed, and their times in the order in which it happened', async () => {
      const { lives } = await past()
      const billed = await bill()
      const having = lives.filter(({ vms }) => vms.length > 0)
      expect(having.map(({ nodeClaim }) => `aks-${nodeClaim}`).toSorted()).toEqual(
        billed.map(({ name }) => name).toSorted(),
      )
      for (const { nodeClaim, vms, created, ended = '', ready = ended } of having) {
        const { size, capacityType, pricePerHour, fromMs, toMs } = billed.find(
          ({ name }) => name === `aks-${nodeClaim}`,
        ) as BilledVm
        expect(vms, nodeClaim).toMatchObject([{ instanceType: size, capacityType, pricePerHour }])
        const [{ from, to } = { from: '', to: undefined }] = vms
        // What Joiner saw and what the simulator billed lie between the same two moments. Times of Kubernetes are whole seconds.
        for (const atMs of [Date.parse(from), fromMs]) {
          expect(atMs, nodeClaim).toBeGreaterThanOrEqual(Date.parse(created) - 1000)
          expect(atMs, nodeClaim).toBeLessThanOrEqual(Date.parse(ready) + 1000)
        }
        expect(to === undefined, nodeClaim).toBe(toMs === undefined)
        if (to === undefined || toMs === undefined) continue
        expect(Date.parse(to), nodeClaim).toBeGreaterThanOrEqual(toMs - 1000)
        expect(Date.parse(to), nodeClaim).toBeLessThanOrEqual(Date.parse(ended) + 1000)
      }
    })

    test('shows one node by the name of its Node, in all forms', async () => {
      const life = (await past()).lives.find(({ nodeClaim }) => nodeClaim === 'unwanted')
      const node = life?.node ?? ''
      const { lives } = await shown('node', node)
      expect(lives).toMatchObject([{ nodeClaim: 'unwanted', timeline: { length: expect.any(Number) as number } }])
      const what = lives[0]?.timeline?.map((moment) => moment.what) ?? []
      expect(what[0]).toMatch(/^NodeClaim unwanted created/)
      expect(what.at(-1)).toMatch(/^NodeClaim gone/)
      expect(await prepared().text('history', 'node', node, ...lastHour)).toMatch(
        /VM accepted: Standard_\w+ on-demand \S+, \$0\.\d+ an hour/,
      )
      const csv = await prepared().text('history', 'node', node, ...lastHour, '-o', 'csv')
      expect(csv.trimEnd().split('\n')).toHaveLength(what.length + 1)
    })

    test('sums up NodePools, and has a row for each life', async () => {
      const { nodePools } = await prepared().json<{
        readonly nodePools: readonly { readonly nodePool: string; readonly usd: number }[]
      }>('history', 'nodepool', ...lastHour)
      expect(nodePools.map(({ nodePool }) => nodePool)).toEqual(['(none)', 'general'])
      const { lives } = await past()
      const [ofHand, ofPool] = ['by-hand', 'pods'].map((kind) => lives.filter(({ came }) => came['kind'] === kind))
      const usd = (some: readonly Life[] = []) =>
        some
          .flatMap(({ vms }) => vms)
          .reduce(
            (sum, { pricePerHour = 0, from, to = from }) =>
              sum + (pricePerHour * (Date.parse(to) - Date.parse(from))) / hourMs,
            0,
          )
      expect(nodePools[0]?.usd).toBeCloseTo(usd(ofHand), 4)
      expect(nodePools[1]?.usd).toBeGreaterThan(usd(ofPool))
      const [header = '', ...rows] = (await prepared().text('history', ...lastHour, '-o', 'csv')).trimEnd().split('\n')
      expect(rows).toHaveLength(lives.length)
      for (const row of rows)
        expect(row.replaceAll(/"(?:[^"]|"")*"/g, 'x').split(',')).toHaveLength(header.split(',').length)
    })

    test('says what is not there', async () => {
      expect(await prepared().ask('history', 'node', 'nobody')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('no Node or NodeClaim "nobody" is known within the last') as string,
      })
    })

    test('counts facts that anybody else wrote into a memo, and takes them for no node', async () => {
      const { world } = prepared()
      const workflowId = lifecycleId('nobody', { name: 'forged', uid: 'uid' })
      const options = { workflowId, taskQueue: 'joiner-core-nobody', args: [], memo: { facts: { createdMs: 'soon' } } }
      const { firstExecutionRunId } = await world.temporal.workflow.start('nodeClaimLifecycle', options)
      await world.until('it is listed', async () => {
        const now = Date.now()
        const where = { cluster: 'nobody', sinceMs: now - hourMs, nowMs: now }
        const { lives, unreadable } = await readHistory(world.temporal, where)
        return lives.length === 0 && unreadable === 1
      })
      await world.temporal.workflow.getHandle(workflowId, firstExecutionRunId).terminate()
    })
  })

  describe('the report', () => {
    test('counts births and deaths by reason, launches, and what disruption removed', async () => {
      const { lives } = await past()
      const ofPool = lives.filter(({ came }) => came['kind'] === 'pods').length
      const report = await prepared().json<{ readonly [part: string]: unknown }>('history', 'report', ...lastHour)
      const created = ofPool + 3
      expect(report).toMatchObject({
        unreadable: 0,
        nodes: { created, ended: created - 1, atEnd: 1 },
        launches: { created, ready: lives.filter(({ ready }) => ready !== undefined).length, gaveUp: 1 },
        methods: [{ method: 'emptiness', reason: 'Empty', undone: 0, removed: ofPool - 1, replacements: 0 }],
      })
      expect(report['births']).toEqual(
        [
          { reason: 'by-hand', nodePool: '(none)', nodes: 3 },
          { reason: 'pods', nodePool: 'general', nodes: ofPool },
        ].toSorted((a, b) => b.nodes - a.nodes),
      )
      const deaths = report['deaths'] as readonly { readonly reason: string; readonly nodes: number }[]
      expect(Object.fromEntries(deaths.map(({ reason, nodes }) => [reason, nodes]))).toEqual({
        Empty: ofPool - 1,
        deleted: 1,
        expired: 1,
        'gave-up': 1,
      })
    })

    test('is printed as Markdown and written as a page', async () => {
      const markdown = await prepared().text('history', 'report', ...lastHour)
      expect(markdown).toMatch(/^# Joiner report: `\S+`, 20/)
      expect(markdown).toMatch(/- Nodes: 0 at the start, \d created, \d ended, 1 at the end/)
      expect(markdown).toMatch(/\| disruption: empty +\| `general` +\| +\d \|/)
      const file = join(prepared().folder, 'report.html')
      expect(await prepared().text('history', 'report', ...lastHour, '-o', 'html', '--output-file', file)).toBe('')
      expect(await readFile(file, 'utf8')).toMatch(/^<!doctype html>[^]*<td>disruption: empty<\/td>[^]*<\/html>\n$/)
    })

    test('is printed without Prometheus, and the exit code says so', async () => {
      expect(
        await prepared().ask('history', 'report', ...lastHour, '--prometheus', 'http://127.0.0.1:1'),
      ).toMatchObject({
        code: 1,
        stdout: expect.stringContaining('## Interruptions') as string,
        stderr: expect.stringContaining('report: --prometheus: ') as string,
      })
    })
  })

  test('costs are those of each NodePool and namespace, and what was idle', async () => {
    const cost = (by: string) =>
      prepared().json<{
        readonly lines: readonly { readonly key: string; readonly usd: number }[]
        readonly total: { readonly usd: number }
      }>('cost', '--group-by', by, ...lastHour)
    const byPool = await cost('nodepool')
    expect(byPool.lines.find(({ key }) => key === 'general')?.usd).toBeGreaterThan(0)
    expect(byPool.lines.reduce((sum, { usd }) => sum + usd, 0)).toBeCloseTo(byPool.total.usd)
    expect(byPool.total.usd).toBeGreaterThan(0)
  })
}
