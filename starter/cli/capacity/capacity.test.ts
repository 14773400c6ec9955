import { describe, expect, it } from 'vitest'
import { type Mark, noMarks, offeringMarks, withMarks } from '../../../activities/azure/capacity/mark.ts'
import { plainText } from '../../document/text.ts'
import { chosenMarks, type MarkFilter, marksTable } from './command.ts'

const d4 = {
  instanceType: 'Standard_D4s_v5',
  family: 'standardDSv5Family',
  vCpus: 4,
  zone: 'westus2-1',
  capacityType: 'spot',
}
const e8 = { ...d4, instanceType: 'Standard_E8s_v5', family: 'standardESv5Family', vCpus: 8, capacityType: 'on-demand' }
const reported = { untilMs: 3_600_000, reason: 'AllocationFailure' }
const { marks } = withMarks(
  noMarks,
  [
    ...offeringMarks(d4, reported),
    ...offeringMarks({ ...d4, zone: '0' }, reported),
    ...offeringMarks({ ...d4, instanceType: 'Standard_D8s_v5', vCpus: 8 }, reported),
    ...offeringMarks(e8, reported),
    { kind: 'allSpot', ...reported },
  ],
  0,
)
const name = (mark: Mark) => {
  if (mark.kind === 'allSpot') return 'spot'
  if (mark.kind === 'size') return `${mark.instanceType} everywhere`
  if (mark.kind === 'image') return mark.image
  if (mark.kind === 'class') return mark.nodeClass
  return `${mark.kind === 'offering' ? mark.instanceType : mark.family} ${mark.zone}`
}

describe('the marks that are meant', () => {
  it.each<[string, MarkFilter, readonly string[]]>([
    ['all', {}, [...marks.values()].map(name)],
    [
      'of a size, with the family that blocks it',
      { instanceType: 'standard_d4s_v5', zone: '0' },
      ['Standard_D4s_v5 0', 'standardDSv5Family 0'],
    ],
    ['of a family', { family: 'STANDARDESV5FAMILY' }, ['Standard_E8s_v5 westus2-1', 'standardESv5Family westus2-1']],
    [
      'of a capacity type',
      { capacityType: 'on-demand' },
      ['Standard_E8s_v5 westus2-1', 'standardESv5Family westus2-1'],
    ],
    ['of spot in one zone', { capacityType: 'spot', zone: '0' }, ['Standard_D4s_v5 0', 'standardDSv5Family 0']],
    ['of a size that has none', { instanceType: 'Standard_D2s_v5' }, []],
  ])('%s', (_what, filter, expected) => {
    expect(chosenMarks(marks, filter).map(name).sort()).toEqual([...expected].sort())
  })

  it('of spot hold the one on all spot', () => {
    expect(chosenMarks(marks, { capacityType: 'spot' }).map(name)).toContain('spot')
  })
})

it('the table says what, where, why and for how long', () => {
  expect(plainText([[marksTable(chosenMarks(marks, { instanceType: 'Standard_D4s_v5' }), 0)]]).split('\n')).toEqual([
    'UNAVAILABLE                           CAPACITY  ZONES         REASON             UNTIL                 LEFT',
    'Standard_D4s_v5                       spot      0, westus2-1  AllocationFailure  1970-01-01T01:00:00Z  1h',
    'standardDSv5Family, 4 vCPUs and more  spot      0, westus2-1  AllocationFailure  1970-01-01T01:00:00Z  1h',
  ])
})

it('the table says what Azure said of a size that works nowhere, and for which image or class', () => {
  const size = { kind: 'size', lastsMs: 3_600_000, untilMs: 3_600_000, cause: 'InvalidParameter: cannot boot' } as const
  const shown = plainText([
    [
      marksTable(
        [
          {
            ...size,
            instanceType: 'Standard_D2als_v6',
            reason: 'SizeCannotBootImage',
            image: '/g/images/2404/versions/1',
          },
          { ...size, instanceType: 'Standard_D2s_v5', reason: 'SizeLacksFeature', nodeClass: 'default' },
        ],
        0,
      ),
    ],
  ])
  expect(
    shown
      .split('\n')
      .slice(1)
      .map((line) => line.replaceAll(/ {2,}/g, ' | ')),
  ).toEqual([
    'Standard_D2als_v6, image 2404/versions/1 | all | all | SizeCannotBootImage | 1970-01-01T01:00:00Z | 1h | InvalidParameter: cannot boot',
    'Standard_D2s_v5, AKSNodeClass default | all | all | SizeLacksFeature | 1970-01-01T01:00:00Z | 1h | InvalidParameter: cannot boot',
  ])
})

it('a filter by size or by zone names a size that works nowhere; by family it does not', () => {
  const mark = { kind: 'size', lastsMs: 1, untilMs: 1, instanceType: 'Standard_D2s_v5', reason: 'SizeRefused' } as const
  const known = new Map([['size', mark]])
  const filters: readonly MarkFilter[] = [{ instanceType: 'standard_d2s_v5' }, { zone: '0' }, { capacityType: 'spot' }]
  for (const filter of filters) expect(chosenMarks(known, filter)).toEqual([mark])
  expect(chosenMarks(known, { family: 'standardDSv5Family' })).toEqual([])
  expect(chosenMarks(known, { instanceType: 'Standard_D4s_v5' })).toEqual([])
})

describe('an AKSNodeClass that is marked', () => {
  const marked: Mark = {
    kind: 'class',
    nodeClass: 'default',
    reason: 'CommonLaunchFailure',
    cause: 'InvalidParameter, target a.b: the value is invalid',
    untilMs: 3_600_000,
    code: 'InvalidParameter',
    refusal: 'x',
    sizes: ['Standard_D2s_v5'],
    families: [],
    capacityTypes: [],
    states: [],
    waitMs: 30_000,
    nextAtMs: 0,
    turn: '',
  }
  const size = { kind: 'size', lastsMs: 1, untilMs: 1, instanceType: 'Standard_D2s_v5', reason: 'SizeRefused' } as const
  const known = new Map<string, Mark>([
    ['class', marked],
    ['own', { ...size, nodeClass: 'default' }],
    ['any', size],
  ])

  it('is shown with its cause and end', () => {
    const [, row] = plainText([[marksTable([marked], 0)]]).split('\n')
    expect(row?.replaceAll(/ {2,}/g, ' | ')).toBe(
      'AKSNodeClass default | all | all | CommonLaunchFailure | 1970-01-01T01:00:00Z | 1h | InvalidParameter, target a.b: the value is invalid',
    )
  })

  it.each<[MarkFilter, readonly string[]]>([
    [{ nodeClass: 'default' }, ['class', 'own']],
    [{ nodeClass: 'other' }, []],
    [{ instanceType: 'Standard_D2s_v5' }, ['own', 'any']],
    [{ zone: '1' }, ['own', 'any']],
    [{}, ['class', 'own', 'any']],
  ])('is meant by %j as it should', (filter, expected) => {
    expect(chosenMarks(known, filter)).toEqual(expected.map((key) => known.get(key)))
  })
})
