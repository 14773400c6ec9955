import { describe, expect, it } from 'vitest'
import type { RequirementSpec } from '../objects.ts'
import { unclaimable, unclaimableText } from './claim-requirements.ts'
import { labels } from './labels.ts'
import { requirements } from './requirements.ts'

const many = (count: number, prefix = 'example.com/k'): RequirementSpec[] =>
  Array.from({ length: count }, (_, at) => ({ key: `${prefix}${at}`, operator: 'Exists' }))

describe('requirements that a NodeClaim can have', () => {
  it.each<[string, RequirementSpec[]]>([
    ['none', []],
    ['zones', [{ key: labels.zone, operator: 'In', values: ['westus2-1'] }]],
    ['a bound of 0', [{ key: labels.windowsBuild, operator: 'Lte', values: ['0'] }]],
    ['a hostname, which no claim is written with', [{ key: labels.hostname, operator: 'In', values: ['not a label'] }]],
    ['a capacity reservation', [{ key: labels.reservationId, operator: 'In', values: ['r-1'] }]],
    ['98 keys beside types and capacity types', many(98)],
  ])('%s', (_, entries) => {
    expect(unclaimable(requirements(entries))).toBeUndefined()
  })
})

describe('requirements that no NodeClaim can have', () => {
  it.each<[string, RequirementSpec[], RegExp]>([
    [
      'a key of AKS',
      [{ key: 'agentpool', operator: 'NotIn', values: ['x'] }],
      /^requirement agentpool NotIn \[x\]: label "agentpool" is restricted: AKS alone sets it.*another label$/,
    ],
    [
      'a well-known key that the CRD does not list',
      [{ key: 'karpenter.azure.com/sku-hyperv-generation', operator: 'In', values: ['2'] }],
      /label domain "karpenter\.azure\.com" is restricted/,
    ],
    ['no number', [{ key: labels.windowsBuild, operator: 'Lt', values: ['0'] }], /<=-1: no label value is below 0/],
    ['a line break', [{ key: 'a', operator: 'In', values: ['x\nKUBELET_FLAGS=-v'] }], /"x\\nKUBELET_FLAGS=-v" is no/],
    ['an excluded value', [{ key: 'a', operator: 'NotIn', values: ['x y'] }], /"x y" is no label value/],
    ['a key that is none', [{ key: 'a b', operator: 'Exists' }], /the key is no label key/],
    ['99 keys beside types and capacity types', many(99), /^101 requirements, and a NodeClaim holds at most 100/],
    [
      'two bounds for each of 50 keys',
      many(50).flatMap(({ key }): RequirementSpec[] => [
        { key, operator: 'Gt', values: ['1'] },
        { key, operator: 'Lt', values: ['9'] },
      ]),
      /^102 requirements/,
    ],
    [
      'a list that etcd does not take',
      [{ key: 'a', operator: 'NotIn', values: Array.from({ length: 30_000 }, (_, at) => `${'v'.repeat(20)}${at}`) }],
      /^requirements of \d+ bytes, and a NodeClaim holds at most 700000/,
    ],
  ])('%s', (_, entries, why) => {
    const found = unclaimable(requirements(entries))
    expect(found && unclaimableText(found)).toMatch(why)
  })

  it('keep the message short', () => {
    const values = Array.from({ length: 1000 }, (_, at) => `v${at}`)
    const found = unclaimable(requirements([{ key: 'agentpool', operator: 'In', values }]))
    expect(found && unclaimableText(found).length).toBeLessThan(400)
  })
})
