import { RestError } from '@azure/core-rest-pipeline'
import type { NamedVm } from '../../../core/machines-in-use.ts'
import { isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import { limits } from '../../../core/node-claim/limits.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { updateNode } from '../../kubernetes/client/object-writes.ts'
import { deleteNode, withoutFinalizer } from '../../kubernetes/draining/node-deletion.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { readNode } from '../../kubernetes/lifecycle/claim-nodes.ts'
import { launchPrice } from '../../node-overlays/pool-types.ts'
import { type Attempted, armErrorCode, armErrorText, metricsErrorCode } from '../arm/azure-error.ts'
import { failureFacts, LaunchBlocked } from '../arm/azure-failure.ts'
import { learnFromRefusal, learnFromSuccess } from '../capacity/learn.ts'
import type { LearnDeps } from '../capacity/lesson.ts'
import { setLaunchedUnknown } from '../capacity/refusal.ts'
import type { LaunchOutcome } from '../contract.ts'
import type { Chosen } from '../node-config/node-labels.ts'
import type { AzureParts } from '../parts.ts'
import { keepTurn, type LaunchTurnDeps } from '../refusals/launch-turn.ts'
import { type BootstrapToken, createBootstrapToken, replaceBootstrapToken } from './bootstrap-token.ts'
import type { InstanceKind } from './claim-instance.ts'
import { type ClaimVmDeps, getVmNamed } from './claim-vm.ts'
import type { BackendPools } from './network-facts.ts'
import { type RecordLaunchDeps, recordLaunch } from './record-launch.ts'
import type { TakeOver } from './take-over.ts'
import { providerId, vmName } from './virtual-machine.ts'
import { type MakeInput, nodeRequest, vmRequest } from './vm-request.ts'

export type PutVmDeps = RecordLaunchDeps &
  LearnDeps &
  LaunchTurnDeps &
  ClaimVmDeps &
  Pick<AzureParts, 'tracing' | 'quota' | 'network' | 'refusedAttempts' | 'reservations' | 'serverTime'>

export interface PutInput extends MakeInput {
  readonly bootstrapToken: BootstrapToken
}

/** How nodes are made, which the settings decide once: as VMs of Joiner's, or as machines of AKS (`makerOf`). */
export interface InstanceMaker {
  readonly kind: InstanceKind
  /** Throws for a claim for which nothing is made. */
  check(claim: NodeClaim): void
  /** Creates the bootstrap token of a claim by its UID; undefined where one exists or none is needed. */
  token(uid: string): Promise<BootstrapToken | undefined>
  /** Decides on what an earlier try has made besides a VM of the claim's name; undefined: nothing, or it made room. */
  takeOver(attempt: TakeOver, signal: AbortSignal): Promise<LaunchOutcome | undefined>
  /** Makes what was chosen and records it in the claim. A refusal about capacity is an outcome. `token`: what `token` resolved to, or left before. */
  make(input: MakeInput, token: Promise<BootstrapToken | undefined>, signal: AbortSignal): Promise<LaunchOutcome>
}

/** Lifetime of a bootstrap token by the API server's clock, which judges it: a Node may join until then. An unused one goes when the claim ends. */
const tokenMs = limits.registrationMs + 5 * 60_000

/** No VM becomes a Node in less time from the creation of its NodeClaim on. */
const soonestJoinMs = 10_000

/** Makes VMs. */
export function vmMaker(deps: PutVmDeps): InstanceMaker {
  const tokenEndMs = () => deps.serverTime.ofServer() + tokenMs
  return {
    kind: 'VM',
    check: (claim) => {
      if (!isAksMachine(claim)) return
      throw new LaunchBlocked(
        'InstanceNotOwned',
        `NodeClaim ${claim.metadata.name} stands for an AKS machine, which Joiner does not make again; delete the NodeClaim, and its pods get another node`,
      )
    },
    token: (uid) => createBootstrapToken(deps.client, uid, tokenEndMs()),
    takeOver: async () => undefined,
    make: async (input, token) => {
      const bootstrapToken =
        (await token) ?? (await replaceBootstrapToken(deps.client, input.claim.metadata.uid, tokenEndMs()))
      await removeNodeOfEarlierVm(deps, input.claim)
      return putVm(deps, { ...input, bootstrapToken })
    },
  }
}

/** As `removeEarlierNode`, for a VM of the claim's name. A claim that was made a moment ago had no Node. */
async function removeNodeOfEarlierVm(deps: PutVmDeps, claim: NodeClaim): Promise<void> {
  const { name, creationTimestamp } = claim.metadata
  const called = vmName(name)
  const ageMs = deps.serverTime.ofServer() - Date.parse(creationTimestamp)
  if (ageMs < soonestJoinMs && deps.cache.nodes.get(called.toLowerCase()) === undefined) return
  await removeEarlierNode(deps, claim, { name: called, providerId: providerId(deps.config, name) })
}

/**
 * Deletes the Node of an earlier VM of the claim, which Azure evicted before its launch was recorded. That Node still says Ready, so it would be
 * registered for the new VM at once. Kubernetes keeps it, since a VM of its name exists again.
 * Errors: Azure has a VM of the name again, which may be the Node's; finalizers of others hold the Node.
 */
export async function removeEarlierNode(deps: PutVmDeps, claim: NodeClaim, vm: NamedVm): Promise<void> {
  const { name } = claim.metadata
  const called = vm.name
  const node = await readNode(deps, claim)
  if (node?.providerId?.toLowerCase() !== vm.providerId.toLowerCase()) return
  // In this order: the VM that the Node came from is older than the Node.
  if ((await getVmNamed(deps, called)) !== undefined) throw existsByNow(`VM ${called}`)
  // One that was registered, before a restore of etcd took that back from its NodeClaim.
  await updateNode(deps, node.metadata.name, ({ metadata }) =>
    metadata.uid === node.metadata.uid ? withoutFinalizer(metadata.finalizers) : undefined,
  )
  if (await deleteNode(deps, node)) return
  const left = await readNode(deps, claim)
  if (left?.metadata.uid === node.metadata.uid)
    throw new Error(
      `Node ${node.metadata.name} is of an earlier VM and is held by metadata.finalizers ${left.metadata.finalizers.join(', ').slice(0, 300)}; the VM is made again once they are removed`,
    )
  const message = `Node ${node.metadata.name} came from an earlier VM ${called}, which is gone, so it is deleted before the VM is made again`
  deps.log.info({ nodeClaim: name, node: node.metadata.name }, 'deleted node of an earlier VM')
  deps.events.record({ about: subject(claim), reason: 'GarbageCollected', message })
}

/** Makes the chosen VM and records it in the claim. A refusal about capacity is an outcome, and marks the offerings that it covers. */
export async function putVm(deps: PutVmDeps, input: PutInput): Promise<LaunchOutcome> {
  await Promise.all([deps.network.network(), deps.network.pools()])
  return makeInstance(deps, input, {
    kind: 'VM',
    called: `VM ${vmName(input.claim.metadata.name)}`,
    send: () => putWithPools(deps, input),
    accepted: () => ({ imageId: input.image.id, acceptedMs: deps.now() }),
  })
}

/** The request that makes one kind of instance. */
interface Making {
  readonly kind: InstanceKind
  /** As messages name it, such as `VM aks-a`. */
  readonly called: string
  send(): Promise<void>
  /** Returns what the claim records of an instance that Azure has accepted. */
  accepted(): Accepted | Promise<Accepted>
}

type Accepted = Pick<Parameters<typeof recordLaunch>[2], 'imageId' | 'acceptedMs' | 'machineVm'>

/** Makes an instance and records it in the claim. A refusal about capacity is an outcome, and marks the offerings that it covers. */
export async function makeInstance(
  deps: PutVmDeps,
  input: MakeInput & Partial<PutInput>,
  { kind, called, ...making }: Making,
): Promise<LaunchOutcome> {
  const { claim, chosen, image, attempt } = input
  const attempted = attemptedBy(chosen)
  const create = { ...attempted, imageId: image.id, nodePool: claim.metadata.labels[labels.nodePool] ?? '' }
  keepTurn(deps, input.inClass)
  deps.vmCreates.started(create)
  try {
    const name = kind === 'VM' ? 'PUT virtualMachine' : 'PUT machine'
    await deps.tracing.span(name, { attributes: spanAttributes(chosen) }, () => making.send())
  } catch (error) {
    deps.vmCreates.failed(create, 'sync', metricsErrorCode(error))
    return refused(deps, { ...input, called }, error)
  }
  deps.log.info({ nodeClaim: claim.metadata.name, ...attempted, attempt }, `accepted ${kind}`)
  const accepted = await making.accepted()
  const launched = { nodeClass: input.nodeClass.metadata.name, instanceType: chosen.typeName, image: image.id }
  const [outcome] = await Promise.all([
    recordLaunch(deps, claim, { chosen, price: launchPrice(deps.catalogue, chosen, input.size), ...accepted }),
    learnFromSuccess(deps, launched, 'accepted'),
  ])
  return outcome
}

const existsByNow = (called: string) =>
  new Error(`${called} exists by now, though it did not a moment ago; the next try looks at it`)

/** Whether Azure refused a PUT because what it would make is there. */
const isThereAlready = (error: unknown) => error instanceof RestError && error.statusCode === 412

function spanAttributes({ typeName, zone, capacityType }: Chosen) {
  return { 'karpenter.instance_type': typeName, 'karpenter.zone': zone, 'karpenter.capacity_type': capacityType }
}

function attemptedBy({ typeName, zone, capacityType }: Chosen): Attempted {
  return { instanceType: typeName, zone, capacityType }
}

/** Sends the PUT with cached pools. When Azure does not find one any more, they are read again and the PUT is repeated, once. */
async function putWithPools(deps: PutVmDeps, input: PutInput): Promise<void> {
  const pools = await deps.network.pools()
  try {
    await submit(deps, input, pools)
  } catch (error) {
    if (!namesPool(error, pools)) throw error
    deps.log.info({ nodeClaim: input.claim.metadata.name }, 'load balancer backend pool is gone, reading pools again')
    await submit(deps, input, await deps.network.poolsAfter(pools))
  }
}

/** Sends the PUT, which makes a VM or nothing: it never changes an existing one. */
async function submit(deps: PutVmDeps, input: PutInput, pools: BackendPools): Promise<void> {
  const body = vmRequest({
    ...nodeRequest(deps.config, input),
    network: { ...(await deps.network.network()), poolIds: pools.ids },
    bootstrapToken: input.bootstrapToken,
  })
  await deps.azure.compute.virtualMachines
    .createOrUpdate(deps.config.nodeResourceGroup, vmName(input.claim.metadata.name), body, { ifNoneMatch: '*' })
    .submitted()
}

function namesPool(error: unknown, { ids }: BackendPools): boolean {
  if (armErrorCode(error) !== 'InvalidResourceReference') return false
  const text = armErrorText(error).toLowerCase()
  return ids.some((id) => text.includes(id.toLowerCase()))
}

/** A refusal that another choice avoids is an outcome, and what it names is marked; any other error is a failure. */
async function refused(
  deps: PutVmDeps,
  input: MakeInput & Partial<PutInput> & Pick<Making, 'called'>,
  error: unknown,
): Promise<LaunchOutcome> {
  const { claim, chosen, attempt } = input
  const ref = { name: claim.metadata.name, uid: claim.metadata.uid }
  if (isThereAlready(error)) throw existsByNow(input.called)
  const attempted = attemptedBy(chosen)
  if (!(error instanceof RestError)) throw error
  deps.quota.release(ref.uid)
  const launch = { ...attempted, ...input.inClass, image: input.image.id, nodeClaim: ref.name }
  const lesson = await learnFromRefusal(deps, failureFacts(error), launch)
  if (lesson === undefined) throw error
  const { reason, message } = lesson
  await setLaunchedUnknown(deps, ref, { reason, message })
  deps.log.info({ nodeClaim: ref.name, ...attempted, reason }, 'offering was refused')
  if (lesson.kind === 'exhausted') return { kind: 'exhausted', message }
  deps.refusedAttempts.leave(ref.uid, attempt, input.bootstrapToken)
  return { kind: 'capacity', reason, message, ...attempted }
}
