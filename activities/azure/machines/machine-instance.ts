import { type AksMachineId, parseAksMachineId } from '../../../core/node-claim/aks-machine.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { pauseFor } from '../../activity-context.ts'
import type { ClaimInstance, FoundInstance } from '../launch/claim-instance.ts'
import { type ClaimVmDeps, getVmNamed, nodePoolOf, unlisted } from '../launch/claim-vm.ts'
import { providerIdOf } from '../launch/virtual-machine.ts'
import { vmNameOf, whyElsewhere, whyForeignTags, whyNotOwn } from './machine-ownership.ts'
import { deleteMachine, getMachine, napMode } from './machines-api.ts'
import { napRefusal } from './nap-refusal.ts'

/** Delay before a machine that still exists is read again: doubled each time, since its VM may be gone long before it. */
const lagMs = 1000
const longestLagMs = 16_000

/** Where a claim's machine and its VM are, once it is known that both belong to this cluster. */
interface Place {
  readonly id: AksMachineId
  /** Name of the VM; unset while the machine is being made, until AKS has named it. */
  vm?: string
}

/** The AKS machine of a NodeClaim. Its VM is never touched: AKS deletes both. */
export function machineInstance(deps: ClaimVmDeps, claim: NodeClaim): ClaimInstance {
  const text = claim.metadata.annotations[annotations.aksMachine] ?? ''
  const place = placeOf(deps, claim)
  const called =
    typeof place === 'string' ? 'AKS machine of an unknown place' : `AKS machine ${place.id.pool}/${place.id.name}`
  const find = async () =>
    typeof place === 'string' ? { kind: 'foreign' as const, why: place } : findAt(deps, claim, place)
  // Before it had a VM of its own, what stands under the machine's name was never the claim's.
  const unproven = (found: FoundInstance) =>
    found.kind === 'foreign' && claim.status.providerId !== undefined
      ? `${called} ${found.why}, so Joiner does not delete it`
      : undefined
  return {
    kind: 'AKS machine',
    called,
    id: text,
    deletedBy: typeof place === 'string' ? 'az aks nodepool delete-machines' : deletionCommand(place.id),
    find,
    vmExists: async () => typeof place === 'string' || (await somethingExists(deps, place)),
    remove: async () => {
      if (typeof place !== 'string') await removeAt(deps, claim, place.id)
    },
    gone: async (signal) => {
      if (typeof place !== 'string') await goneFrom(deps, { claim, place }, signal)
    },
    elsewhere: () => (typeof place === 'string' ? unproven({ kind: 'foreign', why: place }) : undefined),
    unproven,
    // AKS changes the tags of machines by a PUT of the whole machine: garbage collection finds it without a mark, only later.
    abandon: () => Promise.resolve(),
  }
}

function deletionCommand({ resourceGroup, cluster, pool, name }: AksMachineId): string {
  return `az aks nodepool delete-machines --resource-group ${resourceGroup} --cluster-name ${cluster} --nodepool-name ${pool} --machine-names ${name}`
}

function placeOf({ config }: ClaimVmDeps, claim: NodeClaim): Place | string {
  const why = whyElsewhere(claim, config)
  if (why !== undefined) return why
  const id = parseAksMachineId(claim.metadata.annotations[annotations.aksMachine] ?? '')
  const vm = vmNameOf(claim, config)
  return id === undefined ? 'has no place' : { id, ...(vm === undefined ? {} : { vm }) }
}

async function somethingExists(deps: ClaimVmDeps, { id, vm }: Place): Promise<boolean> {
  return (vm === undefined ? await getMachine(deps, id) : await getVmNamed(deps, vm)) !== undefined
}

/** Reads machine and VM. A VM without its machine is one that AKS is still deleting. */
async function findAt(deps: ClaimVmDeps, claim: NodeClaim, place: Place): Promise<FoundInstance> {
  const { vm } = place
  const machine = await getMachine(deps, place.id)
  if (machine === undefined) {
    if (vm === undefined) return { kind: 'none' }
    const left = await getVmNamed(deps, vm)
    if (left === undefined) return { kind: 'none' }
    const foreign = whyForeignTags(left.tags, claim, deps.config)
    return foreign === undefined
      ? { kind: 'own', state: 'Deleting', isBeingDeleted: true }
      : { kind: 'foreign', why: `is gone, and its VM ${vm} ${foreign}` }
  }
  const why = whyNotOwn(machine, claim, deps.config)
  if (why !== undefined) return { kind: 'foreign', why }
  const own = vmNameOf(
    { status: { ...claim.status, providerId: providerIdOf(machine.properties?.resourceId ?? '') } },
    deps.config,
  )
  if (own !== undefined) place.vm = own
  const state = machine.properties?.provisioningState
  return { kind: 'own', ...(state === undefined ? {} : { state }), isBeingDeleted: state === 'Deleting' }
}

/** Errors: node auto-provisioning works on the same machines. */
async function removeAt(deps: ClaimVmDeps, claim: NodeClaim, id: AksMachineId): Promise<void> {
  const refusal = napRefusal(await napMode(deps), deps.config)
  if (refusal !== undefined) throw new Error(`NodeClaim ${claim.metadata.name}: ${refusal}`)
  await deps.cloudProvider.measure({ method: 'Delete', nodePool: nodePoolOf(deps, claim.metadata.name) }, () =>
    deleteMachine(deps, id),
  )
}

/** Waits until neither machine nor VM exists: the shared list has no such VM, and a GET of each says so. */
async function goneFrom(
  deps: ClaimVmDeps,
  { claim, place }: { readonly claim: NodeClaim; readonly place: Place },
  signal: AbortSignal,
): Promise<void> {
  for (let pauseMs = lagMs; ; pauseMs = Math.min(pauseMs * 2, longestLagMs)) {
    if (place.vm !== undefined) await unlisted(deps, place.vm, signal)
    const found = await findAt(deps, claim, place)
    if (found.kind === 'none') return
    if (found.kind === 'foreign') throw new Error(`AKS machine ${place.id.pool}/${place.id.name} ${found.why}`)
    if (!found.isBeingDeleted) await removeAt(deps, claim, place.id)
    await pauseFor(pauseMs, signal)
  }
}
