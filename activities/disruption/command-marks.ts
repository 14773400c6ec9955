import { conditionOf } from '../../core/conditions.ts'
import type { Node, NodeClaim } from '../../core/objects.ts'
import { annotations, taintKeys } from '../../core/requirements/labels.ts'
import { sameTaint } from '../../core/taints.ts'
import { forEachOf } from '../concurrency.ts'
import { cachedClaim, setClaimConditions, updateClaim, updateNode } from '../kubernetes/client/object-writes.ts'
import { stampOf } from '../kubernetes/commands/command-objects.ts'
import type { CandidateRef, ClaimRef } from '../kubernetes/contract.ts'
import { claimNode, type ObserveDeps } from '../kubernetes/lifecycle/observe.ts'
import type { DisruptionProposal } from './contract.ts'

const concurrency = 16
const disrupted = { key: taintKeys.disrupted, effect: 'NoSchedule' } as const

const isTainted = ({ taints }: Node) => taints.some((taint) => sameTaint(taint, disrupted))

/** What a command writes onto its candidates: a taint and a condition first, its stamp last. */
export class CommandMarks {
  readonly #deps: ObserveDeps
  readonly #proposal: Pick<DisruptionProposal, 'id' | 'reason'>

  constructor(deps: ObserveDeps, proposal: Pick<DisruptionProposal, 'id' | 'reason'>) {
    this.#deps = deps
    this.#proposal = proposal
  }

  isStamped(ref: CandidateRef): boolean {
    const claim = cachedClaim(this.#deps, ref)
    return claim !== undefined && claim.metadata.deletionTimestamp === undefined && stampOf(claim) === this.#proposal.id
  }

  /** Whether a candidate has taint and condition. */
  isMarked(ref: CandidateRef): boolean {
    const claim = cachedClaim(this.#deps, ref)
    const node = claim && claimNode(this.#deps, claim)
    return claim !== undefined && node !== undefined && this.#saysWhy(claim) && isTainted(node)
  }

  #saysWhy({ status }: NodeClaim): boolean {
    return conditionOf(status.conditions, 'DisruptionReason')?.reason === this.#proposal.reason
  }

  /** Taints a candidate's Node and says why on its claim. What is gone by now is found by the look that follows. */
  async mark(ref: ClaimRef): Promise<void> {
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

  /** Stamps candidates with the command. Returns the name of one that is gone or being deleted. */
  async stamp(candidates: readonly CandidateRef[]): Promise<string | undefined> {
    const { id } = this.#proposal
    let lost: string | undefined
    await forEachOf(candidates, concurrency, async (ref) => {
      const after = await updateClaim(this.#deps, ref, (current) =>
        stampOf(current) === id ? undefined : { metadata: { annotations: { [annotations.disruptionCommand]: id } } },
      )
      if (after === undefined || after.metadata.deletionTimestamp !== undefined) lost = ref.name
    })
    return lost
  }
}
