// `joiner top`: one view against the cluster and the simulated Azure, and a terminal.
import { expect, test } from 'vitest'
import { commandLine } from '../../deploy/local/installation.ts'
import type { ClusterView } from '../../starter/picture/watch/cluster-view.ts'
import { hasPseudoTerminals, onTerminal } from '../runner/pseudo-terminal.ts'
import { runHere } from './command-line.ts'
import type { Prepared } from './prepared.ts'

export function topCases(prepared: () => Prepared): void {
  const viewed = () => prepared().json<ClusterView>('top', '--once')

  test('one view says what the cluster and the simulated Azure say', async () => {
    const { world } = prepared()
    const { nodes, totals, pools, missing, pending } = await viewed()
    const { virtualMachines } = await world.azure()
    const seen = nodes.map(({ instanceType, zone }) => `${instanceType} ${zone?.slice(-1)}`)
    expect(seen.toSorted()).toEqual(virtualMachines.map(({ size, zone }) => `${size} ${zone}`).toSorted())
    const names = (await world.list('nodes')).map(({ metadata }) => metadata.name)
    expect(nodes.map(({ node = '' }) => node).toSorted()).toEqual(names.toSorted())
    for (const { pods, requested, pricePerHour = 0, nodePool: pool, phase, isReady } of nodes) {
      expect([pods.length, requested.cpu, pool, phase, isReady]).toEqual([1, 1, 'general', 'Ready', true])
      expect(pricePerHour).toBeGreaterThan(0)
    }
    expect(totals).toMatchObject({ nodes: 2, pods: 2, pending: 0, unpriced: 0 })
    expect(totals.pricePerHour).toBeCloseTo(nodes.reduce((sum, { pricePerHour = 0 }) => sum + pricePerHour, 0))
    expect(pools.map(({ name, nodes: count }) => [name, count])).toEqual([['general', 2]])
    expect([pending, missing]).toEqual([[], []])
  })

  test('without a terminal it is plain text, filtered and sorted', async () => {
    const [first, second] = (await viewed()).nodes
    const text = await prepared().text('top', '--sort-by', 'age')
    expect(text).not.toContain('\u001b')
    expect(text).toContain('2 nodes  2 pods  0 pending')
    for (const node of [first, second]) expect(text).toContain(node?.node)
    const filtered = await prepared().text('top', '--filter', first?.node ?? '')
    expect(filtered).not.toContain(second?.node)
    expect(await prepared().ask('top', '--resources', 'gpu')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Allowed are cpu, memory, pods') as string,
    })
  })

  test('who may only read Nodes sees them, and what is missing', async () => {
    const { world, admin } = prepared()
    await prepared().let('node-viewer', [{ apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch'] }])
    const as = (user: string) => runHere(admin, 'top', '--once', '--as', user)
    const viewer = await world.until('the rights are there', async () => {
      const ran = await as('node-viewer')
      return ran.code === 0 && ran
    })
    expect(viewer.stdout).toContain('2 nodes')
    for (const kind of ['pods', 'nodeclaims', 'nodepools'])
      expect(viewer.stderr).toContain(`not read: ${kind}: no right to read it`)
    expect(viewer.stderr).toContain('joiner-prices')
    expect(await as('nobody')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('User "nobody" cannot list resource "nodes"') as string,
    })
  })

  test.skipIf(!hasPseudoTerminals)('on a terminal a new node appears, and the terminal is given back', async () => {
    const { world, operator } = prepared()
    const env = { ...process.env, ...operator, NO_COLOR: '1' }
    const terminal = onTerminal([process.execPath, commandLine, 'top'], { rows: 30, columns: 160, env })
    await terminal.until('2 nodes  2 pods  0 pending')
    await world.scale('inflate', 3)
    await terminal.until('1 pending')
    await terminal.until('3 nodes  3 pods  0 pending')
    terminal.press('q')
    await prepared().untilInitialized(3)
    const { code, output } = await terminal.end()
    expect(code).toBe(0)
    expect(output.slice(output.lastIndexOf('\u001b[?1049l'))).toMatch(/ icanon/)
  })
}
