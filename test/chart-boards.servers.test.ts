// Boards and alerts of the chart, as helm renders them.
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { rulesText } from '../deploy/alerts/alerts.ts'
import { dashboardFiles } from '../deploy/boards/boards.ts'
import { releaseNamespace, renderChart, smallestValues } from './chart.ts'

const shownOf = async (metrics: object) =>
  (await renderChart({ ...smallestValues, metrics })).filter(
    ({ kind, metadata }) =>
      kind === 'PrometheusRule' ||
      (kind === 'ConfigMap' && !['joiner-settings', 'joiner-files'].includes(metadata.name)),
  )

test('there are no boards and no rules until values ask for them', async () => {
  expect((await shownOf({})).map(({ kind, metadata }) => [kind, metadata.name])).toEqual([])
})

test('boards are ConfigMaps that the sidecar of Grafana finds, whole', async () => {
  const shown = await shownOf({
    dashboards: { enabled: true, annotations: { grafana_folder: 'Nodes' }, labels: { team: 'a' } },
  })
  const files = dashboardFiles().map(([path, text]) => [path.split('/').at(-1) ?? '', text] as const)
  expect(shown.map(({ metadata }) => metadata.name).sort()).toEqual(
    files.map(([name]) => name.replace('joiner-', 'joiner-board-').replace('.json', '')).sort(),
  )
  for (const { metadata, ...rest } of shown) {
    expect(metadata).toMatchObject({
      namespace: releaseNamespace,
      labels: { grafana_dashboard: '1', team: 'a' },
      annotations: { grafana_folder: 'Nodes' },
    })
    const [[name, text] = ['', '']] = Object.entries((rest as unknown as { data: Record<string, string> }).data)
    expect(JSON.parse(text)).toEqual(JSON.parse(new Map(files).get(name) ?? 'null'))
  }
})

test('rules are a PrometheusRule, whose runbooks are where values say', async () => {
  const [rule, ...others] = await shownOf({
    rules: { enabled: true, labels: { release: 'prometheus' }, runbooks: 'https://wiki.example/joiner' },
  })
  expect(others).toEqual([])
  expect(rule?.metadata).toMatchObject({ name: 'joiner', labels: { release: 'prometheus' } })
  expect(rule?.['spec']).toEqual(parse(rulesText().replaceAll('RUNBOOKS#', 'https://wiki.example/joiner#')))
})
