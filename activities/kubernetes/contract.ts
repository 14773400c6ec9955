import type { CommandTerms } from '../../core/disruption/command.ts'
import type { Leaving, VmSpan } from '../../core/history/life.ts'
import type { PodCounts } from '../../core/machines-in-use.ts'
import type { DrainReported, DrainWaits } from '../../core/node-claim/drain-waits.ts'
import type { Steady, Wake } from '../../core/node-claim/lifecycle.ts'
import type { Limits } from '../../core/node-claim/limits.ts'
import type { WantedHold } from '../../core/node-claim/node-requests.ts'
import type { RebootFailure } from '../../core/node-repair/reboot.ts'
import type { Lift } from '../../core/pauses/pause-requests.ts'
import type { LoopName, Pause } from '../../core/pauses/pauses.ts'

/** The NodeClaim of a lifecycle. The UID distinguishes it from a later claim of the same name. */
export interface ClaimRef {
  readonly name: string
  readonly uid: string
}

/** A step of a lifecycle whose time is limited. */
export interface StepInput {
  readonly claim: ClaimRef
  /** Epoch ms: when the step before ended. What passed since then is no step's time. Unset when that is unknown. */
  readonly idleSinceMs?: number
}

/** When a step ended, epoch ms, for the next one's `idleSinceMs`. */
export interface Ended {
  readonly endedMs?: number
}

/** The next step of a lifecycle that is not inside a longer activity. */
export type NextStep =
  /** `idleSinceMs`: epoch ms, as in `StepInput`, for the first attempt. */
  | { readonly kind: 'launch'; readonly idleSinceMs?: number }
  /** The claim was launched before (by an earlier run, or by Karpenter): go on with its registration. */
  | { readonly kind: 'awaitRegistration' }
  | { readonly kind: 'awaitInitialization' }
  /** Its VM is to reboot, or reboots. */
  | { readonly kind: 'reboot' }
  /** Nothing to do until something changes or `wakeAtMs` has come: expiry, or what `wakeFor` names. */
  | Steady
  /** `isDrained`: no pod was left on its Nodes, and nothing holds up their VM. */
  | { readonly kind: 'terminate'; readonly isDrained?: true }
  /** The claim is gone, or its name belongs to another claim now. */
  | { readonly kind: 'finished' }

/** A step with the labels that the Temporal UI shows. */
export interface Observation extends Partial<Leaving> {
  readonly step: NextStep
  readonly nodePool?: string
  readonly nodeName?: string
  readonly instanceType?: string
  readonly capacityType?: string
  readonly zone?: string
  /** The VM that was launched for the claim. */
  readonly vm?: VmSpan
  /** A hold that is in force, in words. */
  readonly hold?: string
  /** When its Node registered and became ready, epoch ms. */
  readonly registeredMs?: number
  readonly readyMs?: number
}

/** An operator's request to a lifecycle, published in an event. */
export interface Asked {
  /** Epoch ms. */
  readonly atMs: number
  readonly by?: string
  readonly reason?: string
}

export type HoldOutcome =
  /** `message`: the state now, in words. */
  | { readonly kind: 'written'; readonly message: string }
  /** The claim is gone or being deleted: a hold does not stop that. */
  | { readonly kind: 'late'; readonly message: string }

/** What came of the cancellation of a lifecycle in Temporal. `late`: its claim was being deleted before, or is gone. */
export type CancellationOutcome =
  | { readonly kind: 'deleted' | 'late' }
  | { readonly kind: 'refused'; readonly message: string }

export type RegistrationOutcome =
  | { readonly kind: 'registered'; readonly nodeName: string; readonly registeredMs?: number }
  | { readonly kind: 'timeout'; readonly message: string }
  | { readonly kind: 'claimGone' }
  /** The claim expired, or its VM is about to end: observe again. */
  | { readonly kind: 'observeAgain' }

export type InitializationOutcome =
  | ({ readonly kind: 'initialized'; readonly readyMs?: number } & Wake)
  | { readonly kind: 'claimGone' }
  /** The claim expired, its VM is about to end, or its Node was sick for too long: observe again. */
  | { readonly kind: 'observeAgain' }

/** `pods`: how many this call has evicted. */
export type DrainOutcome =
  | { readonly kind: 'drained'; readonly pods: number }
  /** The claim never had a Node, or its Node is gone already. */
  | { readonly kind: 'noNode' }
  /** Goes on when it is called again; `waits` says what it waits for now. */
  | { readonly kind: 'waiting'; readonly waits: DrainWaits; readonly pods?: number }
  /** No Node of the claim is ready. If its VM is gone there is nothing to drain; if not, call again. */
  | { readonly kind: 'notReady'; readonly pods?: number }

interface FailedReboot {
  readonly kind: 'failed'
  readonly result: RebootFailure
  readonly message: string
}

export interface RebootInput extends StepInput {
  readonly limits?: Limits['reboot']
}

export type PreparedReboot =
  /** Its pods have left, or their time is over. */
  | { readonly kind: 'drained' }
  /** Azure has accepted the restart. */
  | { readonly kind: 'issued' }
  | FailedReboot
  /** There is no reboot any more, or the claim ends for another reason: observe again. */
  | { readonly kind: 'over' }

export type RebootOutcome = { readonly kind: 'rebooted' } | FailedReboot | { readonly kind: 'over' }

/** Why a claim is ended by its own lifecycle: the reason label of `karpenter_nodeclaims_disrupted_total`. */
export type GiveUpReason =
  | 'insufficient_capacity'
  | 'nodeclass_not_ready'
  | 'invalid_nodeclaim'
  | 'launch_timeout'
  | 'registration_timeout'

export type GiveUpOutcome =
  /** The claim is deleted, or was gone. */
  | { readonly kind: 'ended' }
  /** Its Node has registered by now, or the claim that no VM was found for has one. */
  | { readonly kind: 'kept' }

/** An operator's request to a loop: a pause, or to lift some. With neither, the time of the whole loop's pause is over. */
export interface PauseChange {
  readonly loop: LoopName
  readonly pause?: Pause
  readonly lift?: Lift
}

/** Result of writing a pause. */
export interface PausesWritten {
  /** The pauses in force that a resume ended. */
  readonly lifted: readonly Pause[]
  /** All pauses of the loop that are in force now. */
  readonly inForce: readonly Pause[]
}

/** A node that is to be disrupted. */
export interface CandidateRef extends ClaimRef {
  readonly nodePool: string
  readonly nodeName: string
}

/** A disruption command, as its activities need it. */
export interface CommandWork extends CommandTerms {
  readonly commandId: string
  readonly candidates: readonly CandidateRef[]
  readonly replacements: readonly ClaimRef[]
}

export type ReplacementOutcome =
  | { readonly kind: 'ready' }
  /** A replacement is gone or being deleted. */
  | { readonly kind: 'lost'; readonly message: string }
  | { readonly kind: 'late'; readonly message: string }

export type DeletionOutcome =
  | { readonly kind: 'deleted' }
  /** The last validation forbids it; nothing was deleted. */
  | { readonly kind: 'refused'; readonly message: string }

export interface KubernetesActivities {
  /**
   * Reads the claim and its Node and returns the next step. Makes sure that the finalizer is set. Deletes a claim that expired, whose VM is about to
   * end, or whose Node was sick for too long. Ends the drain of empty Nodes. `retried`: the wait that an operator cut short for this call.
   */
  observe(input: {
    readonly claim: ClaimRef
    readonly retried?: Asked & { readonly what: string }
  }): Promise<Observation>
  /** Puts an operator's hold on the claim, or removes the one that is there. */
  writeHold(input: {
    readonly claim: ClaimRef
    readonly hold?: WantedHold
    readonly asked: Asked
  }): Promise<HoldOutcome>
  /** Deletes the claim of a lifecycle that was cancelled in Temporal, unless a hold, a pause, a budget or too many of them forbid it. */
  takeCancellation(input: { readonly claim: ClaimRef; readonly asked: Asked }): Promise<CancellationOutcome>
  /** Waits until the Node is ready, free of startup taints and has its resources; then Initialized is True. */
  awaitInitialization(input: { readonly claim: ClaimRef }): Promise<InitializationOutcome>
  /** Taints the Node of a claim that is to reboot, and evicts its pods for as long as they may take. */
  prepareReboot(input: RebootInput): Promise<PreparedReboot & Ended>
  /** Waits until a restarted VM has booted and its Node is ready. */
  awaitReboot(input: RebootInput): Promise<RebootOutcome>
  /** Ends a claim whose reboot failed: event, then deletion of the claim. */
  endReboot(input: {
    readonly claim: ClaimRef
    readonly failure: { readonly result: RebootFailure; readonly message: string }
  }): Promise<void>
  /** Ends a claim that cannot become a node: event, then deletion of the claim. */
  giveUp(input: {
    readonly claim: ClaimRef
    readonly reason: GiveUpReason
    readonly message: string
  }): Promise<GiveUpOutcome>
  /** Taints the Nodes, evicts their pods tier by tier and waits for the volumes. `reported`: what the caller knows; only changes are returned. */
  drain(input: { readonly claim: ClaimRef; readonly reported: DrainReported }): Promise<DrainOutcome>
  /** Removes the finalizers of Nodes and claim; the last step of a lifecycle. `isVmGone`: before that, the pods that were not drained. */
  finalize(input: { readonly claim: ClaimRef; readonly isVmGone: boolean }): Promise<void>
  /** Writes or clears pauses where every planner reads them, and shows them on the objects that they cover. */
  writePause(input: PauseChange): Promise<PausesWritten>
  /** Returns the pauses in the cluster: a new run of a loop starts from them. `pause` is of the whole loop. */
  readPause(input: {
    readonly loop: LoopName
  }): Promise<{ readonly pause?: Pause; readonly partial?: readonly Pause[] }>
  /**
   * Waits until the replacements of a command have been initialized, at most until `readyByMs` (epoch ms) and for as long as no worker could wait since
   * `idleSinceMs`, the commit.
   */
  awaitReplacements(input: {
    readonly replacements: readonly ClaimRef[]
    readonly readyByMs: number
    readonly idleSinceMs?: number
  }): Promise<ReplacementOutcome>
  /** Validates a command's NodeClaims a last time, deletes them and waits until they are gone. */
  deleteCandidates(input: CommandWork): Promise<DeletionOutcome>
  /**
   * Counts the pods on Nodes whose NodeClaim is lost, except those of DaemonSets. Nodes without any are tainted, so that their VMs can be deleted
   * before a pod comes.
   */
  taintIdleNodes(input: { readonly nodes: readonly string[] }): Promise<PodCounts>
  /** Removes taints, conditions and stamps of a command, and gives up replacements that nothing uses. */
  undoCommand(input: CommandWork): Promise<void>
}
