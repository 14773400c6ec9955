import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { alertGroups } from '../../deploy/alerts/alerts.ts'
import { boards, dashboardFiles } from '../../deploy/boards/boards.ts'
import { alertCases } from './alert-cases.ts'
import { definedMetrics } from './defined-metrics.ts'
import { alertExpressions, panelExpressions } from './expressions.ts'

const page = (name: string) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')
const defined = definedMetrics()
const alerts = [...alertGroups.values()].flat()
const panels = boards.flatMap(({ rows }) => rows.flatMap((row) => row.panels))

/** Of others: prom-client's default metrics, what Prometheus says of a scrape, and what Temporal's library counts. */
const ofOthers = new Set(['up', 'process_resident_memory_bytes', 'process_cpu_seconds_total', 'karpenter_build_info'])
const ofTemporal = new Set(
  page('metrics')
    .match(/`temporal_[a-z_]+`/g)
    ?.map((name) => name.slice(1, -1)),
)

/** Names in an expression that can only be those of metrics. */
function metricNames(expr: string): readonly string[] {
  const plain = expr.replaceAll(/\{[^}]*\}/g, '{}').replaceAll(/(by|on|without|ignoring) \([^)]*\)/g, '')
  return (
    plain.match(/\b(karpenter|joiner|operator|temporal|controller_runtime|workqueue|leader|process)_[a-z_]+|\bup\b/g) ??
    []
  )
}

const bare = (name: string) => name.replace(/_(bucket|sum|count)$/, '')
const exists = (name: string) =>
  [name, bare(name)].some((one) => defined.has(one) || ofOthers.has(one) || ofTemporal.has(one))

describe('boards and alerts', () => {
  test.each(
    [...panelExpressions(), ...alertExpressions()].map((one) => [`${one.owner}: ${one.title}`, one.expr] as const),
  )('%s names metrics that Joiner has', (_, expr) => {
    const names = metricNames(expr)
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter((name) => !exists(name))).toEqual([])
  })

  test('a name that nobody defines is found', () => {
    expect(
      metricNames('sum by (up) (rate(karpenter_nodes_gone_total{job="x"}[5m])) > joiner_nothing').filter(
        (name) => !exists(name),
      ),
    ).toEqual(['karpenter_nodes_gone_total', 'joiner_nothing'])
  })

  test('each panel says what it shows, once a board', () => {
    for (const { title, description, queries } of panels) {
      expect([title, description.endsWith('.'), Object.keys(queries).length > 0]).toEqual([title, true, true])
    }
    for (const { rows } of boards) {
      const titles = rows.flatMap((row) => row.panels.map(({ title }) => title))
      expect(new Set(titles).size).toBe(titles.length)
    }
  })

  test('panels lie beside each other within the grid', () => {
    for (const [path, text] of dashboardFiles()) {
      const { panels: placed } = JSON.parse(text) as {
        panels: { id: number; gridPos: Record<'x' | 'y' | 'w' | 'h', number> }[]
      }
      const cells = placed.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, cell) => [x + (cell % w), y + Math.floor(cell / w)] as const),
      )
      expect(Math.max(...cells.map(([x]) => x)), path).toBeLessThan(24)
      expect(new Set(cells.map(String)).size, path).toBe(cells.length)
      expect(new Set(placed.map(({ id }) => id)).size, path).toBe(placed.length)
    }
  })

  test('each alert has a runbook with its three parts, and each runbook an alert', () => {
    const sections = page('runbooks').split(/^## /m).slice(1)
    const names = sections.map((section) => section.split('\n')[0] ?? '')
    expect(names.toSorted()).toEqual(alerts.map(({ name }) => name).toSorted())
    for (const section of sections)
      for (const part of ['**What it means.**', '**Look.**', '**Do.**'])
        expect([section.split('\n')[0], section.includes(part)]).toEqual([section.split('\n')[0], true])
  })

  test('each alert is tried with series that make it fire and with series that do not', () => {
    const tried = Object.entries(alertCases).filter(
      ([, cases]) =>
        cases.some(({ expected }) => expected.length > 0) && cases.some(({ expected }) => expected.length === 0),
    )
    expect(tried.map(([name]) => name).toSorted()).toEqual(alerts.map(({ name }) => name).toSorted())
  })

  test('each metric with a name of our own is described', () => {
    const described = `${page('metrics')}${page('disruption')}`
    const own = [...defined].filter((name) => /^(joiner|controller_runtime|workqueue|leader)_/.test(name))
    expect(own.filter((name) => !described.includes(`\`${name}\``))).toEqual([])
  })
})
