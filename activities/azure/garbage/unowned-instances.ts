import type { VirtualMachine } from '@azure/arm-compute'
import { conditionOf, instanceNotOwned, instanceOwned, isTrue, whyUnowned } from '../../../core/conditions.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { inParallel } from '../../concurrency.ts'
import { setClaimConditions } from '../../kubernetes/client/object-writes.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import { unownedText } from '../launch/claim-instance.ts'
import type { ClaimVmDeps } from '../launch/claim-vm.ts'
import { instanceOf } from '../machines/instance-of.ts'
import type { LeftAloneDeps } from './left-alone.ts'
import { listedInstance } from './listed-instance.ts'

export interface UnownedInstancesDeps extends LeftAloneDeps, ClaimVmDeps {}

/** What a pass has listed. `isInDoubt`: the list may be wrong as a whole, so no request is spent on single VMs. */
interface Listed {
  readonly listed: ReadonlyMap<string, VirtualMachine>
  readonly isInDoubt: boolean
}

/** Most requests at once. */
const width = 16

/**
 * Reports registered NodeClaims whose status names a VM that is not proven to be their own, when that begins: by the condition InstanceOwned, which
 * makes them not Ready, an event and a log line. Removes the condition when it is corrected. A termination says the same of them (ADR 21).
 */
export async function reportUnownedInstances(deps: UnownedInstancesDeps, found: Listed): Promise<void> {
  const claims = [...deps.cache.nodeClaims.values()].filter(({ status }) => isTrue(status.conditions, 'Registered'))
  await inParallel(claims, width, async (claim) => {
    try {
      const judged = await judge(deps, claim, found)
      if (judged !== undefined) await report(deps, claim, judged.why)
    } catch (error) {
      const fields = { nodeClaim: claim.metadata.name, reason: scrubbedMessage(error) }
      deps.log.warn(fields, 'failed to check the VM of nodeclaim, retrying in the next pass')
    }
  })
}

/**
 * Returns whether a NodeClaim's VM is not its own, and why; undefined while nothing proves that this has changed. A list may be old: what it alone
 * says of a VM is read live, once.
 */
async function judge(
  deps: UnownedInstancesDeps,
  claim: NodeClaim,
  { listed, isInDoubt }: Listed,
): Promise<{ readonly why: string | undefined } | undefined> {
  const instance = instanceOf(deps, claim)
  const why = instance.elsewhere()
  if (why !== undefined) return { why }
  const isReported = whyUnowned(claim.status.conditions) !== undefined
  const seen = listedInstance(claim, listed, deps.config)
  if (seen === 'own') return isReported ? { why: undefined } : undefined
  const isUnproven = seen === 'unproven' || seen === 'namesake'
  if (isInDoubt || isUnproven === isReported) return undefined
  return { why: instance.unproven(await instance.find()) }
}

async function report(deps: UnownedInstancesDeps, claim: NodeClaim, why: string | undefined): Promise<void> {
  const message = why === undefined ? undefined : unownedText(claim, why)
  let isNews = false
  const written = await setClaimConditions(deps, claim.metadata, ({ status }) => {
    const isJudged = status.providerId === claim.status.providerId
    isNews = isJudged && conditionOf(status.conditions, instanceOwned)?.message !== message
    if (!isNews) return undefined
    if (message === undefined) return { clear: [instanceOwned] }
    return { conditions: [{ type: instanceOwned, status: 'False', reason: instanceNotOwned, message }] }
  })
  if (!isNews || written === undefined) return
  const { name } = claim.metadata
  if (message === undefined) return deps.log.info({ nodeClaim: name }, 'VM of nodeclaim is its own again')
  deps.log.warn({ nodeClaim: name, why }, 'VM of nodeclaim is not its own')
  deps.events.record({ about: subject(claim), reason: 'InstanceNotOwned', message })
}
