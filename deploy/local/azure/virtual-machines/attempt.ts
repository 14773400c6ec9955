import type { Attempt } from '../admin/faults.ts'
import type { MachineBody } from './machine.ts'

/** What a fault can be aimed at. */
export function attemptOf(body: MachineBody): Attempt {
  const { communityGalleryImageId, id } = body.properties.storageProfile?.imageReference ?? {}
  return {
    sku: body.properties.hardwareProfile.vmSize,
    zone: body.zones?.[0] ?? '0',
    capacityType: body.properties.priority === 'Spot' ? 'spot' : 'on-demand',
    image: /\/versions\/([^/]+)$/i.exec(communityGalleryImageId ?? id ?? '')?.[1] ?? '',
  }
}
