import type { Node, Taint } from '../../../../core/objects.ts'
import { labels } from '../../../../core/requirements/labels.ts'
import type { AgentPoolProfile } from '../../aks/cluster.ts'
import { capacityTypeOf } from '../azure/market.ts'
import { boundsIn, type GroupBounds } from './autoscaler-status.ts'
import type { OwnedNode } from './node-owner.ts'
import { osDiskOf } from './os-disk.ts'
import { ownLabels, ownTaints, parsedTaint } from './own-labels.ts'

/** A node pool of AKS. */
export interface AgentPool {
  readonly name: string
  readonly mode: 'system' | 'user'
  readonly os: 'linux' | 'windows'
  /** Names of VM sizes, the most frequent first. */
  readonly sizes: readonly string[]
  readonly arch: 'amd64' | 'arm64'
  /** Zone labels; empty: its nodes are in no zone. */
  readonly zones: readonly string[]
  readonly isSpot: boolean
  /** Labels and taints that its owner gave it. */
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  readonly nodes: readonly Node[]
  /** The least and the most nodes, as Cluster Autoscaler keeps them; unset: not known, or it has a fixed size. */
  readonly min?: number
  readonly max?: number
  readonly maxPods?: number
  readonly osDiskGb?: number
  readonly osSku?: string
  readonly subnetId?: string
  readonly isFips: boolean
  readonly encryptsAtHost: boolean
  /** Whether ARM was read; else all is by what its nodes report. */
  readonly isFromArm: boolean
}

/** What is known of agent pools beside their nodes. */
interface Sources {
  readonly profiles: readonly AgentPoolProfile[] | undefined
  readonly region: string
  /** What Cluster Autoscaler reports. */
  readonly status?: string
}

/** Returns the agent pools, by name: those that have nodes, and those that ARM knows. */
export function agentPoolsOf(
  owned: readonly OwnedNode[],
  { profiles, region, status = '' }: Sources,
): readonly AgentPool[] {
  const reported = boundsIn(status)
  const nodesOf = Map.groupBy(
    owned.filter(({ owner }) => owner.kind === 'agent pool'),
    ({ owner }) => owner.name,
  )
  const byName = new Map((profiles ?? []).map((profile) => [profile.name ?? '', profile]))
  return [...new Set([...nodesOf.keys(), ...byName.keys()])]
    .filter((name) => name !== '')
    .toSorted()
    .map((name) => {
      const nodes = (nodesOf.get(name) ?? []).map(({ node }) => node)
      return agentPool({ name, nodes, profile: byName.get(name), reported: reported.get(name), region })
    })
}

interface Known {
  readonly name: string
  readonly nodes: readonly Node[]
  readonly profile: AgentPoolProfile | undefined
  readonly reported: GroupBounds | undefined
  readonly region: string
}

/** What ARM says comes first: it is what the next node of the pool will be. */
function agentPool(known: Known): AgentPool {
  const { name, nodes, profile, region } = known
  return {
    name,
    nodes,
    sizes: sizesOf(known),
    zones: profile?.availabilityZones?.map((zone) => `${region}-${zone}`) ?? zonesOf(nodes),
    labels: ownLabels(profile?.nodeLabels ?? common(nodes)),
    taints: profile?.nodeTaints?.flatMap((text) => parsedTaint(text) ?? []) ?? ownTaints(nodes),
    encryptsAtHost: profile?.enableEncryptionAtHost === true,
    isFromArm: profile !== undefined,
    ...kindOf(known),
    ...boundsOf(known),
    ...sizedBy(known),
  }
}

const armSize = /^Standard_[A-Z]+\d+[a-z]*p/

function kindOf({ nodes, profile = {} }: Known): Pick<AgentPool, 'mode' | 'os' | 'arch' | 'isSpot' | 'isFips'> {
  const own = nodes[0]?.metadata.labels ?? {}
  const mode = profile.mode ?? own['kubernetes.azure.com/mode'] ?? ''
  const os = profile.osType ?? own[labels.os] ?? ''
  const { scaleSetPriority: priority = capacityTypeOf(own) } = profile
  return {
    mode: mode.toLowerCase() === 'system' ? 'system' : 'user',
    os: os.toLowerCase() === 'windows' ? 'windows' : 'linux',
    arch: own[labels.arch] === 'arm64' || armSize.test(profile.vmSize ?? '') ? 'arm64' : 'amd64',
    isSpot: priority.toLowerCase() === 'spot',
    isFips: profile.enableFIPS ?? own['kubernetes.azure.com/fips_enabled'] === 'true',
  }
}

function sizesOf({ nodes, profile }: Known): readonly string[] {
  const seen = nodes.map(({ metadata }) => metadata.labels[labels.instanceType] ?? '')
  const all = [...seen, profile?.vmSize ?? ''].filter(Boolean)
  const counts = [...Map.groupBy(all, (size) => size)].map(([size, { length }]) => ({ size, length }))
  return counts.toSorted((a, b) => b.length - a.length).map(({ size }) => size)
}

function boundsOf({ profile, reported }: Known): Pick<AgentPool, 'min' | 'max'> {
  if (profile?.enableAutoScaling !== true) return reported ?? {}
  const { minCount, maxCount } = profile
  return { ...(minCount === undefined ? {} : { min: minCount }), ...(maxCount === undefined ? {} : { max: maxCount }) }
}

function sizedBy({ nodes, profile }: Known): Pick<AgentPool, 'maxPods' | 'osDiskGb' | 'osSku' | 'subnetId'> {
  const [first] = nodes
  const pods = nodes.map(({ capacity }) => Number((capacity['pods']?.nano ?? 0n) / 1_000_000_000n))
  const maxPods = profile?.maxPods ?? (pods.length === 0 ? 0 : Math.min(...pods))
  const osDiskGb = profile?.osDiskSizeGB ?? osDiskOf(first)
  const osSku = profile?.osSKU ?? first?.metadata.labels['kubernetes.azure.com/os-sku']
  return {
    ...(maxPods > 0 ? { maxPods } : {}),
    ...(osDiskGb === undefined || osDiskGb === 0 ? {} : { osDiskGb }),
    ...(osSku === undefined ? {} : { osSku }),
    ...(profile?.vnetSubnetID === undefined ? {} : { subnetId: profile.vnetSubnetID }),
  }
}

function zonesOf(nodes: readonly Node[]): readonly string[] {
  const zones = nodes.flatMap(({ metadata }) => metadata.labels[labels.zone] ?? [])
  return [...new Set(zones.filter((zone) => /-\d$/.test(zone)))].toSorted()
}

/** Labels that all nodes have with the same value. */
function common(nodes: readonly Node[]): Readonly<Record<string, string>> {
  const [first, ...others] = nodes
  const own = Object.entries(first?.metadata.labels ?? {})
  return Object.fromEntries(
    own.filter(([key, value]) => others.every(({ metadata }) => metadata.labels[key] === value)),
  )
}
