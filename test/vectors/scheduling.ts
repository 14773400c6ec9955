import type { SchedulingOptions, SchedulingPlan, SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'
import { type ResultJson, resultText } from '../../starter/cli/simulate/result.ts'
import { readScenario } from '../../starter/cli/simulate/scenario.ts'
import { schedule } from '../samples/schedule.ts'

/** A scenario with upstream's answer (golden/scheduling.md). */
export interface VectorScenario {
  readonly name: string
  readonly category: string
  readonly expected: Partial<ResultJson>
  readonly instanceTypes: readonly object[]
  readonly objects: readonly object[]
}

export type Solver = (snapshot: SchedulingSnapshot, options: SchedulingOptions) => SchedulingPlan

/** What a solver answers to a scenario, which is given to it without the answer. */
export function answer({ expected: _expected, ...scenario }: VectorScenario, solve: Solver = schedule): ResultJson {
  const { snapshot, options } = readScenario(scenario)
  return resultOf(solve(snapshot, options))
}

/** Returns a plan's result as `joiner simulate` prints it. */
export function resultOf(plan: SchedulingPlan): ResultJson {
  return JSON.parse([...resultText(plan)].join('')) as ResultJson
}

/** A result without what has no meaning in it: the order of lists. Prices are compared to six decimals. */
export function plainForm({ newNodeClaims, existingNodes, errors }: Partial<ResultJson>): object {
  const claims = (newNodeClaims ?? []).map((claim) => ({
    ...claim,
    cheapestPrice: claim.cheapestPrice.toFixed(6),
    requests: sorted(claim.requests),
    requirements: sortedTexts(claim.requirements.map((entry) => sorted(entry))),
  }))
  return {
    claims: sortedTexts(claims.map(sorted)),
    existing: sortedTexts(existingNodes ?? []),
    errors: sorted(errors ?? {}),
  }
}

const sorted = (object: object) =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))) as Record<string, unknown>
const sortedTexts = (list: readonly object[]) => list.map((item) => JSON.stringify(item)).sort()

/** The same scenario with every list in another order, by a fixed sequence of numbers. */
export function shuffled(scenario: VectorScenario, seed: number): VectorScenario {
  const next = numbers(seed)
  const shuffle = <T>(list: readonly T[]): readonly T[] =>
    list
      .map((item) => ({ item, at: next() }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item)
  return {
    ...scenario,
    objects: shuffle(scenario.objects),
    instanceTypes: shuffle(scenario.instanceTypes).map((type) => {
      const { offerings } = type as { offerings?: readonly object[] }
      return { ...type, ...(offerings === undefined ? {} : { offerings: shuffle(offerings) }) }
    }),
  }
}

/** Park and Miller's generator: enough to mix lists, and the same everywhere. */
function numbers(seed: number): () => number {
  let state = (seed % 2_147_483_646) + 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state
  }
}
