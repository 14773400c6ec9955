import type { InstanceType } from '../../../core/instance-type.ts'
import { aksOwnKeys } from '../../../core/node-claim/claim-keys.ts'
import { labels, wellKnownLabels } from '../../../core/requirements/labels.ts'
import { operatorOf } from '../../../core/requirements/requirement.ts'
import type { Requirements } from '../../../core/requirements/requirements.ts'
import type { AzureConfig } from '../azure-config.ts'
import { clusterLabel } from '../catalogue/instance-types.ts'
import { placementScope } from '../catalogue/zones.ts'
import { parseSubnet } from '../launch/subnet.ts'
import type { NodeClassSettings } from '../node-class/node-class-settings.ts'
import { minorVersion } from './kubelet-flags.ts'

/** The choice of a launch, and the known facts of its type: an adopted VM's type may have left the catalogue. */
export interface Chosen {
  readonly typeName: string
  readonly instanceType?: InstanceType | undefined
  readonly zone: string
  readonly capacityType: string
  readonly ultraSsd: boolean
  /** Of a VM in a capacity reservation: its label value, and the ARM id of its group. */
  readonly reservation?: { readonly id: string; readonly groupId: string }
}

const placementScopeKey = 'karpenter.azure.com/placement-scope'
const ultraSsdKey = 'karpenter.azure.com/sku-storage-ultra-ssd'

/** Returns labels of the launched NodeClaim: the type's, the choice's, and the claim's own for Azure (reference/azure-provider.md 4.6). */
export function launchedLabels(chosen: Chosen, wanted: Requirements, region: string): Record<string, string> {
  const priority = chosen.capacityType === 'spot' ? 'spot' : 'regular'
  const asked = Object.entries(singleValued(wanted)).filter(
    ([key]) => key.includes('azure.com/') && wellKnownLabels.has(key),
  )
  return {
    ...(chosen.instanceType === undefined ? {} : singleValued(chosen.instanceType.requirements)),
    ...Object.fromEntries(asked),
    ...choiceLabels(chosen),
    [labels.instanceType]: chosen.typeName,
    [labels.zone]: chosen.zone,
    [labels.region]: region,
    'kubernetes.azure.com/scalesetpriority': priority,
    'kubernetes.azure.com/priority': priority,
  }
}

const notFromLaunch: ReadonlySet<string> = new Set([labels.nodePool, labels.nodeClass])
const isFromLaunch = (key: string) => wellKnownLabels.has(key) && !notFromLaunch.has(key)

/** Returns labels of an earlier launch of the same claim that the new one does not have. */
export function outdatedLabels(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): readonly string[] {
  return Object.keys(before).filter((key) => isFromLaunch(key) && !Object.hasOwn(after, key))
}

/** Returns a claim's labels without those that launches write: an earlier attempt's zone or size does not affect the next one. */
export function labelsBeforeLaunch(given: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(given).filter(([key]) => !isFromLaunch(key)))
}

function choiceLabels({ zone, capacityType, ultraSsd, reservation }: Chosen): Record<string, string> {
  return {
    [labels.capacityType]: capacityType,
    [placementScopeKey]: placementScope(zone),
    [ultraSsdKey]: String(ultraSsd),
    ...(reservation === undefined ? {} : { [labels.reservationId]: reservation.id }),
  }
}

/** Returns whether the claim requires ultra disks. */
export function requiresUltraSsd(wanted: Requirements): boolean {
  const set = wanted.get(ultraSsdKey)
  if (set === undefined) return false
  return set.complement ? set.values.has('false') : set.values.has('true') && !set.values.has('false')
}

export interface KubeletLabelsInput {
  readonly config: AzureConfig
  readonly nodeClass: NodeClassSettings
  readonly kubernetesVersion: string
  readonly imageFamilyResolved: string
  readonly claimLabels: Readonly<Record<string, string>>
  readonly wanted: Requirements
  readonly chosen: Chosen
}

/**
 * Returns labels that the kubelet registers with (reference/azure-provider.md 2.2). Keys that NodeRestriction forbids are left out; those and
 * the ones that only the claim has arrive with registration.
 */
export function kubeletLabels(input: KubeletLabelsInput): Record<string, string> {
  const { chosen } = input
  const all = {
    ...baseLabels(input),
    ...networkLabels(input),
    ...input.claimLabels,
    ...singleValued(input.wanted),
    ...(chosen.instanceType === undefined ? {} : singleValued(chosen.instanceType.requirements)),
    ...choiceLabels(chosen),
  }
  return Object.fromEntries(Object.entries(all).filter(([key]) => kubeletMaySet(key)))
}

function baseLabels({ config, nodeClass, imageFamilyResolved, chosen }: KubeletLabelsInput): Record<string, string> {
  const arch = chosen.instanceType?.requirements.get(labels.arch)
  return {
    'kubernetes.azure.com/role': 'agent',
    'kubernetes.azure.com/cluster': clusterLabel(config.nodeResourceGroup),
    'kubernetes.azure.com/kubelet-identity-client-id': config.kubeletIdentityClientId,
    'kubernetes.azure.com/mode': 'user',
    // As upstream: a spot node gets its priority from the claim when it is registered.
    'kubernetes.azure.com/scalesetpriority': 'regular',
    'kubernetes.azure.com/priority': 'regular',
    'kubernetes.azure.com/os-sku': nodeClass.osSku,
    'kubernetes.azure.com/os-sku-requested': nodeClass.imageFamily,
    'kubernetes.azure.com/os-sku-effective': imageFamilyResolved,
    'kubernetes.azure.com/localdns-state': nodeClass.localDnsEnabled ? 'enabled' : 'disabled',
    ...(nodeClass.fips ? { 'kubernetes.azure.com/fips_enabled': 'true' } : {}),
    ...(nodeClass.artifactStreaming && !arch?.values.has('arm64')
      ? { 'kubernetes.azure.com/artifactstreaming-enabled': 'true' }
      : {}),
    [labels.doNotSyncTaints]: 'true',
  }
}

/** Returns whether the kubelet publishes the subnet of its node, which Azure's overlay network reads. */
export function hasSubnetLabel({
  networkPlugin,
  networkPluginMode,
}: Pick<AzureConfig, 'networkPlugin' | 'networkPluginMode'>): boolean {
  return networkPlugin === 'azure' && networkPluginMode === 'overlay'
}

function networkLabels({ config, nodeClass, kubernetesVersion }: KubeletLabelsInput): Record<string, string> {
  const subnet = parseSubnet(nodeClass.subnetId)
  return {
    ...(hasSubnetLabel(config)
      ? {
          ...(subnet === undefined ? {} : { 'kubernetes.azure.com/network-subnet': subnet.name }),
          ...(config.vnetGuid === undefined ? {} : { 'kubernetes.azure.com/nodenetwork-vnetguid': config.vnetGuid() }),
          'kubernetes.azure.com/azure-cni-overlay': 'true',
          'kubernetes.azure.com/podnetwork-type': 'overlay',
          'kubernetes.azure.com/network-stateless-cni': String(minorVersion(kubernetesVersion) >= 34),
        }
      : {}),
    ...(config.networkDataplane === 'cilium' ? { 'kubernetes.azure.com/ebpf-dataplane': 'cilium' } : {}),
  }
}

/**
 * Returns labels that AKS gives the node of a machine besides its own (reference/azure-provider.md 4.7): not those that AKS, the kubelet or the cloud
 * provider set. Startup taints come with the node, so registration must not add them again.
 */
export function machineLabels({
  claimLabels,
  wanted,
  chosen,
}: Pick<KubeletLabelsInput, 'claimLabels' | 'wanted' | 'chosen'>): Record<string, string> {
  const all = {
    ...claimLabels,
    ...singleValued(wanted),
    ...(chosen.instanceType === undefined ? {} : singleValued(chosen.instanceType.requirements)),
    ...choiceLabels(chosen),
    [labels.doNotSyncTaints]: 'true',
  }
  const isAks = (key: string) => key.startsWith('kubernetes.azure.com/') || aksOwnKeys.includes(key)
  return Object.fromEntries(
    Object.entries(all).filter(([key]) => kubeletMaySet(key) && !isKubeletOwn(key) && !isAks(key)),
  )
}

const kubeletOwn: ReadonlySet<string> = new Set([
  labels.hostname,
  labels.zone,
  labels.region,
  labels.instanceType,
  labels.os,
  labels.arch,
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
])

/** Returns whether every kubelet sets a label by itself, or the cloud provider does for it. */
export function isKubeletOwn(key: string): boolean {
  return kubeletOwn.has(key)
}

/** Returns whether NodeRestriction lets a kubelet set a label on its own node. */
export function kubeletMaySet(key: string): boolean {
  const slash = key.indexOf('/')
  const domain = slash < 0 ? '' : key.slice(0, slash)
  const within = (suffix: string) => domain === suffix || domain.endsWith(`.${suffix}`)
  if (!within('kubernetes.io') && !within('k8s.io')) return true
  return isKubeletOwn(key) || within('kubelet.kubernetes.io') || within('node.kubernetes.io')
}

/**
 * Returns the labels that requirements fix to one value. A type with one reservation requires that, and so would each of its on-demand nodes have it:
 * only the choice says who is in a reservation.
 */
function singleValued(sets: Requirements): Record<string, string> {
  return Object.fromEntries(
    [...sets.values()].flatMap((set) =>
      operatorOf(set) === 'In' && set.values.size === 1 && set.key !== labels.reservationId
        ? [[set.key, [...set.values][0] as string]]
        : [],
    ),
  )
}
