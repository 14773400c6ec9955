import { bootstrapTokenId } from '../../activities/azure/launch/bootstrap-token.ts'
import { awaitInstance, deleteInstance } from '../../activities/azure/launch/instance.ts'
import { vmTags } from '../../activities/azure/launch/virtual-machine.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { nodeClassSpec } from '../../api/node-class.ts'
import { withDefaults } from '../../api/served.ts'
import { FakeAzure, type Refusal } from './azure.ts'
import { azureConfig } from './azure-config.ts'
import { azureDeps } from './azure-deps.ts'
import { FakeCluster } from './cluster.ts'
import { goingClaim, nodeClassJson } from './objects.ts'

export const ref = { name: 'a', uid: 'uid-a' }

export const secretName = `bootstrap-token-${bootstrapTokenId('uid-a')}`

export const own = vmTags({
  config: azureConfig,
  nodeClass: { spec: withDefaults(nodeClassSpec, {}) },
  claim: { uid: 'uid-a', nodePool: 'default' },
})

const { 'joiner.sh_nodeclaim-uid': _uid, ...withoutUid } = own

/** Tags as Karpenter sets them. */
export const karpenters: Readonly<Record<string, string>> = withoutUid

export const elsewhere =
  'azure:///subscriptions/other/resourceGroups/mc_other/providers/Microsoft.Compute/virtualMachines/aks-a'

export const denied: Refusal = { status: 403, code: 'AuthorizationFailed', message: 'no' }

export function world(claim: Json = goingClaim('a'), tags: Readonly<Record<string, string>> | 'noVm' = own) {
  const cluster = new FakeCluster()
  cluster.put('nodeclaims', claim)
  cluster.put('aksnodeclasses', nodeClassJson())
  cluster.put('secrets', { metadata: { name: secretName, namespace: 'kube-system' } })
  const azure = new FakeAzure()
  if (tags !== 'noVm')
    azure.put('virtualMachines', 'aks-a', {
      tags,
      provisioningState: 'Succeeded',
      hardwareProfile: { vmSize: 'Standard_D4s_v5' },
      storageProfile: { osDisk: { name: 'aks-a-1' } },
      zones: ['1'],
    })
  const known = azureDeps(cluster, azure)
  const stop = new AbortController()
  return {
    cluster,
    ...known,
    stopWaiting: stop,
    deletes: () => deleteInstance(known.deps, ref, stop.signal),
    awaits: () => awaitInstance(known.deps, ref, stop.signal),
    condition: (type: string) => cluster.object('nodeclaims', 'a')?.status.conditions.find((one) => one.type === type),
  }
}

/** VMs of other owners that stand under the name of the claim's. */
export const foreign: [string, Readonly<Record<string, string>>][] = [
  ['without tags', {}],
  ['of another cluster', { ...own, 'karpenter.azure.com_cluster': 'other' }],
  ['of another cluster of the same name', { ...own, 'joiner.sh_cluster-uid': 'other' }],
  ['of another NodeClaim', { ...own, 'joiner.sh_nodeclaim-uid': 'other' }],
  ['of an AKS machine', { ...own, 'karpenter.azure.com_aksmachine_nodeclaim': 'x' }],
  ['of Karpenter for another NodePool', { ...karpenters, 'karpenter.sh_nodepool': 'other' }],
]
