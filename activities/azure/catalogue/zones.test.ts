import { describe, expect, it } from 'vitest'
import { goldenFunctions } from '../../../test/vectors/golden-functions.ts'
import { armZones, placementScope, zoneLabel, zoneLabelOf } from './zones.ts'

goldenFunctions({
  zoneLabelFromZoneNumber: [6, ({ location, zone }: { location: string; zone: string }) => zoneLabel(location, zone)],
  zoneLabelFromArmZones: [3, (vm: { location: string; zones: readonly string[] }) => zoneLabelOf(vm)],
  armZonesFromZoneLabel: [3, ({ label }: { label: string }) => armZones(label)],
  placementScopeForZone: [2, ({ label }: { label: string }) => placementScope(label)],
})

describe('the zone label of a resource', () => {
  it('is 0 where it is in no zone', () => {
    expect(zoneLabelOf({ location: 'eastus' })).toBe('0')
    expect(zoneLabelOf({ location: 'eastus', zones: [] })).toBe('0')
  })

  it('is an error for one in several zones', () => {
    expect(() => zoneLabelOf({ location: 'eastus', zones: ['1', '2'] })).toThrow('zones "1, 2"')
  })
})
