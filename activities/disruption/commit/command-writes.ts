import { conditionOf, isTrue } from '../../../core/conditions.ts'
import type { CommandRepair, DisruptionCommand } from '../../../core/disruption/command.ts'
import { replacesAnnotation } from '../../../core/history/claim-facts.ts'
import { replacementName } from '../../../core/node-claim/node-names.ts'
import { rebootTraces } from '../../../core/node-repair/reboot.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { type Pause, type Pauses, pauseText } from '../../../core/pauses/pauses.ts'
import { annotations, taintKeys } from '../../../core/requirements/labels.ts'
import { sameTaint } from '../../../core/taints.ts'
import { forEachOf } from '../../concurrency.ts'
import {
  cachedClaim,
  liveClaim,
  setClaimConditions,
  updateClaim,
  updateNode,
} from '../../kubernetes/client/object-writes.ts'
import { lockedPatch } from '../../kubernetes/client/optimistic-write.ts'
import type { CommandObjectsDeps } from '../../kubernetes/commands/command-objects.ts'
import { releaseCandidate, releaseReplacement, stampOf } from '../../kubernetes/commands/command-objects.ts'
import type { CandidateRef, ClaimRef } from '../../kubernetes/contract.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { claimNode } from '../../kubernetes/lifecycle/claim-nodes.ts'
import type { PauseDeps } from '../../kubernetes/pauses/pauses.ts'
import { readPauses } from '../../kubernetes/pauses/pauses.ts'
import type { CreateClaimsDeps } from '../../provisioning/create-claims.ts'
import { createOne, startLifecycle } from '../../provisioning/create-claims.ts'
import type { Fence } from '../../provisioning/fence.ts'
import type { PoolLimits } from '../../provisioning/pool-limits.ts'
import type { DisruptionProposal } from '../contract.ts'
import { commandDigest } from '../proposals.ts'

export interface CommandWritesDeps extends CommandObjectsDeps, CreateClaimsDeps, PauseDeps {}

/** State that the proposals of one call share. */
export interface Shared {
  readonly fence: Fence
  readonly limits: PoolLimits
}

/** Why a proposal does not become a command. */
export interface Refusal {
  readonly reason: 'budget' | 'scheduling' | 'churn' | 'unknown'
  readonly message: string
  /** Whether the pool has no room for replacements, whichever node they are for. */
  readonly isOfPool?: boolean
}

/** Candidates marked between two reads of the pause. */
const batchSize = 10
const concurrency = 16
const disrupted = { key: taintKeys.disrupted, effect: 'NoSchedule' } as const
const isTainted = ({ taints }: Node) => taints.some((taint) => sameTaint(taint, disrupted))

/** Writes of a proposal that becomes a command: taints, conditions, replacements and stamps. All of them can be undone. */
export class CommandWrites {
  readonly #deps: CommandWritesDeps
  readonly #shared: Shared
  readonly #proposal: DisruptionProposal

  constructor(deps: CommandWritesDeps, shared: Shared, proposal: DisruptionProposal) {
    this.#deps = deps
    this.#shared = shared
    this.#proposal = proposal
  }

  /** Returns why a pause that covers one of these candidates now forbids the command; undefined when none does. */
  async paused(candidates: readonly CandidateRef[]): Promise<Refusal | undefined> {
    return this.pausedBy(await readPauses(this.#deps, this.#deps.now()), candidates)
  }

  /** Returns the same for pauses that were read already. */
  pausedBy(pauses: Pauses, candidates: readonly CandidateRef[]): Refusal | undefined {
    const { reason } = this.#proposal
    for (const { name, nodeName, nodePool } of candidates) {
      const pause: Pause | undefined = pauses.covering({ nodePool, node: nodeName, nodeClaim: name, reason })
      if (pause !== undefined) return { reason: 'unknown', message: pauseText('disruption', pause) }
    }
    return undefined
  }

  /** Returns whether a candidate carries the stamp of the command, also while it is being deleted for it. */
  isStamped(ref: CandidateRef): boolean {
    const claim = cachedClaim(this.#deps, ref)
    return claim !== undefined && stampOf(claim) === this.#proposal.id
  }

  /** Returns whether a candidate has taint and condition. */
  isMarked(ref: CandidateRef): boolean {
    const claim = cachedClaim(this.#deps, ref)
    const node = claim && claimNode(this.#deps, claim)
    return claim !== undefined && node !== undefined && this.#saysWhy(claim) && isTainted(node)
  }

  /** Returns replacements that carry the command's id. */
  replacements(): readonly NodeClaim[] {
    return [...this.#deps.cache.nodeClaims.values()].filter(
      ({ metadata }) => metadata.annotations[annotations.replacementFor] === this.#proposal.id,
    )
  }

  /** Writes taints and conditions, some at a time, so that a pause that comes in between applies. */
  async mark(candidates: readonly CandidateRef[]): Promise<Refusal | undefined> {
    for (let at = 0; at < candidates.length; at += batchSize) {
      const paused = at > 0 ? await this.paused(candidates) : undefined
      if (paused !== undefined) return paused
      await this.#shared.fence.checkIfStale()
      await forEachOf(candidates.slice(at, at + batchSize), batchSize, (ref) => this.#markOne(ref))
    }
    return undefined
  }

  /** Creates the replacements of a command. Returns them, or why one of them cannot be created. */
  async replace({ replacements }: DisruptionCommand): Promise<readonly ClaimRef[] | Refusal> {
    const { id, reason } = this.#proposal
    const refs: ClaimRef[] = []
    for (const [at, planned] of replacements.entries()) {
      const made = await createOne(this.#deps, this.#shared, {
        planned,
        name: replacementName(planned.nodePool, commandDigest(id), at),
        annotations: {
          [annotations.replacementFor]: id,
          ...replacesAnnotation(this.#proposal.candidates.map((ref) => ref.name)),
        },
        reason: reason.toLowerCase(),
      })
      if (made.kind !== 'created') {
        const why = made.kind === 'poolGone' ? `NodePool ${planned.nodePool} is gone` : made.message
        const message = `no replacement can be created: ${why}`
        return { reason: 'scheduling', message, isOfPool: made.kind === 'poolGone' || made.kind === 'limitExceeded' }
      }
      await startLifecycle(this.#deps, made.claim)
      const { name, uid } = made.claim.metadata
      refs.push({ name, uid })
      const message = `Launching NodeClaim: ${reason}`
      this.#deps.events.record({ about: subject(made.claim), reason: 'DisruptionLaunching', message })
    }
    return refs
  }

  /** Leaves the node to its lifecycle, which reboots the VM. It gets neither taint nor stamp here: the node stays, and returns. */
  async requestReboot({ condition, why, boundMs }: CommandRepair): Promise<Refusal | undefined> {
    const [ref] = this.#proposal.candidates as readonly [CandidateRef]
    const paused = await this.paused([ref])
    if (paused !== undefined) return paused
    await this.#shared.fence.checkIfStale()
    // A reboot that is under way keeps its traces and its phase: without them its VM would restart twice. The cache may not know of it.
    const live = await liveClaim(this.#deps, ref)
    if (live !== undefined && isTrue(live.status.conditions, 'Rebooting')) return undefined
    const bound = boundMs === undefined ? null : `${boundMs / 1000}s`
    await updateClaim(this.#deps, ref, () => ({
      metadata: { annotations: { ...rebootTraces, [annotations.rebootBound]: bound } },
    }))
    const { reason } = this.#proposal
    const message = `rebooting for ${condition}/${why}`
    const claim = await setClaimConditions(this.#deps, ref, ({ metadata }) =>
      metadata.deletionTimestamp === undefined
        ? {
            conditions: [
              { type: 'DisruptionReason', status: 'True', reason, message: reason },
              { type: 'Rebooting', status: 'True', reason: 'RebootRequested', message },
            ],
          }
        : undefined,
    )
    return this.isRebooting(ref) && claim !== undefined ? undefined : deletedElsewhere(ref.name)
  }

  isRebooting(ref: CandidateRef): boolean {
    return isTrue(cachedClaim(this.#deps, ref)?.status.conditions ?? [], 'Rebooting')
  }

  /** Writes the stamps, which make nodes count as leaving. */
  async stamp(candidates: readonly CandidateRef[]): Promise<Refusal | undefined> {
    const { id } = this.#proposal
    let refusal: Refusal | undefined
    await this.#shared.fence.checkIfStale()
    await forEachOf(candidates, concurrency, async (ref) => {
      // While this command was begun in part the next planner may have given the node to another one.
      const after = await updateClaim(this.#deps, ref, (current) =>
        stampOf(current) === undefined
          ? lockedPatch({ metadata: { annotations: { [annotations.disruptionCommand]: id } } }, current.metadata)
          : undefined,
      )
      if (after === undefined || after.metadata.deletionTimestamp !== undefined) refusal = deletedElsewhere(ref.name)
      else if (stampOf(after) !== id) refusal = takenElsewhere(ref.name, stampOf(after))
    })
    return refusal
  }

  /** Removes taint, condition and stamp from candidates. */
  async release(candidates: readonly CandidateRef[]): Promise<void> {
    await forEachOf(candidates, concurrency, async (ref) => {
      await releaseCandidate(this.#deps, ref, { commandId: this.#proposal.id, unstamped: true })
    })
  }

  /** Undoes everything, also writes of an earlier attempt. */
  async undo(): Promise<void> {
    await this.release(this.#proposal.candidates)
    await forEachOf(this.replacements(), concurrency, async (claim) => {
      await releaseReplacement(this.#deps, claim.metadata, { commandId: this.#proposal.id })
    })
  }

  #saysWhy({ status }: NodeClaim): boolean {
    return conditionOf(status.conditions, 'DisruptionReason')?.reason === this.#proposal.reason
  }

  /** Marks a candidate. The validation that follows finds candidates that are gone by now. */
  async #markOne(ref: ClaimRef): Promise<void> {
    const { reason } = this.#proposal
    const claim = this.#deps.cache.nodeClaims.get(ref.name)
    const node = claim && claimNode(this.#deps, claim)
    if (node === undefined) return
    await Promise.all([
      updateNode(this.#deps, node.metadata.name, (current) =>
        isTainted(current) ? undefined : { spec: { taints: [...current.taints, disrupted] } },
      ),
      setClaimConditions(this.#deps, ref, (current) =>
        this.#saysWhy(current)
          ? undefined
          : { conditions: [{ type: 'DisruptionReason', status: 'True', reason, message: reason }] },
      ),
    ])
  }
}

function takenElsewhere(name: string, command = ''): Refusal {
  return { reason: 'churn', message: `NodeClaim ${name} belongs to command ${command} meanwhile` }
}

function deletedElsewhere(name: string): Refusal {
  return { reason: 'churn', message: `NodeClaim ${name} was deleted by somebody else meanwhile` }
}
