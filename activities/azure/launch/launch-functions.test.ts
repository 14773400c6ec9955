import { expect, it } from 'vitest'
import { goldenFunctions } from '../../../test/vectors/golden-functions.ts'
import { readVectors } from '../../../test/vectors/packs.ts'
import { clusterLabel } from '../catalogue/instance-types.ts'
import { credentialProviderUrl } from '../node-config/bootstrap.ts'
import { isKubeletOwn, kubeletMaySet } from '../node-config/node-labels.ts'
import { clusterIdOf } from './network-facts.ts'
import { isAksManaged, parseSubnet, type SubnetId } from './subnet.ts'
import { nodeTags } from './tags.ts'
import { claimNameOf, providerIdOf, vmName } from './virtual-machine.ts'

type Tags = Readonly<Record<string, string>> | null

interface TagsInput {
  readonly additionalTags: Tags
  readonly nodeClassTags: Tags
  readonly nodeClaimLabels: Tags
  readonly clusterName: string
}

/** Adds users' tags that differ by case from one of Joiner's: upstream sends both, which Azure refuses. */
function withTwins(given: Readonly<Record<string, string>>, tags: Readonly<Record<string, string>>) {
  const names = new Set(Object.keys(tags).map((name) => name.toLowerCase()))
  const isTwin = (name: string) => names.has(name.toLowerCase()) && !Object.hasOwn(tags, name)
  return { ...Object.fromEntries(Object.entries(given).filter(([name]) => isTwin(name))), ...tags }
}

function subnetOf(id: string): SubnetId {
  const subnet = parseSubnet(id)
  if (subnet === undefined) throw new Error(`"${id}" is no subnet's id`)
  return subnet
}

goldenFunctions({
  vmNameFromNodeClaimName: [2, ({ nodeClaim }: { nodeClaim: string }) => vmName(nodeClaim)],
  nodeClaimNameFromVmName: [5, ({ vm }: { vm: string }) => claimNameOf(vm)],
  providerIdFromVmId: [2, ({ id }: { id: string }) => providerIdOf(id)],
  parseSubnetId: [
    8,
    ({ id }: { id: string }) => {
      const { subscriptionId, resourceGroup, vnet, name } = subnetOf(id)
      return { subscription: subscriptionId, resourceGroup, vnet, subnet: name }
    },
  ],
  isAksManagedVnet: [
    2,
    ({ subnetID, nodeResourceGroup }: { subnetID: string; nodeResourceGroup: string }) =>
      isAksManaged(subnetOf(subnetID), nodeResourceGroup),
  ],
  clusterIdFromNsgName: [2, ({ nsg }: { nsg: string }) => clusterIdOf(nsg)],
  clusterLabelFromNodeResourceGroup: [
    8,
    ({ nodeResourceGroup }: { nodeResourceGroup: string }) => clusterLabel(nodeResourceGroup),
  ],
  canKubeletSetLabel: [14, ({ key }: { key: string }) => kubeletMaySet(key)],
  isLabelKubeletManaged: [20, ({ key }: { key: string }) => isKubeletOwn(key)],
  credentialProviderUrl: [
    8,
    ({ arch, kubernetesVersion }: { arch: string; kubernetesVersion: string }) =>
      credentialProviderUrl(kubernetesVersion, arch) ?? '',
  ],
  tags: [
    5,
    ({ additionalTags, nodeClassTags, nodeClaimLabels, clusterName }: TagsInput) =>
      withTwins(
        { ...additionalTags, ...nodeClassTags },
        nodeTags(
          { additionalTags: additionalTags ?? {}, clusterName },
          { tags: nodeClassTags ?? {} },
          nodeClaimLabels?.['karpenter.sh/nodepool'],
        ),
      ),
  ],
})

const leftOut = {
  aksMachineNameFromVmName: 'a NodeClaim names its machine in an annotation',
  isAksLabel: 'no case is such a label',
  vmNameFromProviderId: 'VMs are found by the name of their NodeClaim',
} as const

it('leaves out what Joiner has no use for, and says so', () => {
  const { cases } = readVectors('azure/functions') as { readonly cases: readonly { readonly function: string }[] }
  for (const [name, why] of Object.entries(leftOut)) {
    const count = cases.filter((golden) => golden.function === name).length
    console.log(`azure/functions: ${count} cases of ${name} are left out: ${why}`)
  }
})

it.each([
  ['aks-vnet-12345678', 'aks-subnet', true],
  ['AKS-VNET-12345678', 'AKS-Subnet', true],
  ['aks-vnet-12345678', 'nodes', false],
  ['corp-aks-vnet-12345678', 'aks-subnet', false],
])('network %s with subnet %s is the one that AKS made: %s', (vnet, name, expected) => {
  expect(isAksManaged({ subscriptionId: 's', resourceGroup: 'mc_RG', vnet, name }, 'MC_rg')).toBe(expected)
})
