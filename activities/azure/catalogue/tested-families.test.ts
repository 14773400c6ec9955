import { expect, it } from 'vitest'
import { goldenSizes } from '../../../test/vectors/golden-cases.ts'
import { isTestedFamily, testedFamilyName } from './instance-types.ts'

it.each([
  ['standardDSv5Family', 'dsv5', true],
  ['StandardDadsv7Family', 'dadsv7', true],
  ['Standard NCASv3_T4 Family', 'ncasv3_t4', true],
  ['standard NDAMSv4_A100Family', 'ndamsv4_a100', true],
  ['standardDXv99Family', 'dxv99', false],
  ['', '', true],
])('family %j is %j in the list: %s', (family, name, isTested) => {
  expect(testedFamilyName(family)).toBe(name)
  expect(isTestedFamily(family)).toBe(isTested)
})

it('the sizes of the regions of the tables are of tested families', () => {
  const untested = ['eastus', 'southcentralus', 'westcentralus'].flatMap((region) =>
    goldenSizes(region).filter(({ family }) => !isTestedFamily(family)),
  )
  expect(untested.map(({ name }) => name)).toEqual([])
})
