import type { Node, Taint } from '../../../../core/objects.ts'
import { labels } from '../../../../core/requirements/labels.ts'
import type { AgentPoolProfile } from '../../../picture/managed-cluster.ts'
import { capacityTypeOf } from '../azure/market.ts'
import type { OwnedNode } from './node-owner.ts'

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

/** Sizes of OS disks in GiB that are in use. */
const sizes = [30, 32, 48, 60, 64, 100, 128, 150, 200, 256, 300, 400, 512, 768, 1024, 2048]
const nanoOfGib = 2n ** 30n * 1_000_000_000n

/** Returns the size of a node's OS disk in GiB, by its file system, which is a little smaller; undefined when it is not known. */
function osDiskOf(node: Node | undefined): number | undefined {
  const storage = node?.capacity['ephemeral-storage']
  if (storage === undefined) return undefined
  const gib = Number(storage.nano / (nanoOfGib / 1000n)) / 1000
  return gib <= 0 ? undefined : sizes.find((size) => size >= gib)
}

/** Bounds of a node group. */
interface GroupBounds {
  readonly min: number
  readonly max: number
}

const groupName = /\bname:\s*"?aks-([a-z0-9]{1,12})-\d+-vmss"?/gi
const longestStatus = 1_000_000

/** Reads the bounds of agent pools, by name, from what Cluster Autoscaler reports: YAML, and before 1.30 a text of its own. */
export function boundsIn(status: string): ReadonlyMap<string, GroupBounds> {
  const text = status.slice(0, longestStatus)
  const names = [...text.matchAll(groupName)]
  const found = new Map<string, GroupBounds>()
  for (const [at, match] of names.entries()) {
    const part = text.slice(match.index, names[at + 1]?.index)
    const min = /\bminSize[:=]\s*(\d{1,6})\b/.exec(part)?.[1]
    const max = /\bmaxSize[:=]\s*(\d{1,6})\b/.exec(part)?.[1]
    if (min !== undefined && max !== undefined) found.set(match[1] ?? '', { min: Number(min), max: Number(max) })
  }
  return found
}

/** Domains whose labels and taints Kubernetes, AKS, Karpenter and Cluster Autoscaler set by themselves. */
const systemDomain = /(^|\.)(kubernetes\.io|k8s\.io|azure\.com|karpenter\.sh|cilium\.io)$/
const systemLabels: ReadonlySet<string> = new Set(['agentpool', 'storageprofile', 'storagetier', 'accelerator'])
const autoscalerTaint = /^(ToBeDeletedBy|DeletionCandidateOf)ClusterAutoscaler$/
/** What AKS puts on spot nodes, and their pods tolerate. */
const spotKey = 'kubernetes.azure.com/scalesetpriority'

/** Returns the labels that somebody gave a pool, without those that its nodes have by themselves. */
export function ownLabels(all: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(all).filter(([key]) => !systemLabels.has(key) && !systemDomain.test(domainOf(key))),
  )
}

/** Returns the taints that all nodes of a pool have, and keep. */
export function ownTaints(nodes: readonly Node[]): readonly Taint[] {
  const [first, ...others] = nodes
  return (first?.taints ?? [])
    .filter(({ key }) => key === spotKey || (!systemDomain.test(domainOf(key)) && !autoscalerTaint.test(key)))
    .filter((taint) => others.every(({ taints }) => taints.some((other) => isSame(taint, other))))
    .map(({ key, value, effect }) => ({ key, effect, ...(value ? { value } : {}) }))
}

/** Reads a taint as ARM has it, `key=value:Effect`; undefined for anything else. */
export function parsedTaint(text: string): Taint | undefined {
  const { key = '', value, effect } = /^(?<key>[^=:]+)(=(?<value>[^:]*))?:(?<effect>\w+)$/.exec(text)?.groups ?? {}
  if (effect !== 'NoSchedule' && effect !== 'PreferNoSchedule' && effect !== 'NoExecute') return undefined
  return { key, effect, ...(value ? { value } : {}) }
}

const isSame = (a: Taint, b: Taint) => a.key === b.key && a.effect === b.effect && (a.value ?? '') === (b.value ?? '')

function domainOf(key: string): string {
  return key.includes('/') ? key.slice(0, key.indexOf('/')) : ''
}
