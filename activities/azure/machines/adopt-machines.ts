import { RestError } from '@azure/core-rest-pipeline'
import { conditionOf, isTrue } from '../../../core/conditions.ts'
import { isAdopted, isAksMachine, parseAksMachineId } from '../../../core/node-claim/aks-machine.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { forEachOf } from '../../concurrency.ts'
import { decodeNodeClaim } from '../../kubernetes/cache/decode.ts'
import { expecting, isGoneOrOther } from '../../kubernetes/client/api-error.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'
import { setConditions } from '../../kubernetes/client/status-writes.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import type { Parts, WriteDeps } from '../../kubernetes/parts.ts'
import { ArmBudgetExhausted } from '../arm/arm-budget.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import type { ClaimVmDeps } from '../launch/claim-vm.ts'
import { machineInstance } from './machine-instance.ts'
import { whyElsewhere, whyNotOwn } from './machine-ownership.ts'
import { type AksMachine, listMachines, napMode } from './machines-api.ts'
import { napRefusal } from './nap-refusal.ts'

export type AdoptMachinesDeps = ClaimVmDeps & WriteDeps & Pick<Parts, 'log' | 'client' | 'events'>

/** Condition of every AKSNodeClass that says why AKS machines are not managed; present while they are not. Does not affect Ready. */
export const notManaged = 'AKSMachinesManaged'

const concurrency = 10

/**
 * Adopts NodeClaims of AKS machines where the setting allows it: each whose machine is proven to be its own gets an annotation with its UID, by which
 * all processes see it from then on (`isOfAnotherProvider`). While node auto-provisioning is on, or its mode is not known, none is adopted; those that
 * were adopted are given back once it is on. Run again it goes on from the current state. Errors: the NodeClaims cannot be read; ARM
 * does not answer for the mode now.
 */
export async function adoptMachines(deps: AdoptMachinesDeps): Promise<void> {
  // A refusal from the time when the setting was on says nothing any more.
  if (deps.config.managesMachines !== true) return reportRefusal(deps, undefined)
  const { items } = await deps.client.list(resourcePath('nodeclaims'))
  const claims = items.flatMap((json) => machineClaim(deps, json))
  const isOff = claims.length === 0 && deps.config.makesMachines === undefined
  const refusal = isOff ? undefined : await whyRefused(deps)
  // Who cannot be told keeps nobody from being adopted.
  const [told] = await Promise.allSettled([reportRefusal(deps, refusal)])
  if (refusal === undefined) await adoptAll(deps, claims)
  else if (refusal.reason === 'NodeAutoProvisioningOn')
    // Of one that is being made nothing could be adopted again.
    await forEachOf(
      claims.filter((claim) => isAdopted(claim) && isSettled(claim)),
      concurrency,
      async (claim) => {
        await annotate(deps, claim, null)
      },
    )
  if (told.status === 'rejected') throw told.reason
}

/** Returns the claim if a machine of AKS stands behind it. One bad object harms only itself. */
function machineClaim({ log }: AdoptMachinesDeps, json: Parameters<typeof decodeNodeClaim>[0]): readonly NodeClaim[] {
  try {
    const claim = decodeNodeClaim(json)
    const { group, kind } = claim.spec.nodeClassRef
    return group === 'karpenter.azure.com' && kind === 'AKSNodeClass' && isAksMachine(claim) ? [claim] : []
  } catch (error) {
    log.warn({ err: error }, 'left out an unreadable nodeclaim')
    return []
  }
}

interface Refusal {
  readonly reason: 'NodeAutoProvisioningOn' | 'ClusterNotReadable'
  readonly message: string
}

async function whyRefused(deps: AdoptMachinesDeps): Promise<Refusal | undefined> {
  try {
    const message = napRefusal(await napMode(deps), deps.config)
    return message === undefined ? undefined : { reason: 'NodeAutoProvisioningOn', message }
  } catch (error) {
    // What passes by itself says nothing of the mode: what was known before stays, and the next pass is soon.
    if (isPassing(error)) throw error
    return {
      reason: 'ClusterNotReadable',
      message: `whether node auto-provisioning is on is not known, so AKS machines are left alone: ${scrubbedMessage(error)}; check ARM_RESOURCE_GROUP and CLUSTER_NAME, and that Joiner's identity may read the cluster (joiner doctor)`,
    }
  }
}

/** Whether a request got no answer, or one of a server that is at a loss or too busy. */
function isPassing(error: unknown): boolean {
  if (error instanceof ArmBudgetExhausted) return true
  if (!(error instanceof RestError)) return false
  const { statusCode = 503 } = error
  return statusCode === 429 || statusCode >= 500
}

async function reportRefusal(deps: AdoptMachinesDeps, refusal: Refusal | undefined): Promise<void> {
  const nodeClasses = [...deps.cache.nodeClasses.values()]
  if (refusal !== undefined) {
    deps.log.warn({ why: refusal.message }, 'left AKS machines alone')
    for (const nodeClass of nodeClasses)
      deps.events.record({ about: subject(nodeClass), reason: 'AKSMachinesRefused', message: refusal.message })
  }
  await Promise.all(
    nodeClasses.map(({ metadata }) =>
      setConditions(deps, { kind: 'AKSNodeClass', ref: metadata }, ({ status }) => {
        if (refusal !== undefined) return { conditions: [{ type: notManaged, status: 'False', ...refusal }] }
        return conditionOf(status.conditions, notManaged) === undefined ? undefined : { clear: [notManaged] }
      }),
    ),
  )
}

/** Machines are listed once for each of their pools. A pool that cannot be listed, which a claim may name by mistake, keeps only its own claims. */
async function adoptAll(deps: AdoptMachinesDeps, claims: readonly NodeClaim[]): Promise<void> {
  const due = claims.filter((claim) => !isAdopted(claim) && isSettled(claim))
  const here = due.filter((claim) => {
    const why = whyElsewhere(claim, deps.config)
    if (why !== undefined) reportForeign(deps, claim, why)
    return why === undefined
  })
  const pools = new Set(here.flatMap((claim) => idOf(claim)?.pool.toLowerCase() ?? []))
  const machines = new Map<string, AksMachine>()
  const unreadable = new Map<string, string>()
  await forEachOf([...pools], concurrency, async (pool) => {
    try {
      for (const machine of await listMachines(deps, { pool }))
        machines.set(`${pool}/${machine.name.toLowerCase()}`, machine)
    } catch (error) {
      unreadable.set(pool, scrubbedMessage(error))
    }
  })
  await forEachOf(here, concurrency, async (claim) => {
    const pool = idOf(claim)?.pool.toLowerCase() ?? ''
    const why = unreadable.get(pool)
    if (why === undefined) await adopt(deps, claim, machines)
    else reportForeign(deps, claim, `names agent pool ${pool}, whose machines cannot be listed (${why})`)
  })
}

/** A claim that was launched, or that is going. Of one whose launch was interrupted nothing is known. */
function isSettled({ metadata, status }: NodeClaim): boolean {
  const isKnown = status.providerId !== undefined
  return isKnown && (metadata.deletionTimestamp !== undefined || isTrue(status.conditions, 'Launched'))
}

function idOf({ metadata }: NodeClaim) {
  return parseAksMachineId(metadata.annotations[annotations.aksMachine] ?? '')
}

/** A claim whose machine and VM are gone is adopted too: it ends as others do whose VM is gone. */
async function adopt(
  deps: AdoptMachinesDeps,
  claim: NodeClaim,
  machines: ReadonlyMap<string, AksMachine>,
): Promise<void> {
  const id = idOf(claim)
  const machine = machines.get(`${id?.pool.toLowerCase()}/${id?.name.toLowerCase()}`)
  const why = machine === undefined ? await whyForeignRemains(deps, claim) : whyNotOwn(machine, claim, deps.config)
  if (why !== undefined) return reportForeign(deps, claim, `names AKS machine ${id?.pool}/${id?.name}, which ${why}`)
  if (!(await annotate(deps, claim, claim.metadata.uid))) return
  const message = `AKS machine ${id?.pool}/${id?.name} is managed by Joiner from now on`
  deps.log.info({ nodeClaim: claim.metadata.name, machine: id?.name }, 'adopted AKS machine')
  deps.events.record({ about: subject(claim), reason: 'AKSMachineAdopted', message })
}

/** Of a machine that the list lacks the VM in the claim's status decides: a claim may name the VM of others. */
async function whyForeignRemains(deps: AdoptMachinesDeps, claim: NodeClaim): Promise<string | undefined> {
  const found = await machineInstance(deps, claim).find()
  return found.kind === 'foreign' ? found.why : undefined
}

/** Writes the annotation of adoption, or removes it. Returns false for a claim that changed or went; the next pass looks at it again. */
async function annotate({ client, cache }: AdoptMachinesDeps, claim: NodeClaim, uid: string | null): Promise<boolean> {
  const { name, resourceVersion } = claim.metadata
  const metadata = { resourceVersion, annotations: { [annotations.adoptedMachine]: uid } }
  const path = resourcePath('nodeclaims', name)
  const written = await client.mergePatch(path, { metadata }).catch(expecting(isGoneOrOther, undefined))
  if (written !== undefined) cache.upsert('NodeClaim', written)
  return written !== undefined
}

function reportForeign({ log, events }: AdoptMachinesDeps, claim: NodeClaim, why: string): void {
  const message = `NodeClaim ${claim.metadata.name} ${why}; it is left alone`
  log.warn({ nodeClaim: claim.metadata.name, why }, 'left AKS machine alone')
  events.record({ about: subject(claim), reason: 'AKSMachineNotAdopted', message, values: [claim.metadata.uid, why] })
}
