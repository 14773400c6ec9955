import { describe, expect, it } from 'vitest'
import { schedulePlainly } from '../plain-scheduler/schedule.ts'
import { readSuite } from './packs.ts'
import { answer, plainForm, shuffled, type VectorScenario } from './scheduling.ts'
import { schedulingDifferences } from './scheduling-comparison.ts'

describe("upstream's answers to all scenarios", () => {
  const all = readSuite('scheduling') as readonly VectorScenario[]

  it.each([...Map.groupBy(all, ({ category }) => category)])('%s', (_, scenarios) => {
    const failures = scenarios.flatMap((scenario) =>
      schedulingDifferences(scenario, answer(scenario)).map((difference) => `${scenario.name} ${difference}`),
    )
    expect(failures).toEqual([])
  })

  it('were compared', () => {
    console.log(`${all.length} scheduling scenarios compared`)
    expect(all.length).toBeGreaterThanOrEqual(480)
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

describe('the comparison', () => {
  const pods = ['a', 'b'].map((name) => ({ kind: 'Pod', metadata: { name, labels: { app: 'web' } } }))
  const requirements = [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['1'] }]
  const claim = { nodePool: 'p', instanceTypes: ['x', 'y'], cheapestPrice: 1, requests: { cpu: '1' }, requirements }
  const expected = {
    newNodeClaims: [{ ...claim, pods: ['default/a'] }],
    existingNodes: [{ name: 'n', pods: ['default/b'] }],
    errors: { 'default/c': 'no room for hostname-placeholder-0001' },
  }
  const found = (actual: object, unstable: readonly string[] = []) =>
    schedulingDifferences({ objects: pods, expected, unstable }, actual)
  const withClaim = (change: object) => ({ ...expected, newNodeClaims: [{ ...expected.newNodeClaims[0], ...change }] })

  it.each<[string, object, string[]]>([
    ['the same', expected, []],
    [
      'other pods that are alike',
      { ...withClaim({ pods: ['default/b'] }), existingNodes: [{ name: 'n', pods: ['default/a'] }] },
      [],
    ],
    ['quantities written in another way', withClaim({ requests: { cpu: '1000m' } }), []],
    ['another order', withClaim({ instanceTypes: ['y', 'x'] }), []],
    ['another zone, which is open', withClaim({ requirements: [{ ...requirements[0], values: ['2'] }] }), ['zone']],
    ['another text, which is open', { ...expected, errors: { 'default/c': 'full' } }, ['errorText']],
    ['other claims, which are open', withClaim({ cheapestPrice: 2 }), ['claims']],
  ])('accepts %s', (_, actual, unstable) => expect(found(actual, unstable)).toEqual([]))

  it.each<[string, object, string]>([
    ['a price', withClaim({ cheapestPrice: 2 }), 'cheapestPrice: expected 1, got 2'],
    ['a type', withClaim({ instanceTypes: ['x'] }), 'instanceTypes: missing "y"'],
    ['an amount', withClaim({ requests: { cpu: '2' } }), 'requests.cpu: expected'],
    ['a zone', withClaim({ requirements: [{ ...requirements[0], values: ['2'] }] }), 'requirements: missing'],
    ['a claim that is missing', { ...expected, newNodeClaims: [] }, 'claim missing'],
    ['a claim too many', { ...expected, newNodeClaims: [...expected.newNodeClaims, claim] }, 'claim unexpected'],
    ['a node', { ...expected, existingNodes: [] }, 'existingNodes.n'],
    ['an error', { ...expected, errors: {} }, 'errors.default/c'],
  ])('names %s', (_, actual, line) => expect(found(actual).join('\n')).toContain(line))
})
