import type { AzureConfig } from '../../activities/azure/azure-config.ts'
import { goldenConfig } from '../vectors/golden-cases.ts'

/** A cluster in westus2 whose nodes lie in the resource group of `FakeAzure`. */
export const azureConfig: AzureConfig = goldenConfig('westus2', {
  clusterName: 'test',
  nodeResourceGroup: 'MC_group',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
})
