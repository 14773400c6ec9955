import { describe, expect, it } from 'vitest'
import { offeringOf } from './failed-machine.ts'

const machine = (change: object = {}) => ({
  id: 'id',
  name: 'a',
  zones: ['1'],
  properties: { hardware: { vmSize: 'Standard_D2_v2' } },
  ...change,
})

describe('the offering that a machine was made of', () => {
  it.each([
    [['1'], 'eastus', 'eastus-1'],
    [['2'], 'westus2', 'westus2-2'],
    [['3'], 'centralus', 'centralus-3'],
    [[], 'westus2', '0'],
    [undefined, 'centralus', '0'],
  ])('of the zones %j in %s is in zone %s', (zones, location, zone) => {
    expect(offeringOf(machine({ zones }), { location })).toMatchObject({ zone, typeName: 'Standard_D2_v2' })
  })

  it.each([
    ['in two zones', ['1', '2'], 'eastus', 'stands in one zone'],
    ['in a zone of no region', ['2'], '', 'is one of a region'],
  ])('is not that of one %s', (_what, zones, location, said) => {
    expect(() => offeringOf(machine({ zones }), { location })).toThrow(said)
  })

  it.each([
    ['Spot', 'spot'],
    ['Regular', 'on-demand'],
    [null, 'on-demand'],
    [undefined, 'on-demand'],
  ])('with the priority %s is %s', (priority, capacityType) => {
    expect(offeringOf(machine({ properties: { priority } }), { location: 'eastus' })).toMatchObject({ capacityType })
  })
})
