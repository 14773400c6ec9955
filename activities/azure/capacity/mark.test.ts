import { describe, expect, it } from 'vitest'
import {
  asGoldenMarks,
  blockedBy,
  type GoldenMark,
  goldenMark,
  goldenSizes,
} from '../../../test/vectors/golden-cases.ts'
import { goldenSuite } from '../../../test/vectors/golden-suite.ts'
import { isBlocked } from './blocking-mark.ts'
import {
  blockAlike,
  liveMarks,
  type Marks,
  marksFor,
  noMarks,
  type OfferingId,
  offeringMarks,
  withMarks,
} from './mark.ts'
import { formatMarks, parseMarks, withinBytes } from './mark-format.ts'

const d4: OfferingId = {
  instanceType: 'Standard_D4s_v5',
  family: 'standardDSv5Family',
  vCpus: 4,
  zone: 'westus2-1',
  capacityType: 'spot',
}
const d8 = { ...d4, instanceType: 'Standard_D8s_v5', vCpus: 8 }
const d2 = { ...d4, instanceType: 'Standard_D2s_v5', vCpus: 2 }
const zones = ['0', 'westus2-1', 'westus2-2']
const reported = (untilMs: number) => ({ untilMs, reason: 'test' })
const marked = (...calls: readonly (readonly [OfferingId, number])[]): Marks =>
  calls.reduce<Marks>(
    (marks, [offering, untilMs]) => withMarks(marks, offeringMarks(offering, reported(untilMs)), 0).marks,
    noMarks,
  )
const blocks = (scope: Parameters<typeof marksFor>[1], attempted: OfferingId, offering: OfferingId) =>
  isBlocked(withMarks(noMarks, marksFor(attempted, scope, { ...reported(10), zones }), 0).marks, offering, { nowMs: 0 })

describe('a mark', () => {
  it.each([
    ['zoneOfCapacityType', {}, true],
    ['zoneOfCapacityType', { capacityType: 'on-demand' }, false],
    ['zoneOfCapacityType', { zone: 'westus2-2' }, false],
    ['zoneAllCapacityTypes', { capacityType: 'on-demand' }, true],
    ['placementOfCapacityType', { zone: 'westus2-2' }, true],
    ['placementOfCapacityType', { zone: '0' }, false],
    ['placementAllCapacityTypes', { zone: 'westus2-2', capacityType: 'on-demand' }, true],
    ['allZonesOfCapacityType', { zone: '0' }, true],
    ['allSpot', { instanceType: 'Standard_F8', family: 'other', zone: '0' }, true],
    ['allSpot', { capacityType: 'on-demand' }, false],
    ['nothing', {}, false],
  ] as const)('of scope %s over %o: %s', (scope, change, expected) => {
    expect(blocks(scope, d4, { ...d4, ...change })).toBe(expected)
  })

  it('covers larger sizes of the family, not smaller ones', () => {
    expect(isBlocked(marked([d4, 10]), d8, { nowMs: 0 })).toBe(true)
    expect(isBlocked(marked([d4, 10]), d2, { nowMs: 0 })).toBe(false)
  })

  it('covers only its own size when the family is not known', () => {
    const unknown = { ...d4, family: '' }
    expect(isBlocked(marked([unknown, 10]), { ...unknown, instanceType: 'Standard_X8', vCpus: 8 }, { nowMs: 0 })).toBe(
      false,
    )
    expect(isBlocked(marked([unknown, 10]), unknown, { nowMs: 0 })).toBe(true)
  })

  it('runs out for the size and for its family on their own', () => {
    const marks = marked([d4, 100], [d8, 10])
    expect([d4, d8, d2].map((offering) => isBlocked(marks, offering, { nowMs: 9 }))).toEqual([true, true, false])
    // The family's mark was set again by the larger size, and shortened.
    expect([d4, d8].map((offering) => isBlocked(marks, offering, { nowMs: 10 }))).toEqual([true, false])
    expect(isBlocked(marks, d4, { nowMs: 100 })).toBe(false)
    expect(liveMarks(marks, 10).size).toBe(1)
  })

  it('of a family that ran out leaves no threshold behind', () => {
    const { marks, news } = withMarks(marked([d2, 10]), offeringMarks(d8, reported(100)), 20)
    expect(news).toBe(1)
    expect([d4, d8].map((offering) => isBlocked(marks, offering, { nowMs: 20 }))).toEqual([false, true])
  })

  it('counts as news when it blocks more', () => {
    const again = (offering: OfferingId) => withMarks(marked([d4, 10]), offeringMarks(offering, reported(20)), 0).news
    expect([again(d4), again(d8), again(d2), again({ ...d4, zone: '0' })]).toEqual([0, 0, 1, 1])
  })

  it('has a key that a ConfigMap accepts, also where a family has a space in its name', () => {
    const spaced = { ...d4, family: 'Standard NCASv3_T4 Family' }
    for (const scope of ['allSpot', 'allZonesOfCapacityType', 'zoneAllCapacityTypes'] as const)
      for (const key of withMarks(noMarks, marksFor(spaced, scope, { ...reported(1), zones }), 0).marks.keys())
        expect(key).toMatch(/^[-._a-zA-Z0-9]+$/)
    expect(isBlocked(marked([spaced, 10]), { ...d8, family: 'standard ncasv3_t4 family' }, { nowMs: 0 })).toBe(true)
  })

  it('is read back, and a damaged one is none', () => {
    const marks = withMarks(marked([d4, 1000], [d8, 2000]), [{ kind: 'allSpot', ...reported(3000) }], 0).marks
    expect(parseMarks(formatMarks(marks))).toEqual({ marks, faults: [] })
    expect(blockAlike(parseMarks(formatMarks(marks)).marks, marks)).toBe(true)
    for (const damaged of [
      '',
      'null',
      '{}',
      '[1]',
      '7',
      '{"until":1}',
      '{"kind":"family","until":"2026-01-01T00:00:00Z"}',
    ])
      expect(parseMarks({ spot: damaged })).toMatchObject({ marks: new Map(), faults: [{ key: 'spot' }] })
    const [[, text] = []] = Object.entries(formatMarks(marks))
    expect(parseMarks({ 'another.key': text ?? '' }).marks.size).toBe(0)
  })

  it('gives way when there are too many: first what its family says as well, then what runs out soonest', () => {
    const alone = { ...d4, family: '', zone: '0' }
    const marks = marked([d4, 5000], [alone, 1000], [{ ...alone, zone: 'westus2-2' }, 9000])
    const sizeOf = (kept: Marks) =>
      Object.entries(formatMarks(kept)).reduce((sum, [key, text]) => sum + key.length + text.length, 0)
    expect(withinBytes(marks, sizeOf(marks))).toBe(marks)
    const fewer = withinBytes(marks, sizeOf(marks) - 1)
    expect(fewer.size).toBe(marks.size - 1)
    expect([d4, alone].map((offering) => isBlocked(fewer, offering, { nowMs: 0 }))).toEqual([true, true])
    const fewest = withinBytes(marks, sizeOf(fewer) - 1)
    expect(isBlocked(fewest, alone, { nowMs: 0 })).toBe(false)
    expect(sizeOf(fewest)).toBeLessThan(sizeOf(fewer))
  })
})

interface CacheCase {
  readonly name: string
  readonly marks: readonly GoldenMark[]
  readonly expected: {
    readonly unavailable: readonly string[]
    readonly seqNumAfterEach: readonly number[]
    readonly cache: readonly GoldenMark[]
  }
}

interface CacheCases {
  readonly cases: readonly CacheCase[]
  readonly probes: Readonly<Record<'instanceTypes' | 'zones' | 'capacityTypes', readonly string[]>>
  readonly skusFile: string
}

goldenSuite('azure/unavailable-cache', 13, ({ cases, probes, skusFile }: CacheCases) => {
  const sizes = goldenSizes(skusFile.replace(/^skus\/|\.json$/g, ''))

  it.for(cases)('$name', ({ marks, expected }) => {
    let after: Marks = noMarks
    let version = 0
    const versions = marks.map((mark) => {
      const reported = withMarks(after, goldenMark(mark, sizes), 0)
      after = reported.marks
      version += reported.news
      return version
    })
    expect(versions).toEqual(expected.seqNumAfterEach)
    expect(new Set(asGoldenMarks(after))).toEqual(new Set(expected.cache))
    const isMarked = blockedBy(marks, sizes)
    const unavailable = probes.instanceTypes.flatMap((instanceType) => {
      const { family = '', vCpus = 0 } = sizes.find(({ name }) => name === instanceType) ?? {}
      return probes.zones.flatMap((zone) =>
        probes.capacityTypes
          .filter((capacityType) => isMarked({ instanceType, family, vCpus, zone, capacityType }))
          .map((capacityType) => `${instanceType}|${zone}|${capacityType}`),
      )
    })
    expect(unavailable.sort()).toEqual([...expected.unavailable].sort())
  })
})
