import { describe, expect, it } from 'vitest'
import { samplePool } from '../../test/samples/sample-objects.ts'
import type { NodePool, RequirementSpec } from '../objects.ts'
import { coreWellKnownLabels, wellKnownLabels } from '../requirements/labels.ts'
import { maxFallbackPriceFactor } from './fallback-price.ts'
import { runtimeErrors, templateErrors } from './node-pool-validation.ts'

const { template: plain } = samplePool('p')

function errorsOf(
  labels: Record<string, string>,
  spec: Partial<NodePool['template']['spec']> = {},
  wellKnown = coreWellKnownLabels,
) {
  return templateErrors({ ...plain, labels, spec: { ...plain.spec, requirements: [], ...spec } }, wellKnown)
}

const required = (entry: Partial<RequirementSpec>, wellKnown = coreWellKnownLabels) =>
  errorsOf({}, { requirements: [{ key: 'example.com/a', operator: 'In', ...entry }] }, wellKnown)

describe('templateErrors', () => {
  it('takes well-known and custom labels', () => {
    expect(errorsOf({ 'karpenter.sh/capacity-type': 'spot', 'example.com/team': 'a' })).toEqual([])
  })

  it.each([
    ['karpenter.sh/nodepool', 'x', /restricted$/],
    ['x.karpenter.sh/y', 'x', /using label x.karpenter.sh\/y is not allowed/],
    ['kubernetes.io/hostname', 'x', /using label kubernetes.io\/hostname is not allowed/],
    ['a/b/c', 'x', /a qualified name must consist of/],
    ['/b', 'x', /prefix part must be non-empty/],
    ['A_B/c', 'x', /prefix part a lowercase RFC 1123 subdomain/],
    ['a'.repeat(64), 'x', /name part must be no more than 63 bytes/],
    ['a', '-', /invalid value: - for label\[a\], a valid label must be/],
    ['a', 'x'.repeat(64), /must be no more than 63 bytes/],
  ])('refuses the label %s=%s', (key, value, message) => {
    expect(errorsOf({ [key]: value })).toEqual([expect.stringMatching(message)])
  })

  it('refuses a pair of key and effect that stands in both lists of taints', () => {
    const taint = { key: 'a', effect: 'NoSchedule' } as const
    expect(errorsOf({}, { taints: [taint], startupTaints: [{ ...taint, value: 'b' }] })).toEqual([
      'duplicate taint Key/Effect pair a=NoSchedule',
    ])
    expect(errorsOf({}, { taints: [taint, { ...taint, effect: 'NoExecute' }] })).toEqual([])
  })

  it.each<[Partial<RequirementSpec>, RegExp]>([
    [{ values: [] }, /key example.com\/a with operator In must have a value defined/],
    [{ values: ['a'], minValues: 2 }, /must have at least minimum number of values/],
    [{ values: ['a b'] }, /invalid value a b for key example.com\/a/],
    [{ operator: 'Gt', values: ['1', '2'] }, /must have a single positive integer value/],
    [{ operator: 'Lte', values: ['-1'] }, /must have a single positive integer value/],
    [{ key: 'karpenter.sh/capacity-type', values: ['cheap'] }, /^invalid value: no valid values found in \[cheap\]/],
    [{ key: 'karpenter.sh/capacity-type', values: ['cheap', 'spot'], minValues: 2 }, /not enough valid values/],
    [{ key: 'karpenter.sh/nodepool', values: ['p'] }, /^invalid key: "karpenter.sh\/nodepool" in requirements/],
  ])('refuses the requirement %j', (entry, message) => {
    expect(required(entry)).toEqual([expect.stringMatching(message)])
  })

  // Upstream az runtime validation: the provider registers the values of its keys.
  it.each([
    [
      { key: 'karpenter.azure.com/placement-scope', values: ['rack', 'row'] },
      /^invalid value: no valid values found in \[rack row\] for karpenter.azure.com\/placement-scope, expected one of: map\[regional:\{\} zonal:\{\}\], got: \[rack row\] in requirements, restricted$/,
    ],
    [{ key: 'kubernetes.azure.com/os-sku', values: ['Windows2022'] }, /no valid values found in \[Windows2022\]/],
    [{ key: 'kubernetes.azure.com/mode', values: ['System'] }, /one of: map\[system:\{\} user:\{\}\]/],
    [{ key: 'karpenter.azure.com/sku-gpu-manufacturer', values: ['NVIDIA'] }, /map\[amd:\{\} nvidia:\{\}\]/],
    [{ key: 'karpenter.azure.com/sku-storage-premium-capable', values: ['yes'] }, /map\[false:\{\} true:\{\}\]/],
    [{ key: 'kubernetes.azure.com/fips_enabled', values: ['false'] }, /map\[true:\{\}\]/],
    [
      { key: 'kubernetes.azure.com/priority', values: ['spot', 'low'], minValues: 2 },
      /not enough valid values found in \[spot low\].*expected at least 2 .*got: 1/,
    ],
  ])('refuses the requirement %j, whose values are known', (entry, message) => {
    expect(required(entry, wellKnownLabels)).toEqual([expect.stringMatching(message)])
    expect(required({ ...entry, operator: 'NotIn', minValues: 0 }, wellKnownLabels)).toEqual([])
  })

  it('lets an unknown capacity type pass beside a known one', () => {
    expect(required({ key: 'karpenter.sh/capacity-type', values: ['cheap', 'spot'] })).toEqual([])
    expect(required({ operator: 'Gte', values: ['0'] })).toEqual([])
  })
})

describe('runtimeErrors', () => {
  it.each([
    [['windows'], 1],
    [['windows', 'linux'], 0],
    [['linux'], 0],
  ])('knows that nodes run Linux only: of %j it refuses %i', (values, refused) => {
    const requirements = [{ key: 'kubernetes.io/os', operator: 'In' as const, values }]
    const pool = { ...samplePool('p'), template: { ...plain, spec: { ...plain.spec, requirements } } }
    expect(runtimeErrors(pool, { staticCapacity: false })).toEqual(
      Array.from({ length: refused }, () => expect.stringContaining('kubernetes.io/os leaves out linux')),
    )
  })

  it('refuses static pools where their gate is off', () => {
    const fixed = samplePool('p', { isStatic: true, replicas: 3 })
    expect(runtimeErrors(samplePool('p'), { staticCapacity: false })).toEqual([])
    expect(runtimeErrors(fixed, { staticCapacity: false })).toEqual([
      expect.stringMatching(/^spec.replicas: the gate StaticCapacity is off/),
    ])
    expect(runtimeErrors(fixed, { staticCapacity: true })).toEqual([])
  })
})

describe('the annotation that bounds the price of fallbacks', () => {
  const key = 'joiner.sh/max-fallback-price-factor'
  const pool = (value?: string) => {
    const made = samplePool('p')
    return { ...made, metadata: { ...made.metadata, annotations: value === undefined ? {} : { [key]: value } } }
  }

  it.each([
    [undefined, undefined],
    ['1', 1],
    ['2.5', 2.5],
    ['40', 40],
  ])('is %s: %s', (value, factor) => {
    expect(maxFallbackPriceFactor(pool(value))).toBe(factor)
    expect(runtimeErrors(pool(value), { staticCapacity: false })).toEqual([])
  })

  it.each(['', '0', '0.5', '-2', '1e3', 'NaN', 'two', '2x', ' 2', '9999999', '\u0000'])('refuses %j', (value) => {
    expect(maxFallbackPriceFactor(pool(value))).toBeUndefined()
    expect(runtimeErrors(pool(value), { staticCapacity: false })).toEqual([
      expect.stringMatching(/max-fallback-price-factor\] .* is not a number from 1 on; write one such as "3"/),
    ])
  })
})
