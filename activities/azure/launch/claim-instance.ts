import type { NodeClaim } from '../../../core/objects.ts'
import type { ClaimRef } from '../../kubernetes/contract.ts'
import {
  type ClaimVm,
  type ClaimVmDeps,
  claimIdentity,
  deleteVm,
  findClaimVm,
  getVm,
  unprovenVm,
  vmGone,
  whyOtherVm,
} from './claim-vm.ts'
import type { ClaimIdentity } from './ownership.ts'
import { mergedTags, tagKeys } from './tags.ts'
import { vmId, vmName } from './virtual-machine.ts'

/** What Azure has of a NodeClaim. `why` of a foreign instance follows its name. */
export type FoundInstance =
  | { readonly kind: 'none' }
  | { readonly kind: 'own'; readonly state?: string; readonly isBeingDeleted: boolean }
  | { readonly kind: 'foreign'; readonly why: string }

export type InstanceKind = 'VM' | 'AKS machine'

/** What a NodeClaim runs on at Azure: a VM that Joiner made, or a machine of AKS with its VM. All methods throw what ARM answers otherwise. */
export interface ClaimInstance {
  readonly kind: InstanceKind
  /** As messages name it, such as `VM aks-a`. */
  readonly called: string
  /** ARM id. */
  readonly id: string
  /** The command by which an operator deletes it. */
  readonly deletedBy: string
  /** Reads it and checks that it is proven to be the claim's. */
  find(): Promise<FoundInstance>
  /** Whether a VM of its name exists, its owner does not matter. */
  vmExists(): Promise<boolean>
  /** Requests its deletion with all that belongs to it; its owner was checked by `find`. Gone already is success. */
  remove(): Promise<void>
  /** Waits until nothing of it is left. A deletion that Azure gave up is requested again, by this or, after an error, by the next try. */
  gone(signal: AbortSignal): Promise<void>
  /** Returns why what the claim's status names is not where its own would be; what Azure has does not matter. */
  elsewhere(): string | undefined
  /** Returns why something of the claim must be assumed to exist though Joiner cannot delete it. */
  unproven(found: FoundInstance): string | undefined
  /** Marks it as given up by an operator, where that is possible. */
  abandon(atMs: number): Promise<void>
}

/** Returns what a NodeClaim reports of an instance that is not proven to be its own: why, and how it can go all the same. */
export function unownedText({ metadata: { name } }: NodeClaim, why: string): string {
  return `${why}. Until that is corrected the NodeClaim keeps its finalizer; to give the VM up: kubectl delete nodeclaim ${name} --wait=false, then joiner node force-finish ${name} --leave-vm --reason TEXT`
}

/** The VM that Joiner makes for a claim. Of a claim that is gone only name and UID are known. */
export function vmInstance(deps: ClaimVmDeps, claim: NodeClaim | ClaimRef): ClaimInstance {
  const whole = 'metadata' in claim ? claim : undefined
  const { name, uid } = 'metadata' in claim ? claim.metadata : claim
  const identity: ClaimIdentity = whole === undefined ? { uid } : claimIdentity(whole)
  return {
    kind: 'VM',
    called: `VM ${vmName(name)}`,
    id: vmId(deps.config, name),
    deletedBy: `az vm delete --ids ${vmId(deps.config, name)}`,
    find: async () => foundVm(await findClaimVm(deps, name, identity)),
    vmExists: async () => (await getVm(deps, name)) !== undefined,
    remove: () => deleteVm(deps, name),
    gone: (signal) => vmGone(deps, name, signal),
    elsewhere: () => (whole === undefined ? undefined : whyOtherVm(deps, whole)),
    unproven: (found) => (whole === undefined ? undefined : unprovenVm(deps, whole, found)),
    abandon: async (atMs) => {
      const { azure, config } = deps
      const vm = await getVm(deps, name)
      const tags = mergedTags(vm?.tags ?? {}, { [tagKeys.abandoned]: new Date(atMs).toISOString() })
      await azure.compute.virtualMachines.update(config.nodeResourceGroup, vmName(name), { tags }).submitted()
    },
  }
}

function foundVm(found: ClaimVm): FoundInstance {
  if (found.kind !== 'own') return found
  const { provisioningState: state } = found.vm
  return { kind: 'own', ...(state === undefined ? {} : { state }), isBeingDeleted: state === 'Deleting' }
}
