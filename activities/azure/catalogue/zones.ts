/** The zone label of a VM that is placed in the region, in no zone (reference/azure-provider.md 2.3). */
export const regionalZone = '0'

/** Returns the zone label of an availability zone: `westus2-1`. */
export function zoneLabel(region: string, zone: string): string {
  return `${region.toLowerCase()}-${zone}`
}

/** Returns the zone label of a resource, from ARM's fields. Errors: a resource in several zones, or in a zone of no region. */
export function zoneLabelOf(resource: { readonly location: string; readonly zones?: readonly string[] }): string {
  const { location, zones = [] } = resource
  const [zone] = zones
  if (zone === undefined) return regionalZone
  if (zones.length > 1)
    throw new Error(`zones "${zones.join(', ')}": a VM stands in one zone; delete it and let it be made again`)
  if (location === '') throw new Error(`location "": zone ${zone} is one of a region; read the resource from ARM again`)
  return zoneLabel(location, zone)
}

/** Returns `zones` of a resource for a zone label: its last character, since Azure numbers zones with one digit. None for a regional one. */
export function armZones(label: string): readonly string[] {
  return label === regionalZone ? [] : [label.slice(-1)]
}

/** Returns whether a zone label names a zone: the value of `karpenter.azure.com/placement-scope`. */
export function placementScope(label: string): 'zonal' | 'regional' {
  return label === regionalZone ? 'regional' : 'zonal'
}
