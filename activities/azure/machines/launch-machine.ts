import type { Logger } from 'pino'
import { conditionOf } from '../../../core/conditions.ts'
import { type AksMachineId, machineNameOf, parseAksMachineId } from '../../../core/node-claim/aks-machine.ts'
import { vmNameIn } from '../../../core/node-claim/node-owner.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { pauseFor } from '../../activity-context.ts'
import { setClaimConditions, updateClaim } from '../../kubernetes/client/object-writes.ts'
import type { LateList } from '../answers/late-list.ts'
import { heardOut, LaunchBlocked } from '../arm/azure-failure.ts'
import { VmList } from '../arm/vm-list.ts'
import type { AzureConfig } from '../azure-config.ts'
import { setLaunchedUnknown } from '../capacity/refusal.ts'
import type { LaunchOutcome } from '../contract.ts'
import { type InstanceMaker, makeInstance, type PutVmDeps, removeEarlierNode } from '../launch/put-vm.ts'
import { tagKeys, tagOf } from '../launch/tags.ts'
import {
  adoptInstance,
  awaitLost,
  isAdopting,
  refuseFailed,
  type TakeOver,
  type TakeOverDeps,
} from '../launch/take-over.ts'
import { providerIdOf } from '../launch/virtual-machine.ts'
import { type MakeInput, nodeRequest } from '../launch/vm-request.ts'
import { notManaged } from './adopt-machines.ts'
import { type AwaitMachineDeps, hasLostVm } from './await-machine.ts'
import { judgeFailedMachine, offeringOf } from './failed-machine.ts'
import { MachineBatches } from './machine-batches.ts'
import { armMachine, type MachineBody, machineBody } from './machine-body.ts'
import { machineInstance } from './machine-instance.ts'
import { whyForeignTags } from './machine-ownership.ts'
import {
  type AksMachine,
  getMachine,
  listMachines,
  type MachinesApiDeps,
  machineIdText,
  putMachine,
} from './machines-api.ts'

/** What launches of AKS machines need beside what those of VMs do. */
export interface MachineLaunchDeps extends PutVmDeps, TakeOverDeps {
  readonly machineBatches: MachineBatches
}

/** Pause between two looks at a machine that has no VM yet. */
const lookMs = 1000

/** Returns the machine that is made for a NodeClaim; undefined where none can have its name, or where nodes are VMs. */
function machineFor({ makesMachines, ...config }: AzureConfig, claimName: string): AksMachineId | undefined {
  const name = machineNameOf(claimName)
  if (name === undefined || makesMachines === undefined) return undefined
  const { subscriptionId, clusterResourceGroup: resourceGroup, clusterName: cluster } = config
  return { subscriptionId, resourceGroup, cluster, pool: makesMachines.pool, name }
}

/** Makes machines of AKS, which need no bootstrap token. */
export function machineMaker(deps: MachineLaunchDeps): InstanceMaker {
  return {
    kind: 'AKS machine',
    check: () => {},
    token: async () => undefined,
    takeOver: (attempt, signal) => takeOverMachine(deps, attempt, signal),
    make: (input, _, signal) => launchMachine(deps, input, signal),
  }
}

/**
 * Decides on the machine of a claim's name before one is made: an earlier success of this launch, its failure, or remains that make room first. The claim
 * names the machine from then on, so that its deletion finds whatever was made. Undefined: there is none.
 * Errors: `LaunchBlocked` for a machine that is not proven to be the claim's, which is neither adopted nor deleted; ARM's.
 */
async function takeOverMachine(
  deps: MachineLaunchDeps,
  { claim, attempt, lookOnly, followsLoss }: TakeOver,
  signal: AbortSignal,
): Promise<LaunchOutcome | undefined> {
  refuseUnmanaged(deps, claim)
  const id = machineFor(deps.config, claim.metadata.name)
  if (id === undefined) return refuseName(deps, claim)
  const own = await nameMachine(deps, claim, id)
  if (own === undefined || own.metadata.deletionTimestamp !== undefined) return { kind: 'claimGone' }
  const machine = await getMachine(deps, id)
  if (machine === undefined) return undefined
  const foreign = whyForeignTags(machine.properties?.tags, own, deps.config)
  if (foreign !== undefined)
    throw new LaunchBlocked(
      'InstanceNotOwned',
      `AKS machine ${id.pool}/${id.name} exists already and ${foreign}; nothing is launched over it. Delete the NodeClaim and give it another name, or delete the machine`,
    )
  const state = machine.properties?.provisioningState
  const isLost = isAdopting(own)
  if (isLost && state === 'Failed')
    await refuseFailed(deps, own, { called: `AKS machine ${id.pool}/${id.name}`, id: machine.properties?.resourceId })
  if (state !== 'Deleting' && (state !== 'Failed' || isLost)) {
    // AKS may have been at a loss for it for as long as all attempts may last: the machine goes with its claim.
    if (lookOnly && !machine.properties?.resourceId) return undefined
    const made = await withVm(deps, id, signal)
    if (!(await hasLostVm(deps, made)))
      return adoptInstance(deps, own, { kind: 'AKS machine', offering: offeringOf(made, deps.config), ...madeOf(made) })
    // As long as the machine is there it says which Node its VM had.
    await removeNodeOf(deps, own, made)
  }
  return makeRoom(deps, { claim: own, machine, attempt, lookOnly, followsLoss }, signal)
}

/** AKS gives the VM of a machine that is made again the same name. */
function removeNodeOf(deps: MachineLaunchDeps, claim: NodeClaim, machine: AksMachine): Promise<void> {
  const providerId = madeOf(machine).machineVm
  const had = { ...claim, status: { ...claim.status, providerId } }
  return removeEarlierNode(deps, had, { name: vmNameIn(providerId), providerId })
}

/** Node auto-provisioning works on the same NodeClaims and the same pool. */
function refuseUnmanaged({ cache }: MachineLaunchDeps, { spec }: NodeClaim): void {
  const nodeClass = cache.nodeClasses.get(spec.nodeClassRef.name)
  const managed = nodeClass && conditionOf(nodeClass.status.conditions, notManaged)
  if (managed?.status === 'False') throw new LaunchBlocked('InstanceNotOwned', managed.message ?? notManaged)
}

async function refuseName(deps: MachineLaunchDeps, { metadata }: NodeClaim): Promise<LaunchOutcome> {
  const message = `NodeClaim ${metadata.name}: metadata.name can be no machine's name in AKS; begin the name of the NodePool with a small letter, and use small letters, digits and dashes in it`
  await setClaimConditions(deps, metadata, () => ({
    conditions: [{ type: 'Launched', status: 'False', reason: 'InvalidNodeClaim', message }],
  }))
  return { kind: 'invalid', message }
}

/** Writes into the claim which machine is its own, and that Joiner manages it. Errors: the claim names another machine. */
function nameMachine(deps: MachineLaunchDeps, claim: NodeClaim, id: AksMachineId): Promise<NodeClaim | undefined> {
  return updateClaim(deps, claim.metadata, ({ metadata }) => {
    // Whoever ends it may have read it already.
    if (metadata.deletionTimestamp !== undefined) return undefined
    const named = metadata.annotations[annotations.aksMachine]
    if (named !== undefined && !isSameMachine(named, id))
      throw new LaunchBlocked(
        'InstanceNotOwned',
        `NodeClaim ${metadata.name} stands for another AKS machine than ${id.pool}/${id.name}, which Joiner does not make again; delete the NodeClaim, and its pods get another node`,
      )
    if (named !== undefined && metadata.annotations[annotations.adoptedMachine] === metadata.uid) return undefined
    const own = { [annotations.aksMachine]: machineIdText(id), [annotations.adoptedMachine]: metadata.uid }
    return { metadata: { annotations: own } }
  })
}

function isSameMachine(text: string, id: AksMachineId): boolean {
  return parseAksMachineId(text) !== undefined && text.toLowerCase() === machineIdText(id).toLowerCase()
}

/** Deletes a machine that failed or lost its VM, and waits until it is gone. A failure of this very attempt is judged before that. */
async function makeRoom(
  deps: MachineLaunchDeps,
  { claim, machine, attempt, lookOnly, followsLoss }: TakeOver & { readonly machine: AksMachine },
  signal: AbortSignal,
): Promise<LaunchOutcome | undefined> {
  const isUnjudged = tagOf(machine.properties?.tags, tagKeys.attempt) === String(attempt)
  const hasFailed = machine.properties?.provisioningState === 'Failed'
  const failure = hasFailed && isUnjudged ? await judgeFailedMachine(deps, claim, machine) : undefined
  const instance = machineInstance(deps, claim)
  if (machine.properties?.provisioningState !== 'Deleting') {
    awaitLost(instance.called, { lookOnly, followsLoss })
    await heardOut(instance.remove())
  }
  if (lookOnly) return undefined
  await instance.gone(signal)
  if (failure === undefined || !failure.isCapacity) return undefined
  await setLaunchedUnknown(deps, claim.metadata, failure)
  return { kind: 'capacity', reason: failure.reason, message: failure.message, ...failure.attempted }
}

/** Waits until AKS has named a machine's VM. Errors: the machine is gone, which the next try finds. */
async function withVm(deps: MachineLaunchDeps, id: AksMachineId, signal: AbortSignal): Promise<AksMachine> {
  for (;;) {
    const machine = await getMachine(deps, id)
    const { resourceId = '', provisioningState } = machine?.properties ?? {}
    if (machine === undefined || (resourceId === '' && provisioningState === 'Failed'))
      throw new Error(
        `AKS machine ${id.pool}/${id.name} ${machine === undefined ? 'is gone' : 'failed'} before it had a VM; the next try looks at it`,
      )
    if (resourceId !== '') return machine
    await pauseFor(lookMs, signal)
  }
}

/** Returns what a claim records of a machine that has a VM. */
function madeOf({ properties }: AksMachine) {
  const createdMs = Date.parse(properties?.status?.creationTimestamp ?? '')
  return {
    imageId: properties?.nodeImageVersion ?? '',
    machineVm: providerIdOf(properties?.resourceId ?? ''),
    ...(Number.isNaN(createdMs) ? {} : { createdMs }),
  }
}

/**
 * Has AKS make the chosen machine and records it in the claim as soon as its VM has a name. A failure after that shows while the Node is awaited.
 */
async function launchMachine(deps: MachineLaunchDeps, input: MakeInput, signal: AbortSignal): Promise<LaunchOutcome> {
  const id = machineFor(deps.config, input.claim.metadata.name)
  if (id === undefined) return refuseName(deps, input.claim)
  return makeInstance(deps, input, {
    kind: 'AKS machine',
    called: `AKS machine ${id.pool}/${id.name}`,
    send: () => put(deps, { id, body: machineBody(nodeRequest(deps.config, input)) }, signal),
    accepted: async () => {
      const { createdMs = deps.now(), ...made } = madeOf(await withVm(deps, id, signal))
      return { ...made, acceptedMs: createdMs }
    },
  })
}

/** Sends the PUT alone, which then never changes an existing machine, or with others. */
async function put(
  deps: MachineLaunchDeps,
  { id, body }: { readonly id: AksMachineId; readonly body: MachineBody },
  signal: AbortSignal,
): Promise<void> {
  if (deps.config.makesMachines?.inBatches === true) await deps.machineBatches.put(id, body, signal)
  else await putMachine(deps, id, { body: armMachine(body), headers: { 'if-none-match': '*' } })
}

/** AKS names no limit for lists of machines; a list is one page of any pool's size. */
const pace = { fastestMs: 1000, slowestMs: 5000, pagesPerSecond: 1 }

/** Returns what launches of AKS machines share in a process. */
export function machineDeps(
  deps: MachinesApiDeps & { readonly log: Logger },
  standing: LateList,
): Pick<MachineLaunchDeps, 'machineBatches'> & Pick<AwaitMachineDeps, 'machines'> {
  const machineBatches = new MachineBatches(deps)
  const pool = deps.config.makesMachines?.pool
  if (pool === undefined) return { machineBatches }
  async function* list() {
    yield await listMachines(deps, { pool: pool ?? '' })
  }
  return { machineBatches, machines: new VmList<AksMachine>(list, standing, pace) }
}
