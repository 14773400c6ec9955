import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { schedulePlainly } from '../plain-scheduler/schedule.ts'
import { answer, plainForm, shuffled, type VectorScenario } from './scheduling.ts'

const vectors = new URL('../../../shared/vectors/scheduling/', import.meta.url)
const visible = new URL('visible/', vectors)

interface Comparison {
  readonly compare: (expected: VectorScenario, actual: object) => readonly string[]
}

function readVectors(): readonly VectorScenario[] {
  if (!existsSync(visible)) return []
  return readdirSync(visible).map((name) => JSON.parse(readFileSync(new URL(name, visible), 'utf8')) as VectorScenario)
}

const byCategory = (all: readonly VectorScenario[]) => [...Map.groupBy(all, ({ category }) => category)]

describe.skipIf(!existsSync(visible))("upstream's answers to all scenarios", () => {
  const all = readVectors()

  it.each(byCategory(all))('%s', async (_, scenarios) => {
    // The comparison that the vectors come with knows what upstream leaves open.
    const { compare } = (await import(new URL('compare.mjs', vectors).href)) as Comparison
    const failures = scenarios.flatMap((scenario) =>
      compare(scenario, answer(scenario)).map((difference) => `${scenario.name} ${difference}`),
    )
    expect(failures).toEqual([])
  })

  it('were compared', () => {
    console.log(`${all.length} scheduling scenarios compared`)
    expect(all.length).toBeGreaterThan(0)
  })

  it('are those of the plain rules, shuffled or not', { timeout: 60_000 }, () => {
    const different = all.filter((scenario, index) => {
      const mixed = shuffled(scenario, index)
      return JSON.stringify(plainForm(answer(mixed))) !== JSON.stringify(plainForm(answer(mixed, schedulePlainly)))
    })
    expect(different.map(({ name }) => name)).toEqual([])
  })

  it('do not depend on the order of any list', { timeout: 60_000 }, () => {
    const changed = all.filter(
      (scenario, index) =>
        JSON.stringify(plainForm(answer(scenario))) !== JSON.stringify(plainForm(answer(shuffled(scenario, index)))),
    )
    expect(changed.map(({ name }) => name)).toEqual([])
  })
})

describe("a sample of upstream's answers", () => {
  const file = new URL('./scheduling-sample.json', import.meta.url)
  const sample = JSON.parse(readFileSync(file, 'utf8')) as readonly VectorScenario[]

  it.each(byCategory(sample))('%s', (_, scenarios) => {
    for (const scenario of scenarios) {
      expect(plainForm(answer(scenario)), scenario.name).toEqual(plainForm(scenario.expected))
    }
  })
})
