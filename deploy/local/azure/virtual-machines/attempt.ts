import type { Attempt } from '../admin/faults.ts'
import type { MachineBody } from './machine.ts'

/** What a fault can be aimed at. */
export function attemptOf(body: MachineBody): Attempt {
  return {
    sku: body.properties.hardwareProfile.vmSize,
    zone: body.zones?.[0] ?? '0',
    capacityType: body.properties.priority === 'Spot' ? 'spot' : 'on-demand',
  }
}
