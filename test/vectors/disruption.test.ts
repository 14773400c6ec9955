import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { decide } from '../../starter/simulate/disruption.ts'

const vectors = new URL('../../../shared/vectors/disruption/', import.meta.url)
const visible = new URL('visible/', vectors)

interface Scenario {
  readonly name: string
  readonly method: string
  readonly expected: Readonly<Record<string, unknown>>
}

/** As the command that comes with the vectors compares: a list is a set, `$anyOf` and `$prefix` leave a choice, and absent is empty. */
function matches(want: unknown, got: unknown): boolean {
  if (isAbsent(want) && isAbsent(got)) return true
  if (Array.isArray(want)) return Array.isArray(got) && sameSet(want, got)
  if (isMap(want)) {
    if ('$anyOf' in want) return (want['$anyOf'] as readonly unknown[]).some((one) => matches(one, got))
    if ('$prefix' in want) return typeof got === 'string' && got.startsWith(String(want['$prefix']))
    return (
      isMap(got) &&
      [...new Set([...Object.keys(want), ...Object.keys(got)])].every((key) => matches(want[key], got[key]))
    )
  }
  if (typeof want === 'number' && typeof got === 'number')
    return Math.abs(want - got) <= 1e-9 * Math.max(Math.abs(want), Math.abs(got))
  return want === got
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isAbsent = (value: unknown) =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0)

function sameSet(want: readonly unknown[], got: readonly unknown[]): boolean {
  const rest = [...got]
  return (
    want.length === got.length &&
    want.every((one) => {
      const at = rest.findIndex((other) => matches(one, other))
      if (at >= 0) rest.splice(at, 1)
      return at >= 0
    })
  )
}

function compare({ expected, ...scenario }: Scenario): readonly string[] {
  const result = { ...decide(scenario) } as Record<string, unknown>
  return Object.keys(expected)
    .filter((key) => !matches(expected[key], result[key]))
    .map((key) => `${key}: want ${JSON.stringify(expected[key])}, got ${JSON.stringify(result[key])}`)
}

const byMethod = (all: readonly Scenario[]) => [...Map.groupBy(all, ({ method }) => method)]
const failuresOf = (all: readonly Scenario[]) =>
  all.flatMap((one) => compare(one).map((difference) => `${one.name} ${difference}`))

describe.skipIf(!existsSync(visible))("upstream's decisions in all scenarios", () => {
  const all = existsSync(visible)
    ? readdirSync(visible).map((name) => JSON.parse(readFileSync(new URL(name, visible), 'utf8')) as Scenario)
    : []

  it.each(byMethod(all))('%s', (_, scenarios) => expect(failuresOf(scenarios)).toEqual([]))

  it('were compared', () => {
    console.log(`${all.length} disruption scenarios compared`)
    expect(all.length).toBeGreaterThanOrEqual(199)
  })
})

describe("a sample of upstream's decisions", () => {
  const file = new URL('./disruption-sample.json', import.meta.url)
  const sample = JSON.parse(readFileSync(file, 'utf8')) as readonly Scenario[]

  it.each(byMethod(sample))('%s', (_, scenarios) => expect(failuresOf(scenarios)).toEqual([]))
})
