import type { VirtualMachineExtension } from '@azure/arm-compute'
import type { AzureConfig } from './azure-config.ts'

export const billingExtensionName = 'computeAksLinuxBilling'

/** Azure's own record that a VM is an AKS node (reference/azure-provider.md 4.5). It changes nothing on the node. */
export function billingExtension(
  { location }: Pick<AzureConfig, 'location'>,
  tags: Readonly<Record<string, string>>,
): VirtualMachineExtension {
  return {
    location,
    tags,
    publisher: 'Microsoft.AKS',
    typePropertiesType: 'Compute.AKS.Linux.Billing',
    typeHandlerVersion: '1.0',
    autoUpgradeMinorVersion: true,
    settings: {},
  }
}
