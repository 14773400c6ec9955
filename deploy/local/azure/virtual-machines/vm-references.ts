import type { VmSize } from '../catalogue/sku-catalogue.ts'
import { checkDiskEncryptionSet } from '../disks/disk-encryption-sets.ts'
import type { Address } from '../network/addresses.ts'
import { reservedError } from '../parts.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError } from '../server/arm-error.ts'
import { sameLocation } from '../server/arm-request.ts'
import { type MachineBody, type NetworkInterfaceConfiguration, nicConfigurations } from './machine.ts'
import { checkTags } from './vm-tags.ts'

/** Errors: what every PUT of a VM must say and this one does not. */
export function checkBody(body: Partial<MachineBody> | undefined): void {
  if (body?.location === undefined)
    throw new ArmError(400, 'LocationRequired', 'The definition of a VM needs the property location.')
  if (typeof body.properties?.hardwareProfile?.vmSize !== 'string')
    throw new ArmError(400, 'InvalidParameter', 'Required parameter vmSize is missing (null).')
  checkTags(body.tags)
}

/** What a new VM refers to must be there: region, size, image, subnet, backend pools; and its disk's name must be free. */
export function checkReferences(body: MachineBody, deps: ArmDeps): VmSize {
  const { config, machines, catalogue, images } = deps
  const { hardwareProfile, storageProfile } = body.properties
  if (!sameLocation(body.location, config.location)) {
    throw new ArmError(
      400,
      'LocationNotAvailableForResourceType',
      `Location '${body.location}' is not available for resource type 'Microsoft.Compute/virtualMachines'. Available: '${config.location}'.`,
    )
  }
  const size = catalogue.size(hardwareProfile.vmSize)
  if (size === undefined)
    throw new ArmError(400, 'InvalidParameter', `The value ${hardwareProfile.vmSize} of parameter vmSize is invalid.`)
  const image = storageProfile?.imageReference?.communityGalleryImageId ?? storageProfile?.imageReference?.id
  if (image !== undefined && images.find(image) === undefined)
    throw new ArmError(
      404,
      'GalleryImageNotFound',
      `The gallery image ${image} is not available in ${config.location}.`,
    )
  checkDiskEncryptionSet(body, config)
  checkEphemeralDisk(body, size)
  checkNics(body, deps)
  const dataDisks = storageProfile?.dataDisks?.length ?? 0
  if (dataDisks > size.maxDataDisks)
    throw new ArmError(
      409,
      'OperationNotAllowed',
      `The maximum number of data disks allowed to be attached to a VM of this size is ${size.maxDataDisks}.`,
    )
  const disk = storageProfile?.osDisk?.name?.toLowerCase()
  if (disk !== undefined && machines.parts('disks').get(disk) !== undefined) {
    throw new ArmError(
      409,
      'ConflictingUserInput',
      `Disk ${disk} exists already in resource group ${config.nodeResourceGroup}; only createOption Attach can use it.`,
    )
  }
  return size
}

/** What Trusted Launch keeps of a VM beside an OS disk on the host. */
const guestStateGib = 1
/** What an OS disk has without a size of its own: that of the images of AKS. */
const imageGib = 30

/** Errors: an OS disk on the host that the size has no room for. Azure's words are published, its status is not. */
function checkEphemeralDisk({ properties }: MachineBody, { name, localDisks }: VmSize): void {
  const { diffDiskSettings, diskSizeGB = imageGib } = properties.storageProfile?.osDisk ?? {}
  if (diffDiskSettings === undefined) return
  const placement = diffDiskSettings.placement ?? localDisks.keys().next().value ?? 'CacheDisk'
  const isTrusted = properties.securityProfile?.securityType === 'TrustedLaunch'
  const room = Math.max(0, Math.floor(localDisks.get(placement) ?? 0) - (isTrusted ? guestStateGib : 0))
  if (diskSizeGB > room)
    throw new ArmError(
      409,
      'NotSupported',
      `OS disk of Ephemeral VM with size greater than ${room} GB is not allowed for VM size ${name} when the DiffDiskPlacement is ${placement}. Please refer to https://aka.ms/Ephemeral for more details.`,
    )
}

/** What NICs refer to must be there. Errors: 400. */
export function checkNicReferences(
  nics: readonly NetworkInterfaceConfiguration[],
  { resources, network }: ArmDeps,
): void {
  const known = network.referable
  const references = nics.flatMap(({ properties }) => [
    properties?.networkSecurityGroup,
    ...(properties?.ipConfigurations ?? []).flatMap(({ properties: ip }) => ip?.loadBalancerBackendAddressPools ?? []),
  ])
  const subnets = nics.flatMap(({ properties }) =>
    (properties?.ipConfigurations ?? []).map(({ properties: ip }) => ip?.subnet),
  )
  const missing =
    references.find((reference) => reference !== undefined && !known.has(reference.id.toLowerCase())) ??
    subnets.find((subnet) => subnet !== undefined && network.setup.subnet(subnet.id) === undefined)
  if (missing !== undefined) {
    throw new ArmError(
      400,
      'InvalidResourceReference',
      `Resource ${missing.id} referenced by resource ${resources.id('Microsoft.Network', 'networkInterfaces', nics[0]?.name ?? '')} was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.`,
    )
  }
}

/** Errors: also a NIC of the name that Azure keeps for another VM. */
function checkNics(body: MachineBody, deps: ArmDeps): void {
  const nics = nicConfigurations({ body })
  checkNicReferences(nics, deps)
  for (const { name } of nics) {
    const part = deps.machines.parts('networkInterfaces').get(name)
    if (part?.kind === 'leftover' && (part.leftover.reserved?.untilMs ?? 0) > Date.now())
      throw reservedError(part.leftover)
  }
}

/** Addresses for all IP configurations of a new VM, secondary ones included. Errors: 400 SubnetIsFull. */
export function freeAddresses(body: MachineBody, { machines, network }: ArmDeps): readonly Address[] {
  const bySubnet = Map.groupBy(ipConfigurations(body), ({ properties }) => properties?.subnet?.id.toLowerCase() ?? '')
  const free = new Map(
    [...bySubnet].map(([id, configurations]) => {
      const subnet = network.setup.subnet(id)
      const found = subnet === undefined ? [] : machines.addresses.free(subnet, configurations.length)
      return [id, found.values()] as const
    }),
  )
  return ipConfigurations(body).flatMap(({ properties }) => {
    const address = free.get(properties?.subnet?.id.toLowerCase() ?? '')?.next().value
    return address === undefined ? [] : [address]
  })
}

function ipConfigurations(body: MachineBody) {
  return nicConfigurations({ body }).flatMap(({ properties }) => properties?.ipConfigurations ?? [])
}
