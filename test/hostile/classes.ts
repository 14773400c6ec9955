import { azureIds, subnetId } from '../../deploy/local/cluster.ts'
import { nodeClass } from '../world.ts'
import type { HostileObject, Json } from './hostile-object.ts'
import { brokenValues, nameOf, prototypeNames, times } from './texts.ts'

type NamedSpec = readonly [what: string, spec: Json]

/** Values that reach a node's files, or Azure's tags. */
function broken(): readonly NamedSpec[] {
  return Object.entries(brokenValues).flatMap(([what, value]): readonly NamedSpec[] => [
    [`allows a sysctl with ${what}`, { kubelet: { allowedUnsafeSysctls: [`net.core.${value}`] } }],
    [`rotates logs at ${what}`, { kubelet: { containerLogMaxSize: value } }],
    [`has a period of ${what}`, { kubelet: { cpuCFSQuotaPeriod: value } }],
    [`swaps to ${what}`, { linuxOSConfig: { swapFileSize: value } }],
    [`has ports from ${what}`, { linuxOSConfig: { sysctls: { netIPv4IPLocalPortRange: `1024 ${value}` } } }],
    [`resolves a zone with ${what}`, { localDNS: { mode: 'Required', vnetDNSOverrides: [{ zone: value }] } }],
    [`has a subnet named with ${what}`, { vnetSubnetID: subnetId.replace(/[^/]+$/, () => value) }],
    [`has a tag with ${what}`, { tags: { hostile: value } }],
    [`has a tag named with ${what}`, { tags: { [value]: 'x' } }],
  ])
}

function odd(): readonly NamedSpec[] {
  const subnetOf = (group: string, rest: string) =>
    `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${group}/providers/Microsoft.Network/virtualNetworks/${rest}`
  const cluster = 'karpenter.azure.com_cluster'
  return [
    ['takes the tags that prove ownership', { tags: { [cluster]: 'other', 'joiner.sh_nodeclaim-uid': 'other' } }],
    ['takes them in capitals', { tags: { [cluster.toUpperCase()]: 'other', 'JOINER.SH_CLUSTER-UID': 'other' } }],
    ['takes the tag of AKS machines', { tags: { 'karpenter.azure.com_aksmachine_nodeclaim': 'x' } }],
    ['has 300 tags', { tags: Object.fromEntries(times(300, (i) => [`t${i}`, 'x'])) }],
    ['has 40 tags', { tags: Object.fromEntries(times(40, (i) => [`t${i}`, 'x'.repeat(250)])) }],
    ['has a tag twice but for its case', { tags: { hostile: 'x', HOSTILE: 'y' } }],
    ['has a subnet of somebody else', { vnetSubnetID: subnetOf('other', 'v/subnets/s') }],
    ['has a subnet with a path in it', { vnetSubnetID: subnetOf('g', 'v/../../../x/subnets/s') }],
    ['has the smallest disk', { osDiskSizeGB: 30 }],
    ['has the largest disk', { osDiskSizeGB: 2048 }],
    ['has the most pods', { maxPods: 250 }],
    ['has more pods than addresses', { maxPods: 2_147_483_647 }],
    ['has the largest kernel settings', { linuxOSConfig: { sysctls: { vmMaxMapCount: 2_147_483_647 } } }],
    ['allows 5,000 sysctls', { kubelet: { allowedUnsafeSysctls: times(5000, (i) => `net.core.x${i}`) } }],
    ['swaps more than its disk', { linuxOSConfig: { swapFileSize: '9999999Ei' } }],
    ['names a disk encryption set with a line break', { osDisk: { diskEncryptionSetID: 'x\ny' } }],
    ...prototypeNames.map((name): NamedSpec => [`has a tag ${name}`, { tags: { [name]: 'x' } }]),
    ...prototypeNames.map((name): NamedSpec => [`has a setting ${name}`, { kubelet: { [name]: { [name]: 'x' } } }]),
  ]
}

/** Settings that reach a node's files and Azure. */
export function hostileClasses(): readonly HostileObject[] {
  const own = [...broken(), ...odd()].map(([what, spec], index): HostileObject => {
    return { kind: 'AKSNodeClass', what, body: { ...nodeClass(nameOf('class', index)), spec } }
  })
  const names = ['constructor', `hostile-${'c'.repeat(56)}`, `hostile-${'c'.repeat(245)}`, 'hostile.class.example']
  const named = names.map(
    (name): HostileObject => ({
      kind: 'AKSNodeClass',
      what: `is named ${name.length > 30 ? `by ${name.length} characters` : name}`,
      body: nodeClass(name),
    }),
  )
  const old = Object.entries(brokenValues).map(([what, value], index): HostileObject => {
    const spec = { kubelet: { allowedUnsafeSysctls: [`net.core.${value}`] }, tags: { [value]: value } }
    const body = { ...nodeClass(nameOf('old-class', index)), apiVersion: 'karpenter.azure.com/v1alpha2', spec }
    return { kind: 'AKSNodeClass', what: `allows, in v1alpha2, a sysctl with ${what}`, body }
  })
  return [...own, ...named, ...old]
}
