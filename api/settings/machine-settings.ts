import { isTrue } from './setting-types.ts'

const machineNeeds: Readonly<Record<string, string>> = {
  SIG_SUBSCRIPTION_ID: "the subscription of AKS' shared galleries",
  AKS_MACHINES_POOL_NAME: 'the name of the agent pool with the mode Machines (chart: azure.aksMachinesPoolName)',
  ARM_RESOURCE_GROUP: 'the resource group of the cluster (chart: azure.clusterResourceGroup)',
}

/** What making AKS machines needs besides (reference/azure-provider.md 4.7). AKS itself reads the galleries, so no token server is needed. */
export function machineModeConflicts(
  env: Readonly<Record<string, string | undefined>>,
): readonly { readonly name: string; readonly message: string }[] {
  const mode = env['PROVISION_MODE']
  const missing = Object.entries(machineNeeds).flatMap(([name, what]) =>
    env[name] ? [] : [{ name, message: `is missing, and PROVISION_MODE "${mode}" needs it; set it to ${what}` }],
  )
  if (isTrue(env['USE_SIG'])) return missing
  const message = `must be true with PROVISION_MODE "${mode}", since AKS machines have images of the shared galleries; set it to true (chart: azure.sharedGallery.enabled)`
  return [{ name: 'USE_SIG', message }, ...missing]
}
