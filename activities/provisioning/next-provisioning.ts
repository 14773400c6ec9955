import { realPlan } from '../../core/capacity-buffer/buffer-pods.ts'
import type { Pod } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import type { SchedulingPlan } from '../../core/scheduling/snapshot.ts'
import type { UnschedulableCause } from '../../core/scheduling/unschedulable.ts'
import { ignoredText, unschedulableText } from '../../core/scheduling/unschedulable-text.ts'
import { subject } from '../kubernetes/event-recorder.ts'
import { type PauseDeps, readPause } from '../kubernetes/pauses/pauses.ts'
import type { ThreadPlan } from '../scheduler-thread/keyed-plan.ts'
import { solve } from '../scheduler-thread/solve.ts'
import { type CreateClaimsDeps, createClaims, nominate, type ProvisioningOutcome } from './create-claims.ts'
import type { Fence } from './fence.ts'
import type { FindingsDeps } from './findings/findings.ts'
import { podsToPlace } from './planning-snapshot.ts'
import { fillStaticPools } from './static-capacity/shortages.ts'
import { batchWindow, nextWork, type Round, retryMs, type WaitingPodsDeps } from './waiting-pods.ts'

export interface NextProvisioningDeps extends WaitingPodsDeps, CreateClaimsDeps, PauseDeps, FindingsDeps {}

/** Time after which a pod with many constraints that the pass had no time for is planned again. */
const postponedMs = 2000
const postponed =
  'pods with many constraints and preferences are planned after all others, and the pass had no time left; use fewer'

/**
 * Waits for pods that need a node, plans them and creates NodeClaims; creates those that static NodePools lack. Returns after it did something, or when it
 * finds a pause. The state in memory (which pods were tried) only saves work: all decisions are taken from the cluster. Errors: as `createClaims`.
 */
export async function nextProvisioning(
  deps: NextProvisioningDeps,
  fence: Fence,
  round: Round,
): Promise<ProvisioningOutcome> {
  const { signal } = round
  await deps.quarantine.refresh(true)
  await deps.nodeRefusals.read(deps)
  const end = deps.findings.begin(deps, fence)
  const tried = new Map<string, number>()
  try {
    for (;;) {
      const work = await nextWork(deps, tried, signal)
      if (work === 'pods') await batchWindow(deps, round)
      if (await isPaused(deps)) return 'paused'
      await deps.cache.connected(signal)
      await deps.unavailable.synced(signal)
      const outcome = work === 'pods' ? await planOnce(deps, fence, tried) : await fillStaticPools(deps, fence)
      if (outcome === 'paused') await isPaused(deps)
      if (outcome !== undefined) return outcome
    }
  } finally {
    end()
  }
}

/** Whether provisioning is paused, which is recorded then: nothing is recorded until it is resumed. */
async function isPaused(deps: NextProvisioningDeps): Promise<boolean> {
  const pause = await readPause(deps, 'provisioning', deps.now())
  if (pause !== undefined) await deps.findings.paused(deps, pause)
  return pause !== undefined
}

async function planOnce(
  deps: NextProvisioningDeps,
  fence: Fence,
  tried: Map<string, number>,
): Promise<ProvisioningOutcome | undefined> {
  const pods = podsToPlace(deps)
  deps.nominations.keepOnly(new Set(pods.map((pod) => pod.metadata.uid)))
  deps.metrics.waiting(pods)
  const waitsSinceMs = deps.metrics.undecidedSince(pods)
  const solvesSinceMs = deps.now()
  const plan = await planned(deps, pods, tried)
  const claims = plan === undefined ? [] : deps.nodeRefusals.admitted(deps, plan)
  if (plan === undefined || claims.length === 0) return undefined
  const attributes = { 'joiner.pods': pods.length, 'joiner.nodeclaims': claims.length }
  const created = await deps.tracing.span('provisioning', { startMs: waitsSinceMs, attributes }, () => {
    deps.tracing.past('schedule', { startMs: solvesSinceMs })
    return createClaims(deps, fence, claims)
  })
  if (created.kind === 'paused') return 'paused'
  for (const pod of created.failed.flatMap(({ pods }) => pods)) tried.set(pod.metadata.uid, deps.now() + retryMs)
  // Where all were refused or failed their pods wait.
  return created.refused + created.failed.length === claims.length ? undefined : 'planned'
}

/** Plans these pods, and after them those that keep room for buffers. Records what the plan says of the former, and of the latter in their buffers. */
async function planned(
  deps: NextProvisioningDeps,
  pods: readonly Pod[],
  tried: Map<string, number>,
): Promise<ThreadPlan | undefined> {
  const virtual = deps.buffers.begin()
  let plan: ThreadPlan | undefined
  try {
    if (pods.length + virtual.length === 0) return undefined
    reportDropped(deps, pods)
    plan = await solve(deps, [...pods, ...virtual])
  } finally {
    deps.buffers.passed(plan)
  }
  if (plan === undefined) return undefined
  const real = realPlan(plan)
  deps.metrics.passed(real)
  publishIgnoredPreferences(deps, pods)
  recordPlacements(deps, real, tried)
  deps.findings.passed(deps, pods, real)
  logPass(deps, pods.length, { ...real, newNodeClaims: plan.newNodeClaims })
  return plan
}

/** Publishes which preferences of pods were dropped, because there are too many. */
function reportDropped({ events }: NextProvisioningDeps, pods: readonly Pod[]): void {
  for (const pod of pods) {
    const dropped = pod.excess?.dropped
    if (dropped !== undefined)
      events.record({ about: subject(pod), reason: 'PreferencesDropped', message: `Preferences dropped: ${dropped}` })
  }
}

/** Logs a pass: at debug when it creates nothing, since such passes are repeated every few seconds. */
function logPass({ log }: NextProvisioningDeps, pods: number, plan: ThreadPlan): void {
  const { newNodeClaims, existing, unschedulable, stopped, ignored, snapshotMs, solveMs } = plan
  const onNodes = existing.reduce((sum, place) => sum + place.pods.length, 0)
  const fields = {
    pods,
    nodeClaims: newNodeClaims.length,
    onNodes,
    unschedulable: unschedulable.length - ignored,
    ignored,
    snapshotMs,
    solveMs,
  }
  log[newNodeClaims.length > 0 ? 'info' : 'debug'](fields, 'planned pods')
  if (stopped) log.warn(fields, 'scheduling reached its time limit, remaining pods follow in the next pass')
}

function recordPlacements(deps: NextProvisioningDeps, plan: SchedulingPlan, tried: Map<string, number>): void {
  for (const { node, nodeClaim, pods } of plan.existing) {
    for (const pod of pods) nominate(deps, pod, placeOf(deps, node, nodeClaim))
  }
  for (const { pod, cause } of plan.unschedulable) {
    tried.set(pod.metadata.uid, deps.now() + retryMs)
    publishUnschedulable(deps, pod, cause)
  }
  deps.heavyPods.failed(
    plan.unschedulable.map(({ pod }) => pod),
    deps.now(),
  )
  for (const pod of plan.postponed ?? []) {
    tried.set(pod.metadata.uid, deps.now() + postponedMs)
    deps.log.debug({ pod: podName(pod), why: postponed }, 'could not schedule pod')
    publishFailure(deps, pod, postponed)
  }
  for (const { nodePool, byMinValues } of plan.incompatiblePools ?? []) {
    const found = deps.cache.nodePools.get(nodePool)
    const why = byMinValues ? ' due to minValues incompatibility' : ''
    const message = `NodePool requirements filtered out all compatible available instance types${why}`
    if (found) deps.events.record({ about: subject(found), reason: 'NoCompatibleInstanceTypes', message })
  }
}

function publishIgnoredPreferences({ events }: NextProvisioningDeps, pods: readonly Pod[]): void {
  for (const pod of pods) {
    const { ignoredPreferences: message } = pod
    if (message !== undefined) events.record({ about: subject(pod), reason: 'PreferenceIgnored', message })
  }
}

/** Returns the place of a pod. A claim whose Node has not joined is a place by itself. */
function placeOf({ cache }: NextProvisioningDeps, node: string, nodeClaim: string | undefined) {
  if (nodeClaim === undefined) return { node }
  return node === nodeClaim && cache.nodes.get(node) === undefined ? { nodeClaim } : { nodeClaim, node }
}

function publishUnschedulable(deps: NextProvisioningDeps, pod: Pod, cause: UnschedulableCause): void {
  deps.log.debug({ pod: podName(pod), why: unschedulableText(cause) }, 'could not schedule pod')
  // A pod that excludes Karpenter's nodes on purpose gets no event.
  const isMeantFor = cause.kind !== 'ignored' || cause.reasons.every(({ kind }) => kind !== 'not-on-karpenter')
  if (isMeantFor) publishFailure(deps, pod, failureText(cause))
}

function publishFailure({ events }: NextProvisioningDeps, pod: Pod, why: string): void {
  events.record({ about: subject(pod), reason: 'FailedScheduling', message: `Failed to schedule pod, ${why}` })
}

/** The reason without upstream's words that planning leaves the pod out, which its event does not have. */
function failureText(cause: UnschedulableCause): string {
  if (cause.kind === 'ignored') return cause.reasons.map(ignoredText).join('; ')
  return cause.kind === 'too-much' ? cause.excess : unschedulableText(cause)
}
