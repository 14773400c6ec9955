// Derives the facts of a lifecycle from its NodeClaim: at the start of its workflow, and when the NodeClaim is being deleted.
import { buffersOf, realPods } from '../capacity-buffer/buffer-pods.ts'
import { conditionOf, isTrue, nodeGone } from '../conditions.ts'
import type { DisruptionReason } from '../disruption/command.ts'
import { type ExpiringClaim, expiryDue } from '../node-claim/lifecycle.ts'
import { type NodeRules, noNodeRules, repairOf, repairText } from '../node-claim/node-health.ts'
import type { Condition, Node, NodeClaim } from '../objects.ts'
import { annotations, labels, wellKnownLabels } from '../requirements/labels.ts'
import type { PlannedNodeClaim } from '../scheduling/snapshot.ts'
import { defined } from '../values/defined.ts'
import { printable } from '../values/printable.ts'
import { shortened } from '../values/texts.ts'
import { timeText } from '../values/time.ts'
import type { Birth, Death, LifeFacts, VmSpan } from './life.ts'
import { longestMessage } from './record.ts'

const disruptionReasons: ReadonlySet<string> = new Set<DisruptionReason>([
  'Unhealthy',
  'Empty',
  'Drifted',
  'Underutilized',
])
/** Most characters of labels, and of the names of replaced NodeClaims. */
const mostLabelChars = 600
const mostReplacedChars = 400

type Prices = Pick<VmSpan, 'pricePerHour' | 'isEstimate'>

/** Returns a price as the annotation of a NodeClaim. */
export function priceAnnotation({ pricePerHour, isEstimate }: Prices): Readonly<Record<string, string>> {
  return pricePerHour === undefined
    ? {}
    : { [annotations.pricePerHour]: `${isEstimate === true ? '~' : ''}${pricePerHour}` }
}

/** Returns the annotation with the names of the NodeClaims that a replacement stands for, as many as fit. */
export function replacesAnnotation(names: readonly string[]): Readonly<Record<string, string>> {
  return { [annotations.replaces]: someOf(names).join(',') }
}

/**
 * Returns the annotations that say what a NodeClaim was planned for: how many pods, and which CapacityBuffers, as many as fit; or which number of
 * replicas of its static NodePool.
 */
export function plannedAnnotations({
  pods,
  forReplicas,
}: Pick<PlannedNodeClaim, 'pods' | 'forReplicas'>): Readonly<Record<string, string>> {
  if (forReplicas !== undefined) return { [annotations.forReplicas]: String(forReplicas) }
  const buffers = someOf(buffersOf(pods)).join(',')
  return {
    [annotations.plannedPods]: String(realPods(pods).length),
    ...(buffers === '' ? {} : { [annotations.plannedBuffers]: buffers }),
  }
}

function someOf(names: readonly string[]): readonly string[] {
  let chars = 0
  return names.filter((name) => {
    chars += name.length + 3
    return name !== '' && chars <= mostReplacedChars
  })
}

/** Returns the price that a NodeClaim's annotation keeps of its launch. */
export function priceOfClaim({ metadata }: Pick<NodeClaim, 'metadata'>): Prices {
  const [, tilde, digits = ''] =
    /^(~?)(\d{1,6}(?:\.\d{1,12})?)$/.exec(metadata.annotations[annotations.pricePerHour] ?? '') ?? []
  const pricePerHour = Number.parseFloat(digits)
  if (Number.isNaN(pricePerHour)) return {}
  return { pricePerHour, ...(tilde === '~' ? { isEstimate: true } : {}) }
}

/**
 * Returns the facts that a NodeClaim itself shows. A lifecycle starts with them: those of a new NodeClaim are why it was created; those of one whose
 * earlier workflow was lost also contain its VM and when it became ready.
 */
export function factsOfClaim(claim: NodeClaim): LifeFacts {
  const { metadata, status } = claim
  const { [labels.nodePool]: nodePool } = metadata.labels
  return {
    ...defined({ nodePool, node: status.nodeName }),
    createdMs: Date.parse(metadata.creationTimestamp),
    ...joinTimes(claim),
    vms: vmOf(claim),
    came: birthOf(claim),
    refused: [],
    attempts: 0,
    labels: ownLabels(metadata.labels),
  }
}

/** Returns when a NodeClaim's Node registered and was initialized, in whole seconds. */
export function joinTimes(claim: NodeClaim): Pick<LifeFacts, 'registeredMs' | 'readyMs'> {
  return { ...registrationTime(claim), ...readyTime(claim) }
}

export function registrationTime({ status }: NodeClaim): Pick<LifeFacts, 'registeredMs'> {
  const registeredMs = sinceTrue(status.conditions, 'Registered')
  return registeredMs === undefined ? {} : { registeredMs }
}

export function readyTime({ status }: NodeClaim): Pick<LifeFacts, 'readyMs'> {
  const readyMs = sinceTrue(status.conditions, 'Initialized')
  return readyMs === undefined ? {} : { readyMs }
}

function sinceTrue(conditions: NodeClaim['status']['conditions'], type: string): number | undefined {
  if (!isTrue(conditions, type)) return undefined
  const ms = Date.parse(conditionOf(conditions, type)?.lastTransitionTime ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

function vmOf(claim: NodeClaim): readonly VmSpan[] {
  const fromMs = sinceTrue(claim.status.conditions, 'Launched')
  const {
    [labels.instanceType]: instanceType,
    [labels.zone]: zone = '',
    [labels.capacityType]: capacityType = '',
  } = claim.metadata.labels
  return fromMs === undefined || instanceType === undefined
    ? []
    : [{ instanceType, zone, capacityType, ...priceOfClaim(claim), fromMs }]
}

function birthOf({ metadata: { annotations: own } }: NodeClaim): Birth {
  const command = own[annotations.replacementFor]
  if (command !== undefined)
    return { kind: 'replacement', command, replaces: someOf((own[annotations.replaces] ?? '').split(',')) }
  const replicas = countIn(own[annotations.forReplicas])
  if (replicas !== undefined) return { kind: 'static', replicas }
  const pods = countIn(own[annotations.plannedPods])
  if (pods === undefined) return { kind: 'by-hand' }
  const buffers = someOf((own[annotations.plannedBuffers] ?? '').split(','))
  return { kind: 'pods', pods, ...(buffers.length === 0 ? {} : { buffers }) }
}

function countIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined
}

function ownLabels(all: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  let chars = 0
  const own = Object.entries(all).filter(([key]) => !isCommon(key))
  return Object.fromEntries(
    own
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .filter(([key, value]) => {
        chars += key.length + value.length + 6
        return chars <= mostLabelChars
      }),
  )
}

/** Whether Kubernetes, Karpenter or Azure defines a label. */
function isCommon(key: string): boolean {
  const domain = key.split('/')[0] ?? ''
  return (
    wellKnownLabels.has(key) ||
    (key.includes('/') && /(^|\.)(kubernetes\.io|k8s\.io|karpenter\.sh|azure\.com)$/.test(domain))
  )
}

/** As much of a NodeClaim as says why it leaves. */
export interface LeavingClaim extends ExpiringClaim {
  readonly status: Pick<NodeClaim['status'], 'conditions'>
}

/** Returns why a NodeClaim leaves by the marks of whoever has it leave, also before it is deleted; undefined when it has none. */
export function announcedDeath({ metadata, status }: Omit<LeavingClaim, 'spec'>): Death | undefined {
  const { annotations: own } = metadata
  const announced = own[annotations.interrupted]
  if (announced !== undefined) return because('interrupted', announced)
  if (own[annotations.cancelledAt] !== undefined) return because('cancelled', 'cancelled in Temporal')
  const command = own[annotations.disruptionCommand]
  const disrupted = conditionOf(status.conditions, 'DisruptionReason')
  return command !== undefined && disrupted !== undefined && isDisruptionReason(disrupted.reason)
    ? { kind: 'disruption', command, reason: disrupted.reason }
    : undefined
}

/** Returns why a NodeClaim is being deleted, by what it and its Node say; undefined when it is not. */
export function deathOf(claim: LeavingClaim, node?: Node, rules: NodeRules = noNodeRules): Death | undefined {
  const { deletionTimestamp, annotations: own } = claim.metadata
  if (deletionTimestamp === undefined) return undefined
  const deletedMs = Date.parse(deletionTimestamp)
  const announced = announcedDeath(claim)
  if (announced !== undefined) return announced
  const expiry = expiryDue(claim, deletedMs)
  // A time of deletion has whole seconds.
  if (expiry !== undefined && expiry < deletedMs + 1000) return expired(expiry)
  const repairedFor = own[annotations.repairedFor]
  if (repairedFor !== undefined) return because('repaired', repairedFor)
  const repair = node && repairOf(node, rules)
  if (repair !== undefined && repair.dueAtMs < deletedMs + 1000) return because('repaired', repairText(repair))
  const replicas = countIn(own[annotations.scaledDownTo])
  const gone = conditionOf(claim.status.conditions, nodeGone)
  if (replicas === undefined) return gone?.status === 'True' ? nodeWasGone(gone) : { kind: 'deleted' }
  return because('scaled-down', `spec.replicas of its NodePool was ${replicas}`)
}

/** Returns the end of a NodeClaim without its Node. */
export function nodeWasGone(condition: Condition | undefined): Death {
  return because('node-gone', `since ${condition?.lastTransitionTime ?? 'now'}`)
}

function isDisruptionReason(reason: string | undefined): reason is DisruptionReason {
  return reason !== undefined && disruptionReasons.has(reason)
}

/** Returns why a NodeClaim ends at its expiry. */
export function expired(expiryMs: number): Death {
  return { kind: 'expired', message: `expired at ${timeText(expiryMs)}` }
}

type DeathWithMessage = Exclude<Death, { kind: 'disruption' | 'gave-up' | 'deleted' }>

/** Returns a cause with its message, which is shortened and has no control characters. */
export function because(kind: DeathWithMessage['kind'], message: string): Death {
  return { kind, message: shortened(printable(message), longestMessage) }
}
