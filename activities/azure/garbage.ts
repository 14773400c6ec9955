import type { VirtualMachine } from '@azure/arm-compute'
import type { NetworkInterface } from '@azure/arm-network'
import { isTrue } from '../../core/conditions.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { isNotFound } from '../kubernetes/client.ts'
import { subject } from '../kubernetes/event-recorder.ts'
import { resourcePath } from '../kubernetes/resources.ts'
import { isMissing } from './azure-error.ts'
import { claimUidLabel, deleteBootstrapTokens, listBootstrapTokens } from './bootstrap-token.ts'
import { deleteVm, getVm } from './claim-vm.ts'
import type { GarbageReport } from './contract.ts'
import type { AzureDeps } from './dependencies.ts'
import { claimNameOf, providerId, tagKeys, vmName } from './virtual-machine.ts'

/** A VM that names no claim's UID may be so young that its claim does not say so yet (Karpenter's own grace). */
const graceMs = 5 * 60_000

/**
 * What no lifecycle owns: VMs of this cluster without a NodeClaim, their NICs, registered NodeClaims without a VM, tokens without a claim.
 * Finding any is an alarm: lifecycles clean up after themselves. All is listed before claims are read, since a claim always exists
 * before what is made for it; and a claim is read live before its VM is deleted.
 */
export async function collectGarbage(deps: AzureDeps): Promise<GarbageReport> {
  const vms = await ownVms(deps)
  const nics = await ownNics(deps)
  const tokens = await listBootstrapTokens(deps.client, claimUidLabel)
  await deps.cache.catchUp(['NodeClaim', 'Node'])
  const claims = new Map([...deps.cache.nodeClaims.values()].map((claim) => [claim.metadata.uid, claim]))
  // A node that has joined needs its token no more: to delete it is housekeeping, not an alarm.
  await deleteBootstrapTokens(
    deps.client,
    tokens.filter(({ claimUid }) => {
      const claim = claims.get(claimUid)
      return claim !== undefined && isRegistered(claim)
    }),
  )
  const report: GarbageReport = {
    virtualMachines: await orphanedVms(deps, vms),
    networkInterfaces: await orphanedNics(deps, vms, nics),
    nodeClaims: await claimsWithoutVm(deps, vms),
    bootstrapTokens: await deleteBootstrapTokens(
      deps.client,
      tokens.filter(({ claimUid }) => !claims.has(claimUid)),
    ),
  }
  if (Object.values(report).some((found: readonly string[]) => found.length > 0))
    deps.log.warn(report, 'garbage collection found what no lifecycle had cleaned up')
  return report
}

const isRegistered = (claim: NodeClaim) => isTrue(claim.status.conditions, 'Registered')

async function ownVms(deps: AzureDeps): Promise<readonly VirtualMachine[]> {
  const found: VirtualMachine[] = []
  for await (const vm of deps.azure.compute.virtualMachines.list(deps.config.nodeResourceGroup)) {
    const mine =
      vm.tags?.[tagKeys.cluster] === deps.config.clusterName &&
      (vm.tags[tagKeys.nodePool] !== undefined || vm.tags[tagKeys.claimUid] !== undefined)
    if (mine) found.push(vm)
  }
  return found
}

async function ownNics(deps: AzureDeps): Promise<readonly NetworkInterface[]> {
  const found: NetworkInterface[] = []
  for await (const nic of deps.azure.network.networkInterfaces.list(deps.config.nodeResourceGroup)) {
    if (nic.tags?.[tagKeys.cluster] === deps.config.clusterName && nic.tags[tagKeys.claimUid] !== undefined)
      found.push(nic)
  }
  return found
}

async function orphanedVms(deps: AzureDeps, vms: readonly VirtualMachine[]): Promise<readonly string[]> {
  const deleted: string[] = []
  for (const vm of vms) {
    const name = vm.name ?? ''
    const age = deps.now() - (vm.timeCreated?.getTime() ?? deps.now())
    const young = vm.tags?.[tagKeys.claimUid] === undefined && age < graceMs
    if (young || vm.provisioningState === 'Deleting' || (await hasClaim(deps, vm))) continue
    await deleteVm(deps, claimNameOf(name))
    deleted.push(name)
  }
  return deleted
}

/** Whether a live claim owns the VM: the one of its name, with its UID where the VM says one. */
async function hasClaim(deps: AzureDeps, vm: VirtualMachine): Promise<boolean> {
  try {
    const claim = await deps.client.get(resourcePath('nodeclaims', claimNameOf(vm.name ?? '')))
    const owner = vm.tags?.[tagKeys.claimUid]
    return owner === undefined || owner === (claim['metadata'] as { uid: string }).uid
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

async function orphanedNics(
  deps: AzureDeps,
  vms: readonly VirtualMachine[],
  nics: readonly NetworkInterface[],
): Promise<readonly string[]> {
  const alive = new Set(vms.map((vm) => vm.name))
  const claims = new Set([...deps.cache.nodeClaims.values()].map((claim) => claim.metadata.uid))
  const deleted: string[] = []
  for (const nic of nics) {
    const name = nic.name ?? ''
    const used = nic.virtualMachine !== undefined || alive.has(name.replace(/-\d+$/, ''))
    if (used || claims.has(nic.tags?.[tagKeys.claimUid] ?? '')) continue
    try {
      await deps.azure.network.networkInterfaces.delete(deps.config.nodeResourceGroup, name)
      deleted.push(name)
    } catch (error) {
      if (!isMissing(error))
        deps.log.warn({ err: error, nic: name }, 'an unused NIC could not be deleted; the next pass tries again')
    }
  }
  return deleted
}

/** Registered claims whose VM is gone and whose Node is not ready: the VM is read singly first (reference/karpenter-core.md 5.2). */
async function claimsWithoutVm(deps: AzureDeps, vms: readonly VirtualMachine[]): Promise<readonly string[]> {
  const listed = new Set(vms.map((vm) => claimNameOf(vm.name ?? '')))
  const deleted: string[] = []
  for (const claim of deps.cache.nodeClaims.values()) {
    const { name, uid, deletionTimestamp } = claim.metadata
    if (listed.has(name) || deletionTimestamp !== undefined || !isRegistered(claim)) continue
    const [node] = deps.cache.nodes.by('byProviderId', providerId(deps.config, name).toLowerCase())
    if (node !== undefined && isTrue(node.conditions, 'Ready')) continue
    if ((await getVm(deps, name)) !== undefined) continue
    deps.events.record({
      about: subject(claim),
      reason: 'GarbageCollected',
      message: `VM ${vmName(name)} is gone; the NodeClaim is deleted`,
    })
    await deps.client.delete(resourcePath('nodeclaims', name), { uid }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error
    })
    deleted.push(name)
  }
  return deleted
}
