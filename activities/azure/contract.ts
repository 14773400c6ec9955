import type { Adoption, AdoptionOutcome, AskedAdoption } from '../../core/adoption.ts'
import type { PodCounts } from '../../core/machines-in-use.ts'
import type { Limits } from '../../core/node-claim/limits.ts'
import type {
  Asked,
  ClaimRef,
  Ended,
  InitializationOutcome,
  PreparedReboot,
  RegistrationOutcome,
  StepInput,
} from '../kubernetes/contract.ts'

/** The outcome of one attempt to launch. Capacity outcomes are values (docs/architecture.md "Invariants"). */
export type LaunchOutcome =
  | {
      readonly kind: 'launched'
      readonly providerId: string
      readonly instanceType: string
      readonly zone: string
      readonly capacityType: string
      readonly imageId: string
      /** Epoch ms. */
      readonly acceptedMs: number
      /** USD an hour, as the price list says now; unset when it does not name the size. */
      readonly pricePerHour?: number
      /** The price is a model's: no price list was read yet. */
      readonly isEstimate?: true
      /** What came of the VM, if that was known soon. */
      readonly join?: JoinOutcome
    }
  /** Azure refused this offering; it is marked unavailable and the next attempt chooses another. */
  | {
      readonly kind: 'capacity'
      readonly reason: string
      readonly message: string
      readonly instanceType: string
      readonly zone: string
      readonly capacityType: string
    }
  /** No offering is left that satisfies the claim. */
  | { readonly kind: 'exhausted'; readonly message: string }
  /** The node class exists but is not ready, or is missing. */
  | { readonly kind: 'nodeClassNotReady'; readonly message: string }
  /** The claim holds a value that no node can have. */
  | { readonly kind: 'invalid'; readonly message: string }
  /** The time of this attempt is over, and its work with it. */
  | { readonly kind: 'late'; readonly message: string }
  /** The time of all attempts is over, and Azure says that there is no VM. */
  | { readonly kind: 'timeout' }
  /** The claim is being deleted, or gone, or has another UID. */
  | { readonly kind: 'claimGone' }

/** The outcome of the VM's asynchronous creation. */
export type InstanceOutcome =
  | { readonly kind: 'succeeded' }
  /** The VM failed after its PUT was accepted. A capacity failure has marked its offering unavailable. */
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string }
  | { readonly kind: 'vmGone' }
  | { readonly kind: 'claimGone' }

/** The outcome of an operator's request to end a lifecycle by force. */
export type ForceFinishOutcome =
  /**
   * The finalizers are gone. `vm`: resource id of a VM that was left, and is garbage from now on; `left`: the state of the VM, in words.
   * `isVmGone`: the finalizers are still there, and the lifecycle has them removed together with the pods, which run nowhere.
   */
  | { readonly kind: 'finished'; readonly vm?: string; readonly left?: string; readonly isVmGone?: true }
  /** Nothing was done. */
  | { readonly kind: 'refused'; readonly message: string }

/** The end of a claim's VM. */
export interface DeletionOfVm {
  readonly existed: boolean
  /** Epoch ms: when Azure said that there is no VM any more. */
  readonly goneMs: number
  /** The first request found no VM: somebody else ended it. */
  readonly wasGone?: true
}

/** The outcome of a VM that was accepted. `registered`: its Node has joined and is not ready yet. */
export type JoinOutcome =
  | Exclude<InstanceOutcome, { kind: 'succeeded' }>
  | RegistrationOutcome
  | (InitializationOutcome & { readonly kind: 'initialized' } & {
      readonly nodeName: string
      /** Epoch ms; unset when the claim went away meanwhile. */
      readonly registeredMs?: number
    })

export interface GarbageReport {
  /** VMs that had no NodeClaim and were deleted, by name. */
  readonly virtualMachines: readonly string[]
  /** NICs without a VM that were deleted. */
  readonly networkInterfaces: readonly string[]
  /** OS disks without a VM that were deleted. */
  readonly disks: readonly string[]
  /** Registered NodeClaims whose VM is gone and that were deleted. */
  readonly nodeClaims: readonly string[]
  /** Nodes that were being deleted and had neither NodeClaim nor VM; their finalizer was removed. */
  readonly nodes: readonly string[]
  /** AKS machines that had no NodeClaim and were deleted, by pool and name; unset where they are not managed. */
  readonly aksMachines?: readonly string[]
  /** Ready Nodes whose NodeClaim is lost: nothing of theirs is deleted or reported before it is known whether they run pods. Unset: none. */
  readonly undecided?: readonly string[]
  /** VMs that lost their NodeClaims and are to get them again now, of those that run pods. Unset: none. */
  readonly adopt?: readonly Adoption[]
}

export interface InPlaceReport {
  /** Number of VMs that were changed. Names would fill the history. */
  readonly updated: number
}

export interface AzureActivities {
  /**
   * Reads the claim, adopts its VM or PUTs one, and writes the claim's status. `attempt` counts from 1 and names NIC and disk. Ends by itself when the
   * time of the attempt or of all attempts is over. With `limitMs`, the time limit of a registration, it then waits for the Node as `awaitNode` does, as
   * long as most boots take.
   */
  launch(
    input: StepInput & { readonly attempt: number; readonly limits?: Limits['launch']; readonly limitMs?: number },
  ): Promise<LaunchOutcome & Ended>
  /** Returns whether Azure says that the claim's VM does not exist. */
  findInstance(input: { readonly claim: ClaimRef }): Promise<{ readonly exists: boolean }>
  /**
   * Waits, by the VM list that all waiting claims share, until the VM has failed, or its Node has joined and is registered. When the Node is ready
   * soon, waits until it is initialized.
   */
  awaitNode(input: StepInput & { readonly limitMs?: number }): Promise<JoinOutcome & Ended>
  /** Deletes the claim's VM, NIC and bootstrap token and waits until the VM is gone. `finalize`: then it removes the finalizers of Nodes and claim. */
  deleteInstance(input: { readonly claim: ClaimRef; readonly finalize: boolean }): Promise<DeletionOfVm>
  /** Restarts the claim's VM, once for each reboot. Resolves when Azure has accepted that. */
  restartInstance(input: StepInput): Promise<PreparedReboot & Ended>
  /** Ends the lifecycle of a deleting claim without waiting for pods and volumes. Its VM has to be gone, or is left with `leaveVm`. */
  forceFinish(input: {
    readonly claim: ClaimRef
    readonly asked: Asked
    readonly leaveVm: boolean
  }): Promise<ForceFinishOutcome>
}

export interface MaintenanceReport {
  readonly garbage?: GarbageReport
  readonly nodeClasses?: { readonly nodeClasses: number; readonly ready: number }
  readonly inPlace?: InPlaceReport
  /** What became of VMs that were to get their NodeClaims again. Unset: there were none. */
  readonly adopted?: readonly AdoptionOutcome[]
  /** Parts that failed, each with its error. */
  readonly failed: readonly string[]
}

export interface CountedPass {
  readonly counts: PodCounts
  readonly asked?: AskedAdoption
}

export interface MaintenanceActivities {
  /**
   * Runs all parts of maintenance. Garbage: deletes VMs, NICs and disks without a claim, and registered claims without a VM; releases Nodes that have
   * neither. Node classes: Kubernetes version, images, subnet and readiness of each AKSNodeClass; readiness, validation and hash of each NodePool. In
   * place: tags and identities of VMs and NICs as node classes and configuration request them now.
   * `counts`: what the role core answered about the Nodes that a pass left undecided; garbage is collected again, and nothing else is done. `asked`: what
   * an operator wants to be adopted now.
   */
  maintain(input?: CountedPass): Promise<MaintenanceReport>
}
