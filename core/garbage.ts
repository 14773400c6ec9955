import { dividedByUse, type MachineUse, type NamedVm, type NamingNode, type PodCounts } from './machines-in-use.ts'

/** A VM that carries the tags of this cluster. */
export interface FoundVm {
  readonly name: string
  readonly claimName: string
  /** Unset when Karpenter made it. */
  readonly claimUid?: string
  readonly createdAtMs?: number
  readonly isBeingDeleted: boolean
  /** An operator ended its claim and left the VM to garbage collection. */
  readonly isAbandoned: boolean
  /** Names of the NICs and of the OS disk that belong to it, in lower case. */
  readonly parts: ReadonlySet<string>
  /** Nodes of the cluster that name it. Default: none. */
  readonly nodes?: readonly NamingNode[]
}

/** A NIC or OS disk that was made for a claim of this cluster and that no VM uses. */
export interface FoundPart {
  readonly name: string
  readonly claimName: string
  /** Unset for disks, and for Karpenter's NICs. */
  readonly claimUid?: string
}

/**
 * What Azure lists under a NodeClaim's provider id: its own VM, an unproven one, or none. `namesake`: it is this cluster's, and its tags have the UID of
 * another NodeClaim of the name. `elsewhere`: the id names a VM outside the listed resource group, so the list does not cover it.
 */
export type ListedInstance = 'own' | 'namesake' | 'unproven' | 'missing' | 'elsewhere'

export interface KnownClaim {
  readonly name: string
  readonly uid: string
  readonly isRegistered: boolean
  readonly isBeingDeleted: boolean
  /** Whether its Node, found by the provider id, is there and ready. */
  readonly hasReadyNode: boolean
  readonly instance: ListedInstance
}

/** A Node that is being deleted and waits for a NodeClaim that is gone. */
export interface HeldNode {
  readonly name: string
  readonly claimName: string
  /** The VM that it ran on. */
  readonly vm: NamedVm
  readonly nodes: readonly NamingNode[]
}

/** Everything found, and the claims as read afterwards. */
export interface GarbageSnapshot {
  readonly virtualMachines: readonly FoundVm[]
  readonly networkInterfaces: readonly FoundPart[]
  readonly disks: readonly FoundPart[]
  readonly claims: readonly KnownClaim[]
  readonly heldNodes?: readonly HeldNode[]
  /** Which Nodes run pods; unset before the role core was asked. */
  readonly counts?: PodCounts | undefined
}

/** Resources that seem to have no owner. Each is checked again, live, before its deletion. */
export interface GarbageSuspects {
  readonly virtualMachines: readonly FoundVm[]
  readonly networkInterfaces: readonly FoundPart[]
  readonly disks: readonly FoundPart[]
  /** Claims whose VM is gone. */
  readonly nodeClaims: readonly KnownClaim[]
  readonly heldNodes: readonly HeldNode[]
  /** What lost its NodeClaim and is kept, since pods run there or may run there. */
  readonly vmsInUse: readonly (FoundVm & { readonly use: MachineUse })[]
  readonly nodesInUse: readonly (HeldNode & { readonly use: MachineUse })[]
  /** Why nothing or not everything is deleted for now, with the remedy; unset when nothing is in doubt. */
  readonly withheld?: string
}

/**
 * A VM without a claim's UID is judged by its claim's name and its age: 15 minutes for a launch, and 5 for clocks that differ. A VM with a UID needs
 * no age: its claim existed before it, and no other claim can have that UID.
 */
const unnamedAgeMs = 20 * 60_000

/** With more VMs than this that no Node names, and no claim at all in the cluster, both were probably read in the wrong place. */
const mostWithoutAnyClaim = 10

/** NodeClaims with unlisted VMs, up to this number, may have lost them one by one. More at once put the list in doubt. */
const mostMissing = 2

/**
 * Returns why the list of VMs is in doubt: most registered NodeClaims have no VM of their own in it. Causes are a wrong resource group, a wrong
 * cluster name, or an empty or cut answer. It is not in doubt where a NodeClaim has its own VM and of the lost ones each has a silent Node and no VM
 * in it, or one of a namesake: after a restore of etcd most NodeClaims may be of VMs that ended since, or were made again since. One or two without
 * a VM are no reason for doubt, whatever else is listed.
 */
export function doubtOf(claims: readonly KnownClaim[]): string | undefined {
  const settled = claims.filter(({ isRegistered, isBeingDeleted }) => isRegistered && !isBeingDeleted)
  const lost = settled.filter(({ instance }) => instance !== 'own')
  if (lost.length * 2 <= settled.length) return undefined
  const isGone = ({ instance, hasReadyNode }: KnownClaim) => instance === 'missing' && !hasReadyNode
  const isPlausible = lost.every((one) => isGone(one) || one.instance === 'namesake')
  if (isPlausible && claims.some(({ instance }) => instance === 'own')) return undefined
  if (lost.length <= mostMissing && lost.every(isGone)) return undefined
  if (lost.length === 1 && lost[0]?.instance === 'missing') return undefined
  const reported = (Object.keys(listedTexts) as (keyof typeof listedTexts)[]).flatMap((instance) => {
    const count = lost.filter((claim) => claim.instance === instance).length
    return count === 0 ? [] : [`${count} ${listedTexts[instance]}`]
  })
  return `${lost.length} of ${settled.length} registered NodeClaims have no VM of their own in Azure's list (${reported.join(', ')}), so nothing is deleted. Check AZURE_NODE_RESOURCE_GROUP, ARM_SUBSCRIPTION_ID and CLUSTER_NAME, and run joiner doctor; if the VMs were deleted on purpose, delete their NodeClaims with kubectl`
}

const listedTexts = {
  missing: 'with no VM of that name',
  namesake: 'with a VM of another NodeClaim of that name',
  unproven: 'with a VM without the tags of this cluster and NodeClaim',
  elsewhere: 'whose status.providerID names another resource group or subscription',
} as const satisfies Partial<Record<ListedInstance, string>>

const nothing: GarbageSuspects = {
  virtualMachines: [],
  networkInterfaces: [],
  disks: [],
  nodeClaims: [],
  heldNodes: [],
  vmsInUse: [],
  nodesInUse: [],
}

/**
 * Returns resources that no lifecycle owns. They must be found before the claims are read, since a claim always exists before its resources. While
 * the list of VMs is in doubt nothing is a suspect (docs/architecture.md "Invariants"). A VM whose Node is Ready is a suspect only if the role core
 * answered that no pods run there; one that an operator has left is always.
 */
export function garbageIn(snapshot: GarbageSnapshot, now: number): GarbageSuspects {
  const { claims, counts } = snapshot
  const doubt = doubtOf(claims)
  if (doubt !== undefined) return { ...nothing, withheld: doubt }
  const byUid = new Map(claims.map((claim) => [claim.uid, claim]))
  const byName = new Map(claims.map((claim) => [claim.name, claim]))
  const vms = new Map(snapshot.virtualMachines.map((vm) => [vm.claimName, vm]))
  const orphans = snapshot.virtualMachines.filter((vm) => isOrphan(vm, { byUid, byName }, now))
  const abandoned = orphans.filter(({ isAbandoned }) => isAbandoned)
  const lost = dividedByUse(
    orphans.filter(({ isAbandoned }) => !isAbandoned),
    counts,
    now,
  )
  const held = dividedByUse(snapshot.heldNodes ?? [], counts, now)
  const nodeless = lost.unused.filter(({ nodes = [] }) => nodes.length === 0)
  const withheld =
    claims.length === 0 && nodeless.length > mostWithoutAnyClaim
      ? `${nodeless.length} VMs carry this cluster's tags, and the cluster has neither a Node of theirs nor any NodeClaim; they are left alone. If the NodeClaims were deleted on purpose, delete the VMs by hand; else check CLUSTER_NAME and the API server that Joiner uses`
      : undefined
  const isLeftover = (part: FoundPart) => isUnowned(part, { byUid, byName, vm: vms.get(part.claimName) })
  return {
    virtualMachines: [
      ...abandoned,
      ...(withheld === undefined ? lost.unused : lost.unused.filter((vm) => !nodeless.includes(vm))),
    ],
    networkInterfaces: snapshot.networkInterfaces
      .filter(isLeftover)
      .filter(({ claimUid }) => withheld === undefined || claimUid !== undefined),
    disks: snapshot.disks.filter(isLeftover),
    nodeClaims: claims.filter(
      ({ instance, isRegistered, isBeingDeleted, hasReadyNode }) =>
        isRegistered && !isBeingDeleted && !hasReadyNode && instance === 'missing',
    ),
    heldNodes: held.unused,
    vmsInUse: lost.inUse,
    nodesInUse: held.inUse,
    ...(withheld === undefined ? {} : { withheld }),
  }
}

interface Claims {
  readonly byUid: ReadonlyMap<string, KnownClaim>
  readonly byName: ReadonlyMap<string, KnownClaim>
}

function isOrphan(vm: FoundVm, { byUid, byName }: Claims, now: number): boolean {
  // A later claim of the same name removes this VM itself.
  if (vm.isBeingDeleted || byName.has(vm.claimName)) return false
  if (vm.claimUid !== undefined) return !byUid.has(vm.claimUid)
  return vm.isAbandoned || (vm.createdAtMs !== undefined && now - vm.createdAtMs > unnamedAgeMs)
}

/**
 * Whether a part without a VM has no owner: its claim is gone, or is registered. After registration no launch is under way, so a part that its VM
 * does not use is left from an earlier attempt.
 */
function isUnowned(
  { name, claimName, claimUid }: FoundPart,
  { byUid, byName, vm }: Claims & { readonly vm: FoundVm | undefined },
): boolean {
  if (vm?.parts.has(name.toLowerCase()) === true) return false
  const claim = claimUid === undefined ? byName.get(claimName) : byUid.get(claimUid)
  if (claim !== undefined) return claim.isRegistered && !claim.isBeingDeleted && vm?.isBeingDeleted === false
  // The deletion of the VM may delete it as well.
  return vm === undefined || (vm.claimUid !== undefined && claimUid !== undefined && vm.claimUid !== claimUid)
}
