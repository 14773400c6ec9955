/** A VM that carries the tags of this cluster. */
export interface FoundVm {
  readonly name: string
  readonly claimName: string
  /** Absent: Karpenter made it. */
  readonly claimUid?: string
  readonly createdAtMs?: number
  readonly isBeingDeleted: boolean
  /** An operator ended its claim and left the VM to garbage collection. */
  readonly isAbandoned: boolean
  /** Names of the NICs and of the OS disk that belong to it, in small letters. */
  readonly parts: ReadonlySet<string>
}

/** A NIC or OS disk that was made for a claim of this cluster and that no VM uses. */
export interface FoundPart {
  readonly name: string
  readonly claimName: string
  /** What a disk does not say, and a NIC of Karpenter's. */
  readonly claimUid?: string
}

/**
 * What Azure lists under a NodeClaim's provider id: its own VM, one that is not proven to be its own, or none; `elsewhere`: the id names a VM outside
 * of the resource group that is listed, so the list says nothing about it.
 */
export type ListedInstance = 'own' | 'unproven' | 'missing' | 'elsewhere'

export interface KnownClaim {
  readonly name: string
  readonly uid: string
  readonly isRegistered: boolean
  readonly isBeingDeleted: boolean
  /** Whether its Node, found by the provider id, is there and ready. */
  readonly hasReadyNode: boolean
  readonly instance: ListedInstance
}

/** All that was found, and the claims as they were known after it was found. */
export interface GarbageSnapshot {
  readonly virtualMachines: readonly FoundVm[]
  readonly networkInterfaces: readonly FoundPart[]
  readonly disks: readonly FoundPart[]
  readonly claims: readonly KnownClaim[]
}

/** What seems to belong to nobody. Each is looked at once more, live, before it goes. */
export interface GarbageSuspects {
  readonly virtualMachines: readonly FoundVm[]
  readonly networkInterfaces: readonly FoundPart[]
  readonly disks: readonly FoundPart[]
  /** Claims whose VM is gone. */
  readonly nodeClaims: readonly KnownClaim[]
  /** Why nothing or not everything is deleted for now, with the remedy; unset when nothing is in doubt. */
  readonly withheld?: string
}

/**
 * A VM that names no claim's UID is judged by its claim's name and its age: 15 minutes for a launch, and 5 for clocks that differ.
 * One that names a UID needs no age: its claim was there before it, and no other claim will ever have that UID.
 */
const unnamedAgeMs = 20 * 60_000

/** So many VMs without any claim in the cluster are no leak but a sign that the claims are looked for in the wrong place. */
const mostWithoutAnyClaim = 10

/** So many NodeClaims whose VMs are not listed may have lost them one by one; a few more at once put the list in doubt. */
const mostMissing = 2

/**
 * Why the list of VMs is in doubt: most registered NodeClaims have no VM of their own in it, as with a wrong resource group, a wrong cluster name or an
 * empty answer. One or two whose VMs are not listed, and whose Nodes are silent too, are not enough for that.
 */
export function doubtOf(claims: readonly KnownClaim[]): string | undefined {
  const settled = claims.filter(({ isRegistered, isBeingDeleted }) => isRegistered && !isBeingDeleted)
  const lost = settled.filter(({ instance }) => instance !== 'own')
  if (lost.length * 2 <= settled.length) return undefined
  const isPlausible = lost.every(({ instance, hasReadyNode }) => instance === 'missing' && !hasReadyNode)
  if (lost.length <= mostMissing && (isPlausible || (lost.length === 1 && lost[0]?.instance === 'missing')))
    return undefined
  const told = (Object.keys(listedTexts) as (keyof typeof listedTexts)[]).flatMap((instance) => {
    const count = lost.filter((claim) => claim.instance === instance).length
    return count === 0 ? [] : [`${count} ${listedTexts[instance]}`]
  })
  return `${lost.length} of ${settled.length} registered NodeClaims have no VM of their own in Azure's list (${told.join(', ')}), so nothing is deleted. Check AZURE_NODE_RESOURCE_GROUP, ARM_SUBSCRIPTION_ID and CLUSTER_NAME, and run joiner doctor; if the VMs were deleted on purpose, delete their NodeClaims with kubectl`
}

const listedTexts = {
  missing: 'with no VM of that name',
  unproven: 'with a VM without the tags of this cluster and NodeClaim',
  elsewhere: 'whose status.providerID names another resource group or subscription',
} as const satisfies Partial<Record<ListedInstance, string>>

const nothing: GarbageSuspects = { virtualMachines: [], networkInterfaces: [], disks: [], nodeClaims: [] }

/**
 * What no lifecycle owns any more. What is found must have been found before the claims were read, since a claim always exists before
 * what is made for it. In doubt nothing is a suspect (design invariant D7).
 */
export function garbageIn(snapshot: GarbageSnapshot, now: number): GarbageSuspects {
  const { claims } = snapshot
  const doubt = doubtOf(claims)
  if (doubt !== undefined) return { ...nothing, withheld: doubt }
  const byUid = new Map(claims.map((claim) => [claim.uid, claim]))
  const byName = new Map(claims.map((claim) => [claim.name, claim]))
  const vms = new Map(snapshot.virtualMachines.map((vm) => [vm.claimName, vm]))
  const orphans = snapshot.virtualMachines.filter((vm) => isOrphan(vm, { byUid, byName }, now))
  const isLeftover = (part: FoundPart) => isUnowned(part, { byUid, byName, vm: vms.get(part.claimName) })
  const unexplained = orphans.filter(({ isAbandoned }) => !isAbandoned)
  const withheld =
    claims.length === 0 && unexplained.length > mostWithoutAnyClaim
      ? `${unexplained.length} VMs carry this cluster's tags and the cluster has no NodeClaim at all; they are left alone. If the NodeClaims were deleted on purpose, delete the VMs by hand; else check CLUSTER_NAME and the API server that Joiner uses`
      : undefined
  return {
    virtualMachines: withheld === undefined ? orphans : orphans.filter(({ isAbandoned }) => isAbandoned),
    networkInterfaces: snapshot.networkInterfaces
      .filter(isLeftover)
      .filter(({ claimUid }) => withheld === undefined || claimUid !== undefined),
    disks: snapshot.disks.filter(isLeftover),
    nodeClaims: claims.filter(
      ({ instance, isRegistered, isBeingDeleted, hasReadyNode }) =>
        isRegistered && !isBeingDeleted && !hasReadyNode && instance === 'missing',
    ),
    ...(withheld === undefined ? {} : { withheld }),
  }
}

interface Claims {
  readonly byUid: ReadonlyMap<string, KnownClaim>
  readonly byName: ReadonlyMap<string, KnownClaim>
}

function isOrphan(vm: FoundVm, { byUid, byName }: Claims, now: number): boolean {
  // A later claim of the same name makes room for its VM itself.
  if (vm.isBeingDeleted || byName.has(vm.claimName)) return false
  if (vm.claimUid !== undefined) return !byUid.has(vm.claimUid)
  return vm.isAbandoned || (vm.createdAtMs !== undefined && now - vm.createdAtMs > unnamedAgeMs)
}

/**
 * A part without a VM is nobody's when its claim is gone; also while the claim lives, once it is registered: then no launch is under way, and
 * what its VM does not use is left from an earlier attempt.
 */
function isUnowned(
  { name, claimName, claimUid }: FoundPart,
  { byUid, byName, vm }: Claims & { readonly vm: FoundVm | undefined },
): boolean {
  if (vm?.parts.has(name.toLowerCase()) === true) return false
  const claim = claimUid === undefined ? byName.get(claimName) : byUid.get(claimUid)
  if (claim !== undefined) return claim.isRegistered && !claim.isBeingDeleted && vm?.isBeingDeleted === false
  // The VM may be about to take it along.
  return vm === undefined || (vm.claimUid !== undefined && claimUid !== undefined && vm.claimUid !== claimUid)
}
