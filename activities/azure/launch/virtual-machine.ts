import type { OSDisk, VirtualMachine } from '@azure/arm-compute'
import { nodeNamePrefix } from '../../../core/node-claim/node-names.ts'
import { needsStandardSecurityType } from '../arm/api-versions.ts'
import type { AzureConfig } from '../azure-config.ts'
import { osDiskPlacement } from '../catalogue/os-disk.ts'
import type { VmSize } from '../catalogue/sku.ts'
import { armZones, regionalZone } from '../catalogue/zones.ts'
import type { NodeClassSettings } from '../node-class/node-class-settings.ts'
import type { NodeNetwork } from './network-facts.ts'
import { attemptInDiskName, osDiskName } from './os-disk-name.ts'
import { isAksManaged, parseSubnet } from './subnet.ts'
import { nodeTags, tagKeys, tagOf } from './tags.ts'

export { tagKeys }

export interface VirtualMachineInput {
  readonly config: AzureConfig
  readonly nodeClass: NodeClassSettings
  readonly network: NodeNetwork
  readonly claim: { readonly name: string; readonly uid: string; readonly nodePool?: string }
  readonly size: VmSize
  /** Zone label; `0` is regional. */
  readonly zone: string
  readonly capacityType: string
  readonly imageId: string
  readonly customData: string
  /** UID of the Secret of the bootstrap token in it. */
  readonly bootstrapTokenUid: string
  readonly attempt: number
  readonly ultraSsd: boolean
  /** The capacity reservation group whose reservation of this size and zone the VM uses. */
  readonly reservationGroupId?: string | undefined
}

/** Returns the name of a claim's VM and computer (reference/azure-provider.md 4.1). */
export function vmName(claimName: string): string {
  return `${nodeNamePrefix}${claimName}`
}

/** Returns the claim that a VM is named after. */
export function claimNameOf(vm: string): string {
  return vm.replace(/^aks-/, '')
}

/** Returns the attempt that made a VM, by the name of its disk; undefined for a VM that Joiner did not make. */
export function attemptOf(vm: VirtualMachine): number | undefined {
  return tagOf(vm.tags, tagKeys.claimUid) === undefined
    ? undefined
    : attemptInDiskName(vm.storageProfile?.osDisk?.name ?? '')
}

type ResourceScope = Pick<AzureConfig, 'subscriptionId' | 'nodeResourceGroup'>

/** Returns the ARM id of a claim's VM. */
export function vmId({ subscriptionId, nodeResourceGroup }: ResourceScope, claimName: string): string {
  return `/subscriptions/${subscriptionId}/resourceGroups/${nodeResourceGroup}/providers/Microsoft.Compute/virtualMachines/${vmName(claimName)}`
}

/** Returns the provider id of a claim's node. */
export function providerId(config: ResourceScope, claimName: string): string {
  return providerIdOf(vmId(config, claimName))
}

/** Returns a VM's id as the cloud provider writes it on Nodes: with the resource group in lower case. */
export function providerIdOf(vmId: string): string {
  return `azure://${vmId.replace(/(?<=\/resourceGroups\/)[^/]*/i, (group) => group.toLowerCase())}`
}

/**
 * Returns the body of the one PUT that makes a node: VM, NIC and OS disk together (reference/azure-provider.md 4.4; the NIC is inline by design).
 * NIC and disk carry the attempt's number, since Azure keeps a failed VM's NIC for a while.
 */
export function virtualMachine(input: VirtualMachineInput): VirtualMachine {
  const { config, nodeClass, claim, size, capacityType } = input
  const name = vmName(claim.name)
  return {
    location: config.location,
    tags: { ...vmTags(input), [tagKeys.bootstrapToken]: input.bootstrapTokenUid },
    ...(input.zone === regionalZone ? {} : { zones: [...armZones(input.zone)] }),
    ...(config.nodeIdentities.length === 0
      ? {}
      : {
          identity: {
            type: 'UserAssigned' as const,
            userAssignedIdentities: Object.fromEntries(config.nodeIdentities.map((id) => [id, {}])),
          },
        }),
    hardwareProfile: { vmSize: size.name },
    storageProfile: { osDisk: osDisk(input), imageReference: imageReference(input.imageId) },
    networkProfile: { networkApiVersion: '2022-11-01', networkInterfaceConfigurations: [networkInterface(input)] },
    osProfile: {
      adminUsername: config.adminUsername,
      computerName: name,
      customData: input.customData,
      linuxConfiguration: {
        disablePasswordAuthentication: true,
        ssh: {
          publicKeys: [{ keyData: config.sshPublicKey, path: `/home/${config.adminUsername}/.ssh/authorized_keys` }],
        },
      },
    },
    ...(capacityType === 'spot'
      ? { priority: 'Spot' as const, evictionPolicy: 'Delete' as const, billingProfile: { maxPrice: -1 } }
      : { priority: 'Regular' as const }),
    ...(input.reservationGroupId === undefined
      ? {}
      : { capacityReservation: { capacityReservationGroup: { id: input.reservationGroupId } } }),
    ...securityProfile(config, nodeClass),
    ...(config.bootDiagnostics === false ? {} : { diagnosticsProfile: { bootDiagnostics: { enabled: true } } }),
    ...(input.ultraSsd ? { additionalCapabilities: { ultraSSDEnabled: true } } : {}),
  }
}

/** Returns the tags of all that is made for a claim: those of every implementation, and those of ownership. */
export function vmTags({
  config,
  nodeClass,
  claim,
}: {
  readonly config: Pick<AzureConfig, 'additionalTags' | 'clusterName' | 'clusterUid'>
  readonly nodeClass: Pick<NodeClassSettings, 'spec'>
  readonly claim: { readonly uid: string; readonly nodePool?: string }
}): Record<string, string> {
  return {
    ...nodeTags(config, nodeClass.spec, claim.nodePool),
    [tagKeys.clusterUid]: config.clusterUid,
    [tagKeys.claimUid]: claim.uid,
  }
}

function osDisk({ config, nodeClass, claim, attempt, size }: VirtualMachineInput): OSDisk {
  const base = {
    name: osDiskName(config.clusterUid, claim.name, attempt),
    diskSizeGB: nodeClass.spec.osDiskSizeGB,
    createOption: 'FromImage' as const,
    deleteOption: 'Delete' as const,
    ...(config.diskEncryptionSetId === undefined
      ? {}
      : { managedDisk: { diskEncryptionSet: { id: config.diskEncryptionSetId } } }),
  }
  const placement = osDiskPlacement(size, nodeClass)
  if (placement === undefined) return base
  return { ...base, caching: 'ReadOnly' as const, diffDiskSettings: { option: 'Local' as const, placement } }
}

function imageReference(id: string): { id: string } | { communityGalleryImageId: string } {
  return id.toLowerCase().startsWith('/communitygalleries/') ? { communityGalleryImageId: id } : { id }
}

function networkInterface(input: VirtualMachineInput) {
  const { config, nodeClass, network, claim, attempt, size } = input
  const name = `${vmName(claim.name)}-${attempt}`
  const secondary =
    config.networkPlugin === 'azure' && config.networkPluginMode !== 'overlay' ? nodeClass.maxPods - 1 : 0
  const subnet = { id: nodeClass.subnetId }
  const pools = network.poolIds.map((id) => ({ id }))
  return {
    name,
    tags: vmTags(input),
    primary: true,
    deleteOption: 'Delete' as const,
    enableAcceleratedNetworking: size.acceleratedNetworking,
    enableIPForwarding: false,
    ...(needsSecurityGroup(input) ? { networkSecurityGroup: { id: network.securityGroupId } } : {}),
    ipConfigurations: [
      { name, primary: true, subnet, ...(pools.length === 0 ? {} : { loadBalancerBackendAddressPools: pools }) },
      ...Array.from({ length: secondary }, (_, index) => ({ name: `ipconfig${index + 1}`, primary: false, subnet })),
    ],
  }
}

/** Returns whether the NIC brings the cluster's security group: AKS guards only the subnet that it makes itself. */
function needsSecurityGroup({ config, nodeClass }: VirtualMachineInput): boolean {
  const subnet = parseSubnet(nodeClass.subnetId)
  return subnet === undefined || !isAksManaged(subnet, config.nodeResourceGroup)
}

function securityProfile(
  { apiVersions }: Pick<AzureConfig, 'apiVersions'>,
  { spec, trustedLaunch }: NodeClassSettings,
): Pick<VirtualMachine, 'securityProfile'> {
  // An unset encryption stays unset for Azure.
  const { encryptionAtHost, trustedLaunch: { vtpm = false, secureBoot = false } = {} } = spec.security ?? {}
  const securityProfile = {
    ...(encryptionAtHost === undefined ? {} : { encryptionAtHost }),
    ...(trustedLaunch
      ? { securityType: 'TrustedLaunch', uefiSettings: { secureBootEnabled: secureBoot, vTpmEnabled: vtpm } }
      : {}),
    ...(!trustedLaunch && needsStandardSecurityType(apiVersions) ? { securityType: 'Standard' } : {}),
  }
  return Object.keys(securityProfile).length === 0 ? {} : { securityProfile }
}
