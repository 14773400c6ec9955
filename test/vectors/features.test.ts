import { describe, expect, it } from 'vitest'
import { differences } from './compare.ts'
import { featureEvaluators } from './features/evaluators.ts'
import { readSuite } from './packs.ts'

interface FeatureCase {
  readonly id: string
  readonly feature: string
  /** The outcome is an accident of upstream's code. */
  readonly quirk?: string
  readonly input: never
  readonly expected: unknown
}

/** Quirks of upstream that Joiner does not have, with what it does. */
const ours: Readonly<Record<string, string>> = {
  'overlay-offerings-09': 'a repriced offering keeps the overhead that it has for itself',
  'overlay-offerings-10': 'a repriced offering keeps the capacity that it has for itself',
  'static-create-12': 'a NodeClaim that is being deleted is leaving, whether it was launched or not',
  'static-remove-10': 'a NodeClaim that is being deleted is leaving, whether it was launched or not',
  'buffer-change-10': 'a buffer that cannot be resolved keeps no room',
}

describe('cases of features', () => {
  const cases = (readSuite('features') as readonly (readonly FeatureCase[])[]).flat()
  const features = Map.groupBy(cases, ({ feature }) => feature)

  it('have an evaluator each', () => {
    console.log(`${cases.length} cases: ${[...features].map(([name, { length }]) => `${length} ${name}`).join(', ')}`)
    expect([...features.keys()].sort()).toEqual(Object.keys(featureEvaluators).sort())
    expect(cases.length).toBeGreaterThanOrEqual(324)
  })

  it.each([...features.keys()])('%s', (feature) => {
    const failed = (features.get(feature) ?? []).filter(({ id }) => ours[id] === undefined).flatMap(differencesOf)
    expect(failed).toEqual([])
  })

  it.each(Object.keys(ours))('differ on purpose: %s', (id) => {
    const own = cases.find((one) => one.id === id)
    expect(own?.quirk).toBeDefined()
    expect(own && differencesOf(own)).not.toEqual([])
  })
})

/** Without whether a controller of upstream has an object again after an error: Joiner resolves every CapacityBuffer at each change. */
function withoutRetries(expected: unknown): unknown {
  return JSON.parse(JSON.stringify(expected), (key, value: unknown) => (key === 'retried' ? undefined : value))
}

function differencesOf({ id, feature, input, expected }: FeatureCase): readonly string[] {
  // Through JSON, as the command that answers cases writes it.
  const written: unknown = JSON.parse(JSON.stringify(featureEvaluators[feature]?.(input) ?? null))
  return differences(withoutRetries(expected), written).map((difference) => `${id} ${difference}`)
}
