import type { VirtualMachine } from '@azure/arm-compute'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import { printableStart } from '../../../core/values/printable.ts'
import { pauseFor } from '../../activity-context.ts'
import { expecting } from '../../kubernetes/client/api-error.ts'
import { type ClaimNodesDeps, readNode } from '../../kubernetes/lifecycle/claim-nodes.ts'
import { isResourceGone } from '../arm/azure-error.ts'
import type { AzureParts } from '../parts.ts'
import { groupOfVm } from '../reservations/reservation.ts'
import { isTokenLost } from './bootstrap-token.ts'
import { type ClaimIdentity, vmOwner } from './ownership.ts'
import { tagKeys, tagOf } from './tags.ts'
import { providerId, vmName } from './virtual-machine.ts'

export type ClaimVmDeps = Pick<AzureParts, 'cache' | 'azure' | 'config' | 'vms' | 'cloudProvider'>

/** Delay before a VM that the list lacks and Azure still has is checked again. */
const lagMs = 1000

/** Longest wait for the list of VMs before an instance is read again itself: Azure may have given its deletion up. */
const rereadMs = 60_000

/** Longest name of a Linux VM in Azure. A NodeClaim may have a longer name, and then never has a VM. */
const longestVmName = 64

/**
 * Returns the VM of the claim's name as Azure has it now, whoever owns it; undefined when Azure says that there is no such VM.
 * Errors: whatever else ARM answers, a missing resource group or subscription included, which prove nothing about the VM.
 */
export function getVm(deps: ClaimVmDeps, claimName: string): Promise<VirtualMachine | undefined> {
  return getVmNamed(deps, vmName(claimName))
}

/** As `getVm`, by the name of the VM. */
export async function getVmNamed(deps: ClaimVmDeps, name: string): Promise<VirtualMachine | undefined> {
  // ARM answers such a name like a wrong path, which would prove nothing about the VM.
  if (name.length > longestVmName) return undefined
  return deps.cloudProvider.measure({ method: 'Get' }, async () => {
    const vm = deps.azure.compute.virtualMachines.get(deps.config.nodeResourceGroup, name)
    return vm.catch(expecting((error) => isResourceGone(error, name), undefined))
  })
}

/** Requests the deletion of the claim's VM, whose owner the caller has checked; NIC and disk go with it. Gone already is success. */
export async function deleteVm(deps: ClaimVmDeps, claimName: string): Promise<void> {
  const name = vmName(claimName)
  await deps.cloudProvider.measure({ method: 'Delete', nodePool: nodePoolOf(deps, claimName) }, async () => {
    await deps.azure.compute.virtualMachines
      .delete(deps.config.nodeResourceGroup, name, { forceDeletion: true })
      .submitted()
      .catch(expecting((error) => isResourceGone(error, name), undefined))
  })
}

/** Returns a claim's NodePool, or an empty text for a claim of no pool, or one that is gone. */
export function nodePoolOf({ cache }: ClaimVmDeps, claimName: string): string {
  return cache.nodeClaims.get(claimName)?.metadata.labels[labels.nodePool] ?? ''
}

/**
 * Waits until the claim's VM is gone, whose deletion was requested: the shared list does not show it, and a GET of this VM says that it does not exist. A
 * list alone proves nothing, since it may come from the wrong resource group or be incomplete. Errors: the VM is there and is not being deleted: Azure
 * gave the deletion up, or a late PUT made the VM again. The next try looks at the VM, and requests its deletion.
 */
export async function vmGone(deps: ClaimVmDeps, claimName: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    await unlisted(deps, vmName(claimName), signal)
    const vm = await getVm(deps, claimName)
    if (vm === undefined) return
    if (vm.provisioningState !== 'Deleting')
      throw new Error(
        `VM ${vmName(claimName)} is ${vm.provisioningState} though its deletion was requested; it is requested again`,
      )
    await pauseFor(lagMs, signal)
  }
}

/** Resolves when the shared list lacks a VM, or after a while. */
export async function unlisted({ vms }: ClaimVmDeps, vm: string, signal: AbortSignal): Promise<void> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), rereadMs)
  try {
    await vms.waitFor((snapshot) => (snapshot.has(vm) ? undefined : true), AbortSignal.any([signal, limit.signal]))
  } catch (error) {
    if (!limit.signal.aborted || signal.aborted) throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Returns a NodeClaim as a VM's tags name it. */
export function claimIdentity({ metadata }: Pick<NodeClaim, 'metadata'>): ClaimIdentity {
  const { uid, labels: own, annotations: noted } = metadata
  return { uid, nodePool: own[labels.nodePool], adoptedFrom: noted[annotations.adoptedFrom] }
}

/**
 * Whether a VM of a claim never joins: a try that saw no VM has replaced its bootstrap token since, the token was revoked, or etcd was restored to a time
 * before it. No order of requests excludes that, since a try may stand still before any of them: who takes a VM over asks, and who waits for its Node.
 * Not where its Node is there, nor where nothing says which token it holds: on Karpenter's VMs, and on one of a lost claim.
 */
export async function cannotJoin(deps: ClaimNodesDeps, claim: NodeClaim, { tags }: VirtualMachine): Promise<boolean> {
  const held = tagOf(tags, tagKeys.bootstrapToken)
  if (held === undefined || claimIdentity(claim).adoptedFrom !== undefined) return false
  if (!(await isTokenLost(deps.client, claim.metadata.uid, held))) return false
  // A Node that has joined has its token revoked, so it is looked for last.
  return (await readNode(deps, claim)) === undefined
}

/** The VM under the name of a claim's. `why` of a foreign VM follows "VM NAME". */
export type ClaimVm =
  | { readonly kind: 'none' }
  | { readonly kind: 'own'; readonly vm: VirtualMachine }
  | { readonly kind: 'foreign'; readonly why: string }

/** Reads a claim's VM and checks by its tags that it is the claim's. Errors: as `getVm`. */
export async function findClaimVm(deps: ClaimVmDeps, name: string, claim: ClaimIdentity): Promise<ClaimVm> {
  const vm = await getVm(deps, name)
  if (vm === undefined) return { kind: 'none' }
  const owner = vmOwner(vm, claim, deps.config)
  if (owner.kind === 'claim') return { kind: 'own', vm }
  return { kind: 'foreign', why: owner.kind === 'foreign' ? owner.why : 'belongs to an earlier NodeClaim of the name' }
}

/** Returns why the VM in a claim's status is not where its own would be, whatever Azure has. A claim without a provider id never had another VM. */
export function whyOtherVm(
  { config }: Pick<ClaimVmDeps, 'config'>,
  { metadata, status }: NodeClaim,
): string | undefined {
  const own = providerId(config, metadata.name)
  if (status.providerId === undefined || status.providerId.toLowerCase() === own.toLowerCase()) return undefined
  return `status.providerID "${printableStart(status.providerId, 300)}" names another VM than ${own}, which Joiner would have made; correct AZURE_NODE_RESOURCE_GROUP or ARM_SUBSCRIPTION_ID if they were changed, else status.providerID`
}

/**
 * Returns why the VM in a claim's status must be assumed to exist though Joiner cannot delete it. Undefined when nothing of the claim is left in
 * Azure after `found`, its own VM, has gone.
 */
export function unprovenVm(
  deps: ClaimVmDeps,
  claim: NodeClaim,
  found: Pick<ClaimVm, 'kind'> & { readonly why?: string },
): string | undefined {
  const isForeign = found.kind === 'foreign' && claim.status.providerId !== undefined
  const foreign = `VM ${vmName(claim.metadata.name)} ${found.why}, so Joiner does not delete it; restore its tags, or delete it`
  return whyOtherVm(deps, claim) ?? (isForeign ? foreign : undefined)
}

/** Returns how a VM was bought. */
export function capacityTypeOfVm(vm: VirtualMachine): 'spot' | 'on-demand' | 'reserved' {
  if (groupOfVm(vm) !== undefined) return 'reserved'
  return vm.priority === 'Spot' ? 'spot' : 'on-demand'
}
