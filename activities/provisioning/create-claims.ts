import { randomInt } from 'node:crypto'
import { realPods } from '../../core/capacity-buffer/buffer-pods.ts'
import type { NodeClaim, Pod } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import { annotations } from '../../core/requirements/labels.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import { type LeftOutSizesDeps, leftOutAnnotationOf } from '../azure/refusals/left-out-sizes.ts'
import { forEachOf } from '../concurrency.ts'
import { decodeNodeClaim } from '../kubernetes/cache/decode.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import { resourcePath } from '../kubernetes/client/resources.ts'
import { subject } from '../kubernetes/event-recorder.ts'
import { type PauseDeps, readPause } from '../kubernetes/pauses/pauses.ts'
import { overlayAnnotationsOf } from '../node-overlays/pool-types.ts'
import { milestones } from '../telemetry/milestones.ts'
import { claimBody } from './claim-body.ts'
import { isWebhookFailure, refusalBefore, refusalOf } from './claim-refusal.ts'
import { type Fence, FenceLostError } from './fence.ts'
import type { Findings } from './findings/findings.ts'
import type { LifecycleStarter } from './lifecycle-starter.ts'
import type { RefusingDeps } from './node-refusals/node-refusals.ts'
import type { PlannerParts } from './parts.ts'
import { type Admission, PoolLimits, type PoolLimitsDeps } from './pool-limits.ts'

export interface CreateClaimsDeps
  extends PoolLimitsDeps,
    PauseDeps,
    RefusingDeps,
    LeftOutSizesDeps,
    Pick<PlannerParts, 'tracing' | 'refusedClaims' | 'metrics'> {
  readonly lifecycles: LifecycleStarter
  readonly findings: Findings
}

/** Claims that are created at once. */
const concurrency = 16
/** Interval of reading fence and pause from the API server during creation: well within the 2 s after which a pause must hold. */
const checkEveryMs = 500

/** What a round of provisioning came to. `paused`: nothing was created, or not all. */
export type ProvisioningOutcome = 'planned' | 'paused'

export interface CreationOutcome {
  /** `paused`: a pause came in between; the pods of claims that were not created stay pending. */
  readonly kind: 'created' | 'paused'
  readonly names: readonly string[]
  /** How many claims the API server refused. */
  readonly refused: number
  /** Claims for which a webhook fails, and those that are left to a later pass for it. */
  readonly failed: readonly PlannedNodeClaim[]
}

/**
 * Creates the claims of a plan, several at once, and then starts their lifecycles: launches of the first would take the CPU that the creation of the
 * others needs, and pods wait for those too. A claim that the API server refuses fails alone: the others are created.
 * No creation begins later than `checkEveryMs` after a read of fence and pause from the API server. A crash in between is harmless: the next
 * attempt sees created claims as in-flight capacity, and the bridge starts what has no lifecycle.
 * Errors: `FenceLostError` when another attempt has taken over; the API server's where they say nothing about the claim, unless a webhook failed. Then
 * claims of other NodePools were created.
 */
export async function createClaims(
  deps: CreateClaimsDeps,
  fence: Fence,
  planned: readonly PlannedNodeClaim[],
): Promise<CreationOutcome> {
  const created: NodeClaim[] = []
  let refused = 0
  const waiting = planned.values()
  const failures = new PoolFailures()
  const mayGoOn = sharedCheck(deps, fence)
  const limits = new PoolLimits(deps)
  let isPaused = false
  const worker = async () => {
    for (const claim of waiting) {
      if (isPaused) return
      if (failures.leaveOut(claim)) continue
      if (!(await mayGoOn())) {
        isPaused = true
        return
      }
      const made = await createClaim(deps, { fence, limits }, claim).catch((error: unknown) =>
        failures.add(claim, error),
      )
      if (made?.kind === 'created') created.push(made.claim)
      else if (made?.kind === 'refused') refused += 1
    }
  }
  const results = await Promise.allSettled(Array.from({ length: concurrency }, worker))
  await forEachOf(created, concurrency, (claim) => startLifecycle(deps, claim))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  const names = created.map(({ metadata }) => metadata.name)
  return { kind: isPaused ? 'paused' : 'created', names, refused, failed: failures.reported(deps) }
}

interface Failed {
  /** Those that are left out too. */
  readonly claims: PlannedNodeClaim[]
  readonly errors: unknown[]
}

/** Creations that failed for what says nothing of their claims. What fails for one NodePool, such as a webhook for its claims, may work for the others. */
class PoolFailures {
  readonly #byPool = new Map<string, Failed>()

  /** Errors: that of a lost fence, which ends the attempt. */
  add(claim: PlannedNodeClaim, error: unknown): void {
    if (error instanceof FenceLostError) throw error
    const known = this.#byPool.get(claim.nodePool) ?? { claims: [], errors: [] }
    this.#byPool.set(claim.nodePool, known)
    known.claims.push(claim)
    known.errors.push(error)
  }

  /** Returns whether a claim is left to a later pass, since so many of its NodePool failed. */
  leaveOut(claim: PlannedNodeClaim): boolean {
    const known = this.#byPool.get(claim.nodePool)
    if (known === undefined || known.errors.length < concurrency) return false
    known.claims.push(claim)
    return true
  }

  /** Reports on the pods of claims for which a webhook fails, and returns these claims. Errors: the first that is not a webhook's. */
  reported(deps: CreateClaimsDeps): readonly PlannedNodeClaim[] {
    for (const [nodePool, { claims, errors }] of this.#byPool) {
      const why = errors.find(isWebhookFailure)?.message
      if (why === undefined) continue
      deps.log.warn({ nodePool, nodeClaims: claims.length, why }, 'webhook failed for nodeclaims, retrying')
      for (const claim of claims) reportFailed(deps, claim, why)
    }
    const all = [...this.#byPool.values()]
    const other = all.flatMap(({ errors }) => errors).find((error) => !isWebhookFailure(error))
    if (other !== undefined) throw other
    return all.flatMap(({ claims }) => claims)
  }
}

/** Returns whether creation may go on, from one read of the API server for all callers within the interval. */
function sharedCheck(deps: CreateClaimsDeps, fence: Fence): () => Promise<boolean> {
  let askedAt = Number.NEGATIVE_INFINITY
  let answer: Promise<boolean> = Promise.resolve(true)
  return () => {
    if (deps.now() - askedAt >= checkEveryMs) {
      askedAt = deps.now()
      answer = Promise.all([fence.check(), readPause(deps, 'provisioning', deps.now())]).then(
        ([, pause]) => pause === undefined,
      )
    }
    return answer
  }
}

async function createClaim(deps: CreateClaimsDeps, guards: Guards, planned: PlannedNodeClaim): Promise<Creation> {
  const made = await createOne(deps, guards, {
    planned,
    name: `${planned.nodePool}-${randomSuffix()}`,
    annotations: deps.nodeRefusals.annotations(deps, planned),
  })
  if (made.kind === 'limitExceeded') reportOverLimit(deps, planned, made.message)
  if (made.kind === 'poolChanged') deps.log.info({ why: made.message }, 'nodeclaim is planned again')
  if (made.kind === 'refused') reportRefused(deps, planned, made.message)
  if (made.kind !== 'created') return made
  deps.refusedClaims.accept(planned)
  deps.nodeRefusals.created(deps, made.claim)
  for (const pod of realPods(planned.pods)) nominate(deps, pod, { nodeClaim: made.claim.metadata.name })
  return made
}

/** Checks that a creation has to pass. */
interface Guards {
  readonly fence: Fence
  readonly limits: PoolLimits
}

interface NewClaim {
  readonly planned: PlannedNodeClaim
  readonly name: string
  /** Added to those of every claim. */
  readonly annotations?: Readonly<Record<string, string>>
  /** The reason for it in the metrics. */
  readonly reason?: string
}

type Creation =
  | { readonly kind: 'created'; readonly claim: NodeClaim }
  /** The API server does not take this claim, however often it is sent. */
  | { readonly kind: 'refused'; readonly message: string }
  | Exclude<Admission, { readonly kind: 'admitted' }>

/**
 * Creates one claim, if its pool is there and has room for it. The caller starts its lifecycle. Errors: as `Fence.check`, and the API server's where
 * they say nothing about the claim.
 */
export async function createOne(
  deps: CreateClaimsDeps,
  { fence, limits }: Guards,
  { planned, name, annotations: own = {}, reason }: NewClaim,
): Promise<Creation> {
  const admission = await limits.admit(planned)
  if (admission.kind !== 'admitted') return admission
  let mayBeThere = false
  try {
    await fence.checkIfStale()
    const about = { 'k8s.nodeclaim.name': name, 'karpenter.nodepool': planned.nodePool }
    return await deps.tracing.span('create NodeClaim', { attributes: about }, async () => {
      const traceParent = deps.tracing.current()
      const added = {
        ...own,
        ...overlayAnnotationsOf(deps, planned),
        ...leftOutAnnotationOf(deps, planned),
        ...(traceParent === undefined ? {} : { [annotations.traceParent]: traceParent }),
      }
      const body = claimBody(admission.nodePool, planned, { name, annotations: added })
      // Where the answer is lost the watch reports what was created.
      mayBeThere = true
      const submitted = await submit(deps, body)
      if (submitted.kind === 'refused') {
        mayBeThere = false
        deps.metrics.refused(planned)
        return submitted
      }
      deps.metrics.created(planned, reason)
      milestones.created(deps.log, submitted.claim, planned)
      return submitted
    })
  } finally {
    if (mayBeThere) limits.created(planned)
    else limits.giveBack(planned)
  }
}

async function submit(deps: CreateClaimsDeps, body: Json): Promise<Extract<Creation, { kind: 'created' | 'refused' }>> {
  const early = refusalBefore(body)
  if (early !== undefined) return { kind: 'refused', message: early }
  try {
    const json = await deps.client.create(resourcePath('nodeclaims'), body)
    deps.cache.upsert('NodeClaim', json)
    return { kind: 'created', claim: decodeNodeClaim(json) }
  } catch (error) {
    const message = refusalOf(error)
    if (message === undefined) throw error
    return { kind: 'refused', message }
  }
}

/** Starts the lifecycle of a claim that was created just now. A failure is logged: then the bridge starts it. */
export async function startLifecycle({ lifecycles, log }: CreateClaimsDeps, claim: NodeClaim): Promise<void> {
  try {
    await lifecycles.start(claim, { isNew: true })
  } catch (error) {
    log.warn({ nodeClaim: claim.metadata.name, err: error }, 'failed to start lifecycle, the bridge starts it')
  }
}

/** Backs off the pods, which are then planned without others to share the claim. */
function reportRefused(deps: CreateClaimsDeps, planned: PlannedNodeClaim, message: string): void {
  const { nodePool, pods } = planned
  deps.log.warn({ nodePool, pods: pods.map(podName).slice(0, 10), why: message }, 'API server rejected nodeclaim')
  deps.refusedClaims.refuse(deps, planned, { message, now: deps.now() })
  for (const pod of realPods(pods)) {
    deps.events.record({
      about: subject(pod),
      reason: 'FailedScheduling',
      message: `Failed to schedule pod, NodeClaim of NodePool ${nodePool} refused: ${message}`,
      values: [pod.metadata.uid, 'refused'],
    })
  }
}

/** Leaves the pods pending: they are planned again in a while. */
function reportFailed({ events, findings }: CreateClaimsDeps, planned: PlannedNodeClaim, message: string): void {
  const { nodePool, pods } = planned
  findings.webhookFailed(nodePool, realPods(pods), message)
  for (const pod of realPods(pods)) {
    events.record({
      about: subject(pod),
      reason: 'FailedScheduling',
      message: `Failed to schedule pod, NodeClaim of NodePool ${nodePool} could not be created: ${message}`,
      values: [pod.metadata.uid, 'webhook'],
    })
  }
}

/** Leaves the pods pending: they are planned again, with the limits as they are then. */
function reportOverLimit(
  { log, events, findings }: CreateClaimsDeps,
  { nodePool, pods }: PlannedNodeClaim,
  message: string,
): void {
  findings.overLimit(nodePool, realPods(pods), message)
  log.warn({ nodePool, pods: pods.length, why: message }, 'nodeclaim exceeds limits of its nodepool; raise spec.limits')
  for (const pod of realPods(pods))
    events.record({ about: subject(pod), reason: 'FailedScheduling', message: `Failed to schedule pod, ${message}` })
}

/** Records and publishes where a pod should go. */
export function nominate(
  { nominations, events, now }: CreateClaimsDeps,
  pod: Pod,
  { node, nodeClaim }: { readonly node?: string; readonly nodeClaim?: string },
): void {
  nominations.nominate(pod.metadata.uid, nodeClaim ?? node ?? '', now())
  const places = [nodeClaim && `nodeclaim/${nodeClaim}`, node && `node/${node}`].filter((place) => place !== undefined)
  events.record({ about: subject(pod), reason: 'Nominated', message: `Pod should schedule on: ${places.join(', ')}` })
}

/** Returns five characters, as in Kubernetes' own generated names. */
function randomSuffix(): string {
  const alphabet = 'bcdfghjklmnpqrstvwxz2456789'
  return Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('')
}
