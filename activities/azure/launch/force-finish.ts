import { askedText } from '../../../core/node-claim/node-requests.ts'
import { liveClaim } from '../../kubernetes/client/object-writes.ts'
import { type FinalizeDeps, finalize } from '../../kubernetes/draining/finalize.ts'
import { type NodeRequestsDeps, reportAsked } from '../../kubernetes/lifecycle/node-requests.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import type { AzureActivities, ForceFinishOutcome } from '../contract.ts'
import { instanceOf } from '../machines/instance-of.ts'
import { revokeBootstrapToken } from './bootstrap-token.ts'
import type { ClaimInstance } from './claim-instance.ts'
import type { ClaimVmDeps } from './claim-vm.ts'
import { tagKeys } from './tags.ts'

export interface ForceFinishDeps extends NodeRequestsDeps, FinalizeDeps, ClaimVmDeps {}

type Input = Parameters<AzureActivities['forceFinish']>[0]

/**
 * Ends the lifecycle of a claim that hangs in its deletion: pods and volumes are not waited for. It never guesses about the VM. One that exists,
 * or whose state is unknown, is left behind only on the operator's request, tagged for garbage collection. Run again it goes on from the current
 * state. Where the VM is gone (`isVmGone`), the lifecycle has the role core run the last step.
 */
export async function forceFinish(deps: ForceFinishDeps, input: Input): Promise<ForceFinishOutcome> {
  const outcome = await finish(deps, input)
  const { claim, asked } = input
  const why = askedText(asked)
  if (outcome.kind === 'refused')
    reportAsked(deps, claim, {
      reason: 'ForceFinishRefused',
      message: `Not ended by force${why}; ${outcome.message}`,
      asked,
    })
  else {
    const left = outcome.left === undefined ? '' : `; ${outcome.left}`
    reportAsked(deps, claim, { reason: 'ForceFinished', message: `Ended by force${why}${left}`, asked })
  }
  deps.log.warn({ nodeClaim: claim.name, ...asked, ...outcome }, 'force-finished nodeclaim')
  return outcome
}

async function finish(deps: ForceFinishDeps, { claim: ref, asked, leaveVm }: Input): Promise<ForceFinishOutcome> {
  const refused = (message: string) => ({ kind: 'refused' as const, message })
  // A signal can come without one; an update is rejected before.
  if (asked.reason === undefined)
    return refused('the message gives no reason, and without one the lifecycle is not ended')
  const claim = await liveClaim(deps, ref)
  if (claim === undefined) return { kind: 'finished' }
  if (claim.metadata.deletionTimestamp === undefined)
    return refused(
      `NodeClaim ${ref.name} is not being deleted, and what lives is not ended by force; delete it first, so that its pods can move: kubectl delete nodeclaim ${ref.name} --wait=false`,
    )
  const instance = instanceOf(deps, claim)
  const found = await look(instance)
  if (found.kind !== 'gone' && !leaveVm) return refused(`${found.message}; ${remedy}`)
  const left =
    found.kind === 'gone' ? {} : await abandon(deps, { instance, found }, { name: ref.name, atMs: asked.atMs })
  await revokeBootstrapToken(deps.client, ref.uid)
  // Its pods run nowhere. The role core deletes them with the finalizers; only it may do that.
  if (found.kind === 'gone' && found.isNowhere) return { kind: 'finished', isVmGone: true }
  await finalize(deps, ref)
  return { kind: 'finished', ...left }
}

const remedy =
  'let Azure delete it (its deletion is tried again: joiner node retry), or leave it to garbage collection by --leave-vm ("leaveVm": true)'

type Look =
  /** `isNowhere`: no other claim has a VM of that name either, so its pods run nowhere. */
  | { readonly kind: 'gone'; readonly isNowhere: boolean }
  | { readonly kind: 'exists'; readonly message: string }
  /** The claim's status names a VM that is not proven to be its own: it is never touched. */
  | { readonly kind: 'unproven'; readonly message: string }
  | { readonly kind: 'unknown'; readonly message: string }

/** Reads the VM. One that is not proven to be the claim's, and that its status does not name, does not concern this claim. */
async function look(instance: ClaimInstance): Promise<Look> {
  try {
    const found = await instance.find()
    const unproven = instance.unproven(found)
    if (unproven !== undefined) return { kind: 'unproven', message: unproven }
    if (found.kind !== 'own') return { kind: 'gone', isNowhere: found.kind === 'none' }
    const state = found.state === undefined ? '' : ` (${found.state})`
    return { kind: 'exists', message: `${instance.called} exists${state}` }
  } catch (error) {
    return { kind: 'unknown', message: `whether ${instance.called} exists is not known: ${scrubbedMessage(error)}` }
  }
}

/**
 * Tags a VM as abandoned. One that Azure does not let be tagged is left all the same, on the operator's request: it carries the UID of
 * a claim that is gone, which makes it garbage as well.
 */
async function abandon(
  { log }: ForceFinishDeps,
  { instance, found }: { readonly instance: ClaimInstance; readonly found: Exclude<Look, { kind: 'gone' }> },
  { name, atMs }: { readonly name: string; readonly atMs: number },
): Promise<{ readonly vm?: string; readonly left: string }> {
  if (found.kind === 'unproven') return { left: `its VM stays as it is: ${found.message}` }
  const { id } = instance
  const left = `${instance.kind} ${id} is left to garbage collection`
  const warn = (why: string) => ({
    vm: id,
    left: `${left}, not tagged ${tagKeys.abandoned} (${why}); look whether it goes, else delete it by hand: ${instance.deletedBy}`,
  })
  if (found.kind === 'unknown') return warn(found.message)
  try {
    await instance.abandon(atMs)
    return { vm: id, left }
  } catch (error) {
    log.warn({ nodeClaim: name, reason: scrubbedMessage(error) }, 'failed to tag abandoned VM')
    return warn(scrubbedMessage(error))
  }
}
