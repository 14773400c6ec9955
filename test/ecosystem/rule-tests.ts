import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { alertGroups, rulesText } from '../../deploy/alerts/alerts.ts'
import { alertCases } from './alert-cases.ts'
import type { Recorder } from './report.ts'

const run = promisify(execFile)

/**
 * Checks the rules of the chart with promtool, and runs each alert over series with which it has to fire and over series with which it must not,
 * with its real durations.
 */
export async function testRules(promtool: string, { say, record }: Recorder): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'joiner-rules-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const interrupted = () => void remove().finally(() => process.exit(130))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted)
  try {
    await writeFile(join(folder, 'rules.yaml'), rulesText())
    say('promtool check rules')
    const checked = await outcomeOf(promtool, [
      'check',
      'rules',
      '--lint=all',
      '--lint-fatal',
      join(folder, 'rules.yaml'),
    ])
    record({ part: 'rules', what: 'promtool check rules', ...checked })
    for (const { name } of [...alertGroups.values()].flat()) {
      const file = join(folder, `${name}.yaml`)
      const tests = alertCases[name] ?? []
      const fires = tests.some(({ expected }) => expected.length > 0)
      const rests = tests.some(({ expected }) => expected.length === 0)
      await writeFile(
        file,
        stringify({ rule_files: ['rules.yaml'], evaluation_interval: '1m', tests: tests.map(unitTest(name)) }),
      )
      const result = await outcomeOf(promtool, ['test', 'rules', file])
      const isOk = result.isOk && fires && rests
      record({
        part: 'rules',
        what: `promtool test rules: ${name}`,
        outcome: fires && rests ? result.outcome : 'has no case that fires, or none that does not',
        isOk,
      })
    }
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, interrupted)
    await remove()
  }
}

const unitTest = (alertname: string) => (one: NonNullable<(typeof alertCases)[string]>[number]) => ({
  interval: '1m',
  input_series: Object.entries(one.series).map(([series, values]) => ({ series, values })),
  promql_expr_test: [
    {
      expr: `count(ALERTS{alertname="${alertname}", alertstate="firing"}) or vector(0)`,
      eval_time: one.at,
      exp_samples: [{ labels: '{}', value: one.expected.length }],
    },
    ...one.expected.map((labels) => ({
      expr: `count(ALERTS{alertname="${alertname}", alertstate="firing", ${Object.entries(labels)
        .map(([name, value]) => `${name}="${value}"`)
        .join(', ')}})`,
      eval_time: one.at,
      exp_samples: [{ labels: '{}', value: 1 }],
    })),
  ],
})

async function outcomeOf(command: string, args: readonly string[]) {
  try {
    await run(command, [...args])
    return { outcome: 'as it should be', isOk: true }
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string }
    return { outcome: `${stdout} ${stderr}`.replaceAll(/\s+/g, ' ').slice(0, 600), isOk: false }
  }
}
