import type { FastifyInstance } from 'fastify'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError, resourceNotFound } from '../server/arm-error.ts'
import { type ArmRequest, pathOf } from '../server/arm-request.ts'
import type { SimulatorConfig } from '../server/config.ts'
import type { MachineBody } from '../virtual-machines/machine.ts'

const path = '/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Compute/diskEncryptionSets/:name'

/** Disk encryption sets that the settings name, to be read only. */
export function registerDiskEncryptionSets(app: FastifyInstance, { config }: ArmDeps): void {
  app.get(path, (request: ArmRequest) => {
    const asked = pathOf(request).toLowerCase()
    const { name = '', group = '' } = request.params
    const id = config.diskEncryptionSets?.find((known) => known.toLowerCase() === asked)
    if (id === undefined) throw resourceNotFound('Microsoft.Compute/diskEncryptionSets', name, group)
    return {
      id,
      name,
      type: 'Microsoft.Compute/diskEncryptionSets',
      location: config.location,
      properties: { provisioningState: 'Succeeded', encryptionType: 'EncryptionAtRestWithCustomerKey' },
    }
  })
}

/** Errors: the set of a VM's OS disk is not one of those that the settings name, if they name any. */
export function checkDiskEncryptionSet(body: MachineBody, { diskEncryptionSets }: SimulatorConfig): void {
  const id = body.properties.storageProfile?.osDisk?.managedDisk?.diskEncryptionSet?.id
  if (id === undefined || diskEncryptionSets === undefined) return
  if (diskEncryptionSets.some((known) => known.toLowerCase() === id.toLowerCase())) return
  throw new ArmError(404, 'NotFound', `The disk encryption set ${id} was not found.`)
}
