import { describe, expect, it } from 'vitest'
import { blockedBy, type GoldenMark, goldenSizes, hasGoldenCases, readGolden } from '../../test/golden-cases.ts'
import { covers, marksFor, type OfferingId, parseMark } from './mark.ts'

const d4: OfferingId = {
  instanceType: 'Standard_D4s_v5',
  family: 'standardDSv5Family',
  vCpus: 4,
  zone: 'westus2-1',
  capacityType: 'spot',
}
const zones = ['0', 'westus2-1', 'westus2-2']
const blocks = (scope: Parameters<typeof marksFor>[1], attempted: OfferingId, offering: OfferingId) =>
  [...marksFor(attempted, scope, { untilMs: 1, reason: 'test', zones }).values()].some((mark) => covers(mark, offering))

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
    expect(blocks('zoneOfCapacityType', d4, { ...d4, instanceType: 'Standard_D8s_v5', vCpus: 8 })).toBe(true)
    expect(blocks('zoneOfCapacityType', d4, { ...d4, instanceType: 'Standard_D2s_v5', vCpus: 2 })).toBe(false)
  })

  it('covers only its own size when the family is not known', () => {
    const unknown = { ...d4, family: '' }
    expect(blocks('zoneOfCapacityType', unknown, { ...unknown, instanceType: 'Standard_X8', vCpus: 8 })).toBe(false)
    expect(blocks('zoneOfCapacityType', unknown, unknown)).toBe(true)
  })

  it('has a key that a ConfigMap takes', () => {
    for (const scope of ['allSpot', 'allZonesOfCapacityType', 'zoneAllCapacityTypes'] as const)
      for (const key of marksFor(d4, scope, { untilMs: 1, reason: 'test', zones }).keys())
        expect(key).toMatch(/^[-._a-zA-Z0-9]+$/)
  })

  it('is read back, and a damaged one is none', () => {
    for (const mark of marksFor(d4, 'zoneOfCapacityType', { untilMs: 1, reason: 'test', zones }).values())
      expect(parseMark(JSON.stringify(mark))).toEqual(mark)
    for (const damaged of ['', 'null', '{}', '[1]', '{"untilMs":1}']) expect(parseMark(damaged)).toBeUndefined()
  })
})

describe.skipIf(!hasGoldenCases)('marks of the reference', () => {
  interface CacheCase {
    readonly name: string
    readonly marks: readonly GoldenMark[]
    readonly expected: { readonly unavailable: readonly string[] }
  }

  it('block the same offerings', () => {
    const { cases, probes, skusFile } = readGolden('vectors/unavailable-cache.json') as {
      readonly cases: readonly CacheCase[]
      readonly probes: Readonly<Record<'instanceTypes' | 'zones' | 'capacityTypes', readonly string[]>>
      readonly skusFile: string
    }
    const region = skusFile.replace(/^skus\/|\.json$/g, '')
    const sizes = goldenSizes(skusFile, region)
    for (const { name, marks, expected } of cases) {
      const isBlocked = blockedBy(marks, sizes)
      const unavailable: string[] = []
      for (const instanceType of probes.instanceTypes) {
        const size = sizes.find((candidate) => candidate.name === instanceType)
        for (const zone of probes.zones) {
          for (const capacityType of probes.capacityTypes) {
            const offering = { instanceType, zone, capacityType, family: size?.family ?? '', vCpus: size?.vCpus ?? 0 }
            if (isBlocked(offering)) unavailable.push(`${instanceType}|${zone}|${capacityType}`)
          }
        }
      }
      expect({ name, unavailable: unavailable.sort() }).toEqual({ name, unavailable: [...expected.unavailable].sort() })
    }
  })
})
