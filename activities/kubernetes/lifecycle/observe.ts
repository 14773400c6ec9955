import { isTrue } from '../../../core/conditions.ts'
import type { EventReason } from '../../../core/events.ts'
import { holdOf, holdText } from '../../../core/node-claim/hold.ts'
import { type LifecycleStep, nextStep } from '../../../core/node-claim/lifecycle.ts'
import { isNodeOf } from '../../../core/node-claim/node-owner.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { isReschedulable } from '../../../core/pods/pod-rules.ts'
import { subdomainErrors } from '../../../core/requirements/label-syntax.ts'
import { labels, terminationFinalizer } from '../../../core/requirements/labels.ts'
import type { DisruptionMetrics } from '../../disruption/metrics.ts'
import type { LifecycleMetrics } from '../../telemetry/lifecycle-metrics.ts'
import { decodeNode } from '../cache/decode.ts'
import { isConflict, isNotFound } from '../client/api-error.ts'
import { liveClaim, updateClaim } from '../client/object-writes.ts'
import { resourcePath } from '../client/resources.ts'
import type { ClaimRef, GiveUpOutcome, GiveUpReason, KubernetesActivities, NextStep, Observation } from '../contract.ts'
import { subject } from '../event-recorder.ts'
import type { NodePoolHealthDeps } from '../node-pools/node-pool-health.ts'
import { recordRegistration } from '../node-pools/node-pool-health.ts'
import type { NodeHealthDeps } from './node-health.ts'
import { announceInterruption, prepareRepair } from './node-health.ts'
import type { NodeRequestsDeps } from './node-requests.ts'
import { tellRetry } from './node-requests.ts'

export interface ObserveDeps extends NodeRequestsDeps, NodeHealthDeps, NodePoolHealthDeps {
  readonly lifecycleMetrics: LifecycleMetrics
  readonly disruptionMetrics: DisruptionMetrics
}

/** Reads a claim and its Node as they are now and says what its lifecycle should do. */
export async function observe(
  deps: ObserveDeps,
  ref: ClaimRef,
  retried?: Parameters<KubernetesActivities['observe']>[0]['retried'],
): Promise<Observation> {
  if (retried !== undefined) tellRetry(deps, ref, retried)
  let claim = await liveClaim(deps, ref)
  if (claim !== undefined && claim.metadata.deletionTimestamp === undefined) claim = await prepare(deps, ref, claim)
  const view = { node: claim && claimNode(deps, claim), rules: deps.nodeRules }
  const step = await acted(deps, { ref, claim }, nextStep(claim, { uid: ref.uid, now: deps.now() }, view))
  return { step, ...(claim === undefined ? {} : shown(claim, deps.now())) }
}

/** Does what a step asks for that deletes the claim, and answers with what is left for its lifecycle to do. */
async function acted(
  deps: ObserveDeps,
  { ref, claim }: { readonly ref: ClaimRef; readonly claim: NodeClaim | undefined },
  step: LifecycleStep,
): Promise<NextStep> {
  switch (step.kind) {
    case 'expire':
      await deleteClaim(deps, ref)
      if (claim !== undefined) countDisruption(deps, claim, 'expired')
      return { kind: 'terminate' }
    case 'interrupt':
    case 'repair':
      return claim === undefined ? { kind: 'finished' } : endedByNode(deps, ref, claim)
    case 'launch':
    case 'steady':
      return step
    default:
      return { kind: step.kind }
  }
}

/** Deletes a claim for what its Node's conditions say, if the Node still says so when it is read past the cache. */
async function endedByNode(deps: ObserveDeps, ref: ClaimRef, claim: NodeClaim): Promise<NextStep> {
  const node = await readNode(deps, claim)
  const at = { uid: ref.uid, now: deps.now() }
  const step = nextStep(claim, at, { node, rules: deps.nodeRules })
  if (node === undefined || (step.kind !== 'interrupt' && step.kind !== 'repair'))
    return acted(deps, { ref, claim }, step)
  if (step.kind === 'interrupt') {
    await announceInterruption(deps, ref, step.interruption)
  } else {
    const verdict = await prepareRepair(deps, ref, { claim, node, repair: step.repair })
    if (verdict !== 'delete') {
      const otherwise = nextStep(claim, { ...at, now: deps.now() }, { node, rules: { ...deps.nodeRules, repairs: [] } })
      return otherwise.kind === 'steady' ? verdict : acted(deps, { ref, claim }, otherwise)
    }
  }
  await deleteClaim(deps, ref)
  countDisruption(deps, claim, step.kind === 'interrupt' ? 'interrupted' : 'unhealthy')
  if (step.kind === 'repair') deps.lifecycleMetrics.repaired(claim, step.repair.type)
  return { kind: 'terminate' }
}

/** A claim that nobody's planner made gets its finalizer; a claim of which a Node is being deleted is deleted with it. */
async function prepare(deps: ObserveDeps, ref: ClaimRef, claim: NodeClaim): Promise<NodeClaim | undefined> {
  if (claimNodes(deps, claim).some(({ metadata }) => metadata.deletionTimestamp !== undefined)) {
    await deleteClaim(deps, ref)
    return liveClaim(deps, ref)
  }
  return withFinalizer(deps, claim)
}

/** The claim with the finalizer, which has to stand before a VM is made for it; undefined when it is gone. One that is being deleted stays as it is. */
export async function withFinalizer(deps: ObserveDeps, claim: NodeClaim): Promise<NodeClaim | undefined> {
  if (claim.metadata.finalizers.includes(terminationFinalizer)) return claim
  const { name, uid } = claim.metadata
  return updateClaim(deps, { name, uid }, ({ metadata: { finalizers, deletionTimestamp } }) =>
    finalizers.includes(terminationFinalizer) || deletionTimestamp !== undefined
      ? undefined
      : { metadata: { finalizers: [...finalizers, terminationFinalizer] } },
  )
}

function shown(claim: NodeClaim, now: number): Omit<Observation, 'step'> {
  const own = claim.metadata.labels
  const hold = holdOf(claim, now)
  const facts = {
    hold: hold && holdText(hold),
    nodePool: own[labels.nodePool],
    nodeName: claim.status.nodeName,
    instanceType: own[labels.instanceType],
    capacityType: own[labels.capacityType],
    zone: own[labels.zone],
  }
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined))
}

/** The Nodes with the provider id of a claim as the cache has them, whoever's they are: one, or by mistake several. */
export function nodesOfVm(deps: ObserveDeps, { status: { providerId } }: NodeClaim): readonly Node[] {
  return providerId === undefined ? [] : deps.cache.nodes.by('byProviderId', providerId.toLowerCase())
}

/** Those of them that are proven to be the claim's. */
function claimNodes(deps: ObserveDeps, claim: NodeClaim): readonly Node[] {
  return nodesOfVm(deps, claim).filter((node) => isNodeOf(claim, node))
}

/** The Node of a claim, found by its provider id; of several the one that it was registered with. */
export function claimNode(deps: ObserveDeps, claim: NodeClaim): Node | undefined {
  const nodes = claimNodes(deps, claim)
  return nodes.find(({ metadata }) => metadata.name === claim.status.nodeName) ?? nodes[0]
}

/**
 * The Nodes of a claim, looked for in the API server before they are said to be missing: what ends a life must not take a watch that lags for a Node
 * that is gone.
 */
export async function liveNodes(deps: ObserveDeps, claim: NodeClaim): Promise<readonly Node[]> {
  const known = claimNodes(deps, claim)
  return known.length > 0 ? known : [(await readNode(deps, claim)) ?? []].flat()
}

/**
 * The Node of a claim as the API server has it now; undefined when there is none. A launch whose answer was lost may have left a VM, and so a
 * Node, that the claim's status does not name: it is known by the VM's name.
 */
export async function readNode(deps: ObserveDeps, claim: NodeClaim): Promise<Node | undefined> {
  const { nodeName, providerId } = claim.status
  // Azure's kubelets name their Nodes after the VM, which the provider id ends with.
  const vm = providerId?.slice(providerId.lastIndexOf('/') + 1) ?? `aks-${claim.metadata.name}`
  // Status and name of a claim that was made by hand hold any text, of which no request is made.
  if (subdomainErrors(nodeName ?? vm).length > 0) return undefined
  try {
    const json = await deps.client.get(resourcePath('nodes', nodeName ?? vm))
    const node = decodeNode(json)
    const found = node.providerId?.toLowerCase()
    const isOwn =
      providerId === undefined
        ? found?.endsWith(`/virtualmachines/${vm.toLowerCase()}`) === true
        : found === providerId.toLowerCase()
    if (!isOwn || !isNodeOf(claim, node)) return undefined
    deps.cache.upsert('Node', json)
    return node
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** Counts a claim that was deleted without a command, with the pods that lose their place. */
export function countDisruption(deps: ObserveDeps, claim: NodeClaim, reason: string): void {
  const node = claimNode(deps, claim)
  const pods = node === undefined ? [] : deps.cache.pods.by('byNode', node.metadata.name)
  deps.disruptionMetrics.disrupted({
    nodeClaim: claim,
    why: { reason },
    reschedulablePods: pods.filter(isReschedulable).length,
  })
}

/** Asks for a claim's deletion: of that very claim, and only once. */
export async function deleteClaim(deps: ObserveDeps, ref: ClaimRef): Promise<void> {
  try {
    await deps.client.delete(resourcePath('nodeclaims', ref.name), { uid: ref.uid })
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error
  }
}

const eventReasons: Readonly<Record<GiveUpReason, EventReason>> = {
  insufficient_capacity: 'InsufficientCapacityError',
  nodeclass_not_ready: 'NodeClassNotReady',
  invalid_nodeclaim: 'InvalidNodeClaim',
  launch_timeout: 'LaunchTimeout',
  registration_timeout: 'RegistrationTimeout',
}

/** Ends a claim that cannot become a node: its pods are planned again. A claim that has its Node by then is kept, whoever asks. */
export async function giveUp(
  deps: ObserveDeps,
  { claim: ref, reason, message }: Parameters<KubernetesActivities['giveUp']>[0],
): Promise<GiveUpOutcome> {
  const claim = await liveClaim(deps, ref)
  if (claim === undefined) return { kind: 'ended' }
  if (isTrue(claim.status.conditions, 'Registered')) return { kind: 'kept' }
  deps.events.record({
    about: subject(claim),
    reason: eventReasons[reason],
    message: `NodeClaim ${ref.name} event: ${message}`,
  })
  deps.log.warn({ nodeClaim: ref.name, reason, why: message }, 'gave up nodeclaim')
  if (reason === 'launch_timeout' || reason === 'registration_timeout') await recordRegistration(deps, claim, false)
  await deleteClaim(deps, ref)
  if (claim.metadata.deletionTimestamp === undefined) countDisruption(deps, claim, reason)
  return { kind: 'ended' }
}
