import type { VirtualMachine } from '@azure/arm-compute'
import type { NetworkInterface } from '@azure/arm-network'
import { isTrue } from '../../../core/conditions.ts'
import { isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import { isNothing } from '../../../core/node-class/in-place-update.ts'
import type { InPlaceState } from '../../../core/node-class/in-place-update-hash.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { forEachOf } from '../../concurrency.ts'
import { updateClaim } from '../../kubernetes/client/object-writes.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import type { WriteDeps } from '../../kubernetes/parts.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import type { InPlaceReport } from '../contract.ts'
import { claimIdentity } from '../launch/claim-vm.ts'
import { ownershipOf, vmOwner } from '../launch/ownership.ts'
import { isReserved } from '../launch/tags.ts'
import { tagKeys, vmName } from '../launch/virtual-machine.ts'
import { tagErrors } from '../node-class/tag-errors.ts'
import type { AzureParts } from '../parts.ts'
import { changeExtension, changeNic, changeOf, changeVm } from './in-place-requests.ts'
import { inPlaceGoal, inPlaceStamps, tagNamesOf, tagNamesText } from './in-place-state.ts'
import type { RecentUpdates } from './recent-updates.ts'

export type InPlaceUpdateDeps = WriteDeps & Pick<AzureParts, 'log' | 'azure' | 'config' | 'vms'>

const concurrency = 10
/** Number of claims that are changed, checked and recorded together: a crash repeats no more than that. */
const batchSize = 100
/** Time for the last VM of a batch to settle. One that takes longer is looked at once more, and then by the next pass. */
const settleMs = 60_000

/** A claim whose VM differs, or may differ, from what its class requests. */
interface Due {
  readonly claim: NodeClaim
  readonly goal: InPlaceState
  /** Names of the tags that Joiner set and may remove again. */
  readonly ours: readonly string[]
  /** It was up to date a while ago. */
  readonly isLookedAtAgain: boolean
}

/**
 * Updates tags and identities of VMs, and tags of their NICs, to what their AKSNodeClasses request now. Nothing to do costs no request. Otherwise
 * all VMs and NICs are listed once, and each resource that differs is written once. The claim's annotations are written last: after a crash the
 * claim is found again, and found done (reference/azure-provider.md 8.3).
 * Errors: those about single claims, once all others were tried; an event on the claim reports them too.
 */
export async function updateInPlace(
  deps: InPlaceUpdateDeps,
  recent: RecentUpdates,
  signal: AbortSignal,
): Promise<InPlaceReport> {
  await deps.cache.catchUp(['AKSNodeClass'])
  const pass: Pass = { deps, recent, signal, failures: [] }
  const claims = [...deps.cache.nodeClaims.values()]
  recent.keep(new Set(claims.map(({ metadata }) => metadata.uid)))
  const due = claims.flatMap((claim) => dueOf(pass, claim))
  const isChanged = ({ claim, goal, isLookedAtAgain }: Due) =>
    isLookedAtAgain ||
    claim.metadata.annotations[annotations.inPlaceUpdateHash] !== inPlaceStamps(goal)[annotations.inPlaceUpdateHash]
  // The hash says that the VM is up to date, so its wanted tags are the ones that were set.
  await forEachOf(
    due.filter((one) => !isChanged(one)),
    concurrency,
    (one) => alone(pass, one, () => stamp(deps, one)),
  )
  const updated = await updateChanged(pass, due.filter(isChanged))
  if (pass.failures.length > 0) throw pass.failures[0]
  return { updated }
}

/** A pass, and what failed in it. */
interface Pass {
  readonly deps: InPlaceUpdateDeps
  readonly recent: RecentUpdates
  readonly signal: AbortSignal
  readonly failures: unknown[]
}

/** Does something about one claim. What fails is reported on it and keeps no other claim from its own: it is thrown when the pass is over. */
async function alone({ deps, signal, failures }: Pass, { claim }: Due, work: () => Promise<void>): Promise<void> {
  if (signal.aborted) return
  try {
    await work()
  } catch (error) {
    failures.push(error)
    if (!signal.aborted) report(deps, claim, scrubbedMessage(error))
  }
}

/** Returns how many VMs are up to date now. */
async function updateChanged(pass: Pass, changed: readonly Due[]): Promise<number> {
  const { deps, signal } = pass
  if (changed.length === 0) return 0
  const found = await resourcesOf(deps)
  const late: Due[] = []
  let updated = 0
  for (let i = 0; i < changed.length && !signal.aborted; i += batchSize) {
    const done = await updateBatch(pass, changed.slice(i, i + batchSize), found)
    updated += done.updated
    late.push(...done.late)
  }
  if (late.length === 0 || signal.aborted) return updated
  // A request that an earlier process had sent may have arrived after this one's, and the next pass is minutes away. A policy may undo each update, so
  // that is asked for one batch alone.
  return updated + (await updateBatch(pass, late.slice(0, batchSize), await resourcesOf(deps))).updated
}

/** `late`: claims whose VMs were not in time. */
interface Updated {
  readonly updated: number
  readonly late: readonly Due[]
}

/** Returns the claim if it is due. A claim that is going, or whose node has not joined yet, is not: a launch may still replace its VM. */
function dueOf({ deps: { cache, config, now }, recent }: Pass, claim: NodeClaim): readonly Due[] {
  const nodeClass = cache.nodeClasses.get(claim.spec.nodeClassRef.name)
  const { metadata, status } = claim
  const isSettled = metadata.deletionTimestamp === undefined && isTrue(status.conditions, 'Registered')
  // The tags of AKS machines are AKS' (docs/aks-machines.md).
  if (nodeClass === undefined || !isSettled || status.providerId === undefined || isAksMachine(claim)) return []
  const goal = inPlaceGoal(config, nodeClass, claim)
  const isDone = Object.entries(inPlaceStamps(goal)).every(([key, value]) => metadata.annotations[key] === value)
  const isLookedAtAgain = isDone && recent.isOver(metadata.uid, now())
  // The class says what is wrong with its tags.
  if ((isDone && !isLookedAtAgain) || tagErrors(config, nodeClass.spec).length > 0) return []
  // The proof of ownership stays, whatever a claim's annotation says.
  const ours = [...recent.namesOf(metadata.uid), ...oursOf(claim)].filter((name) => !isReserved(name))
  return [{ claim, goal, ours, isLookedAtAgain }]
}

interface Found {
  readonly vms: ReadonlyMap<string, VirtualMachine>
  /** NICs by their ids in lower case. */
  readonly nics: ReadonlyMap<string, NetworkInterface>
}

async function resourcesOf({ azure, config }: InPlaceUpdateDeps): Promise<Found> {
  const vms = new Map<string, VirtualMachine>()
  const nics = new Map<string, NetworkInterface>()
  for await (const vm of azure.compute.virtualMachines.list(config.nodeResourceGroup)) vms.set(vm.name ?? '', vm)
  for await (const nic of azure.network.networkInterfaces.list(config.nodeResourceGroup))
    nics.set((nic.id ?? '').toLowerCase(), nic)
  return { vms, nics }
}

/** Returns how many VMs of the batch are up to date now, and which were not in time. */
async function updateBatch(pass: Pass, batch: readonly Due[], found: Found): Promise<Updated> {
  const { deps, signal } = pass
  const asked: { readonly due: Due; readonly isSettled: boolean }[] = []
  await forEachOf(batch, concurrency, (due) =>
    alone(pass, due, async () => {
      const answer = await ask(deps, due, found)
      if (answer !== 'left') asked.push({ due, isSettled: answer === 'asItShouldBe' })
    }),
  )
  const late: Due[] = []
  let updated = 0
  // They wait for the same list, so all of them wait at once.
  await forEachOf(asked, asked.length, ({ due, isSettled }) =>
    alone(pass, due, async () => {
      const is = isSettled ? 'settled' : await settled(deps, due, signal)
      if (is === 'late') late.push(due)
      if (is !== 'settled') return
      await stamp(deps, due)
      const { uid } = due.claim.metadata
      if (isSettled && due.isLookedAtAgain) return pass.recent.forget(uid)
      pass.recent.note(uid, due.ours, deps.now())
      updated += 1
    }),
  )
  if (updated > 0) deps.log.info({ nodeClaims: updated }, 'updated tags and identities in place')
  return { updated, late }
}

/** `left`: the VM is gone, somebody else's, or busy; the next pass checks again. `settling`: an update of the VM was requested. */
type Answer = 'left' | 'asItShouldBe' | 'settling'

/** Requests what a claim's VM and its NICs lack. */
async function ask(deps: InPlaceUpdateDeps, due: Due, { vms, nics }: Found): Promise<Answer> {
  const { claim, goal, ours, isLookedAtAgain } = due
  const { name, uid } = claim.metadata
  const vm = vms.get(vmName(name))
  if (vm === undefined) return 'left'
  const owner = vmOwner(vm, claimIdentity(claim), deps.config)
  if (owner.kind !== 'claim') {
    const why = owner.kind === 'foreign' ? owner.why : 'has the tag of an earlier NodeClaim'
    report(deps, claim, `VM ${vm.name} ${why}, so Joiner does not change it`)
    return 'left'
  }
  if (vm.provisioningState === 'Deleting' || vm.provisioningState === 'Creating') return 'left'
  await noteNewTags(deps, claim, goal)
  const own = { [tagKeys.clusterUid]: deps.config.clusterUid, [tagKeys.claimUid]: uid }
  const wanted = { state: { ...goal, tags: { ...goal.tags, ...own } }, ours }
  for (const { id = '' } of vm.networkProfile?.networkInterfaces ?? []) {
    const nic = nics.get(id.toLowerCase())
    if (nic !== undefined && ownershipOf(nic.tags, deps.config).kind === 'ours') await changeNic(deps, nic, wanted)
  }
  if (deps.config.billingExtension && !isLookedAtAgain) await changeExtension(deps, name, goal)
  return (await changeVm(deps, vm, wanted)) ? 'settling' : 'asItShouldBe'
}

/** Records the names of tags before they are set: after a crash it is still known that they are Joiner's. */
async function noteNewTags(deps: InPlaceUpdateDeps, claim: NodeClaim, { tags }: InPlaceState): Promise<void> {
  const ours = oursOf(claim)
  const added = Object.keys(tags).filter((key) => !ours.includes(key))
  if (added.length === 0) return
  const noted = { [annotations.tagNames]: tagNamesText([...ours, ...added]) }
  await updateClaim(deps, claim.metadata, () => ({ metadata: { annotations: noted } }))
}

/** Returns the names of the tags that Joiner has set on a claim's resources. */
function oursOf(claim: NodeClaim): readonly string[] {
  return tagNamesOf(claim.metadata) ?? []
}

/** Waits until the shared list of VMs shows the VM up to date. `late`: it was not in time. */
async function settled(
  deps: InPlaceUpdateDeps,
  { claim, goal, ours }: Due,
  signal: AbortSignal,
): Promise<'settled' | 'gone' | 'late'> {
  const limit = AbortSignal.timeout(settleMs)
  try {
    return await deps.vms.waitFor(
      (snapshot) => {
        const vm = snapshot.get(vmName(claim.metadata.name))
        if (vm === undefined || vm.provisioningState === 'Deleting') return 'gone'
        const isThere = isNothing(changeOf(vm, { state: goal, ours }))
        return isThere && vm.provisioningState !== 'Updating' ? 'settled' : undefined
      },
      AbortSignal.any([signal, limit]),
    )
  } catch (error) {
    if (!limit.aborted || signal.aborted) throw error
    report(
      deps,
      claim,
      `VM ${vmName(claim.metadata.name)} did not take its tags and identities within ${settleMs / 1000} s`,
    )
    return 'late'
  }
}

/** Records that a claim's VM is up to date. */
async function stamp(deps: InPlaceUpdateDeps, { claim, goal }: Due): Promise<void> {
  const stamps = inPlaceStamps(goal)
  await updateClaim(deps, claim.metadata, ({ metadata }) =>
    Object.entries(stamps).every(([key, value]) => metadata.annotations[key] === value)
      ? undefined
      : { metadata: { annotations: stamps } },
  )
}

function report(deps: InPlaceUpdateDeps, claim: NodeClaim, why: string): void {
  const message = `tags and identities could not be changed in place: ${why}; it is tried again`
  deps.log.warn({ nodeClaim: claim.metadata.name, why }, 'failed to update tags and identities in place')
  deps.events.record({
    about: subject(claim),
    reason: 'InPlaceUpdateFailed',
    message,
    values: [claim.metadata.uid, why],
  })
}
