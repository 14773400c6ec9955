import { describe, expect, test } from 'vitest'
import { SkuCatalogue } from '../../deploy/local/azure/catalogue/sku-catalogue.ts'
import { type Expected, expectations, mostExpectedFailures, problemsOf, unknownSpecs } from './judgement.ts'
import { groupsOf, groupTable, notPassedOf, pagePart, readmeLine } from './record.ts'
import { type Place, runSpecs } from './run.ts'
import { type GinkgoReport, type Outcome, type Result, resultOf, type Spec, selected, specsOf } from './specs.ts'

const it = (containers: readonly string[], text: string, more: object = {}) => ({
  LeafNodeType: 'It',
  ContainerHierarchyTexts: containers,
  LeafNodeText: text,
  State: 'passed',
  RunTime: 2_500_000_000,
  ...more,
})
const failure = {
  Message: 'Timed out after 900.001s.\nExpected\n    <bool>: false\nto be true',
  Location: { FileName: 'example.com/test/suites/a/b_test.go', LineNumber: 306 },
}
const report: GinkgoReport = {
  SuiteDescription: 'Disruption',
  SpecReports: [
    { ...it([], ''), LeafNodeType: 'BeforeSuite' },
    it(['Drift', 'Budgets'], 'is held by 50%'),
    it(['Drift', 'Failure'], 'should not disrupt a drifted node if the replacement fails', {
      State: 'timedout',
      Failure: failure,
    }),
    it(['Repair'], 'needs kwok', { State: 'skipped', Failure: { ...failure, Message: 'needs  kwok' } }),
  ],
}
const specs = specsOf('disruption', report)
const [budgets, wait, repair] = specs as readonly [Spec, Spec, Spec]

describe('a report of Ginkgo', () => {
  test('has specs with the names that Ginkgo looks for patterns in, each in one group', () => {
    expect(specs).toEqual([
      { suite: 'disruption', name: 'Disruption Drift Budgets is held by 50%', group: 'Drift' },
      {
        suite: 'disruption',
        name: 'Disruption Drift Failure should not disrupt a drifted node if the replacement fails',
        group: 'Drift',
      },
      { suite: 'disruption', name: 'Disruption Repair needs kwok', group: 'Repair' },
    ])
  })

  test('says how a spec ended, where and why', () => {
    expect(specs.map((spec) => resultOf(spec, report))).toEqual([
      { spec: budgets, outcome: 'passed', seconds: 2.5, why: '' },
      {
        spec: wait,
        outcome: 'failed',
        seconds: 2.5,
        why: 'b_test.go:306: Timed out after 900.001s. Expected <bool>: false to be true',
      },
      { spec: repair, outcome: 'skipped', seconds: 2.5, why: 'b_test.go:306: needs kwok' },
    ])
    expect(resultOf(budgets, undefined)).toMatchObject({
      outcome: 'failed',
      why: 'the suite ended without a report of it',
    })
  })

  test('must not have two specs of the same name', () => {
    const twice = { ...report, SpecReports: [it(['a'], 'b'), it(['a'], 'b')] }
    expect(() => specsOf('disruption', twice)).toThrow('suite disruption has two specs "Disruption a b"')
  })
})

test('the groups have each spec exactly once', () => {
  const groups = [...new Set(specs.map(({ group }) => group))]
  const taken = groups.flatMap((group) => selected(specs, { group }))
  expect(taken).toHaveLength(specs.length)
  expect(new Set(taken)).toEqual(new Set(specs))
})

test.each([
  ['the longest first', {}, [wait, budgets, repair]],
  ['by their names', { focus: /Budgets|kwok$/ }, [budgets, repair]],
  ['of a group', { group: 'Repair' }, [repair]],
  ['without those that wait', { short: true }, [budgets, repair]],
])('specs are taken %s', (_, wanted, taken) => {
  expect(selected(specs, wanted)).toEqual(taken)
})

test('a group that there is not is refused', () => {
  expect(() => selected(specs, { group: 'Drfit' })).toThrow('there is no group "Drfit"; write one of Drift, Repair')
})

const ended = (outcome: Outcome, why = ''): Result => ({ spec: wait, outcome, seconds: 1, why })
const entry = (outcome: Expected['outcome']): Expected => ({
  spec: wait.name,
  outcome,
  why: 'a.go:1: no',
  reason: 'ADR 2',
})

test('the simulator sells sizes in as many zones as it is asked to, but none where there are none', () => {
  const zonesOf = (name: string, zones?: readonly string[]) =>
    new SkuCatalogue({ location: 'westus2', ...(zones === undefined ? {} : { zones }) }).size(name)?.zones
  expect(zonesOf('Standard_D2s_v5')).toEqual(['1', '2', '3'])
  expect(zonesOf('Standard_D2s_v5', ['1', '2', '3', '4'])).toEqual(['1', '2', '3', '4'])
  expect(zonesOf('Standard_DS2_v2', ['1', '2', '3', '4'])).toEqual([])
})

describe('a run', () => {
  test.each<[string, Result, readonly Expected[], RegExp | undefined]>([
    ['a spec that passed', ended('passed'), [], undefined],
    ['a failure', ended('failed', 'a.go:2: oh'), [], /^failed: Disruption Drift Failure .*: a\.go:2: oh$/],
    ['a skip', ended('skipped', 'a.go:2: oh'), [], /^skipped: Disruption Drift Failure/],
    ['an expected failure', ended('failed', 'a.go:1: no way'), [entry('failed')], undefined],
    [
      'an expected failure elsewhere',
      ended('failed', 'a.go:2: oh'),
      [entry('failed')],
      /for another reason.*Drift Failure/,
    ],
    ['an unexpected pass', ended('passed'), [entry('failed')], /^passed, though .* \(ADR 2\).*Drift Failure/],
    ['a skip in place of a failure', ended('skipped'), [entry('failed')], /^skipped, though .*Drift Failure/],
  ])('with %s', (_, result, expected, problem) => {
    const problems = problemsOf([result], expected)
    if (problem === undefined) expect(problems).toEqual([])
    else expect(problems).toEqual([expect.stringMatching(problem)])
  })

  test('misses a spec that is expected to fail and is no more', () => {
    expect(unknownSpecs(specs, [entry('failed')])).toEqual([])
    expect(unknownSpecs([repair], [entry('failed')])).toEqual([expect.stringContaining(wait.name)])
  })
})

test('expected.json expects one failure at most, and names a reason for each spec', () => {
  const failures = expectations().filter(({ outcome }) => outcome === 'failed')
  expect(failures.length).toBeLessThanOrEqual(mostExpectedFailures)
  for (const one of expectations()) expect(Object.values(one).every((text) => text !== '')).toBe(true)
})

test('a record says what passed by group, and why the rest did not', () => {
  const results = [resultOf(budgets, report), resultOf(wait, report), resultOf(repair, report)]
  const run = {
    karpenter: '1.2.3',
    circumstances: '2026-11-26, commit 0123abc, 2 cores',
    minutes: 52,
    groups: groupsOf(results),
    notPassed: notPassedOf(results, [entry('failed')]),
  }
  expect(groupTable(run.groups)).toContain('| disruption | Drift   | 2     | 1      | 1      | 0       |')
  expect(pagePart(run)).toContain('Karpenter 1.2.3; 2026-11-26, commit 0123abc, 2 cores; 52 minutes.')
  expect(pagePart(run)).toMatch(/replacement fails +\| failed +\| ADR 2 /)
  expect(readmeLine(run)).toContain('of their 3 specs (version 1.2.3), 1 passes, 1 fails, 1 skips itself (')
  expect(readmeLine(undefined)).toContain('there was no whole run yet')
})

describe('clusters', () => {
  /** Runs specs on places that a test looks into. */
  async function ran(all: readonly Spec[], outcomeOf: (spec: Spec) => Outcome, interrupted = new AbortController()) {
    const seen = { started: 0, closed: 0, most: 0, mostWorking: 0, results: [] as Result[] }
    const running = new Set<Spec>()
    const start = async (): Promise<Place> => {
      seen.started += 1
      return {
        run: async (spec) => {
          running.add(spec)
          seen.most = Math.max(seen.most, running.size)
          seen.mostWorking = Math.max(seen.mostWorking, [...running].filter(({ group }) => group === 'work').length)
          await new Promise((resolve) => setImmediate(resolve))
          running.delete(spec)
          return { spec, outcome: outcomeOf(spec), seconds: 1, why: '' }
        },
        close: async () => void (seen.closed += 1),
      }
    }
    const onResult = (result: Result) => seen.results.push(result)
    await runSpecs({ specs: all, atOnce: 2, start, onResult, interrupted: interrupted.signal })
    return seen
  }
  const working = Array.from({ length: 9 }, (_, at) => ({ suite: 's', name: `works ${at}`, group: 'work' }))
  const waiting = Array.from({ length: 4 }, (_, at) => ({ suite: 's', name: `a Chaos Runaway ${at}`, group: 'wait' }))

  test('run each spec once, two that work at a time and one that waits', async () => {
    const seen = await ran([...waiting, ...working], () => 'passed')
    expect(seen.results.map(({ spec }) => spec.name).toSorted()).toEqual(
      [...waiting, ...working].map(({ name }) => name).toSorted(),
    )
    expect(seen).toMatchObject({ started: 3, closed: 3, most: 3, mostWorking: 2 })
  })

  test('never run two specs at a time that listen at the same port', async () => {
    const chaos = working.slice(0, 3).map((spec) => ({ ...spec, group: 'Chaos' }))
    const seen = await ran(chaos, () => 'passed')
    expect(seen).toMatchObject({ most: 1, closed: seen.started })
    expect(seen.results).toHaveLength(3)
  })

  test('are replaced after a failure, and all end', async () => {
    const seen = await ran(working.slice(0, 3), ({ name }) => (name === 'works 0' ? 'failed' : 'passed'))
    expect(seen.results).toHaveLength(3)
    expect(seen.closed).toBe(seen.started)
  })

  test('end when the run is interrupted, and nothing more begins', async () => {
    const interrupted = new AbortController()
    const seen = await ran(
      working,
      () => {
        interrupted.abort()
        return 'failed'
      },
      interrupted,
    )
    expect(seen.results).toEqual([])
    expect(seen.closed).toBe(seen.started)
  })
})
