import { conditionOf, isTrue } from '../../core/conditions.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { annotations, taintKeys } from '../../core/requirements/labels.ts'
import { hasPassed } from '../../core/values/time.ts'
import { ApiError } from '../kubernetes/client/api-error.ts'
import type { CommandObjectsDeps } from '../kubernetes/commands/command-objects.ts'
import { releaseCandidate, releaseReplacement, stampOf } from '../kubernetes/commands/command-objects.ts'
import { claimNode } from '../kubernetes/lifecycle/claim-nodes.ts'
import type { Fence } from '../provisioning/fence.ts'
import type { PlannerParts } from '../provisioning/parts.ts'
import type { CommandStarter } from './command-starter.ts'
import type { DisruptionMemory } from './memory.ts'

export interface AbandonedDeps extends CommandObjectsDeps, Pick<PlannerParts, 'log' | 'nominations'> {
  readonly commands: Pick<CommandStarter, 'listed' | 'isRunning'>
}

/** Interval between the two checks of what seems abandoned, and between searches for it. */
const lookEveryMs = 5000

/** The right to release, beside which nothing is committed. */
export interface Releasing {
  readonly fence: Pick<Fence, 'check'>
  readonly signal: AbortSignal
}

/** What a command leaves on a NodeClaim or its Node. */
interface Trace {
  readonly claim: NodeClaim
  /** Unset for a taint or a condition without any stamp, as the first writes of a commit leave. */
  readonly commandId?: string
  readonly isReplacement?: true
}

/** Releases what belongs to no running command: its commit was cut off for good, or its workflow is gone. */
export async function releaseAbandoned(
  deps: AbandonedDeps,
  memory: DisruptionMemory,
  { fence, signal }: Releasing,
): Promise<void> {
  const now = deps.now()
  if (!hasPassed(lookEveryMs, memory.lookedForAbandonedMs, now)) return
  memory.lookedForAbandonedMs = now
  const known = [...traces(deps)]
  const running = known.some(({ commandId }) => commandId !== undefined)
    ? // Without the list each command is asked by itself.
      await deps.commands.listed().catch(() => new Set<string>())
    : new Set<string>()
  const found = new Map<string, Trace>()
  for (const trace of known)
    if (trace.commandId === undefined || !running.has(trace.commandId))
      found.set(`${trace.claim.metadata.uid} ${trace.commandId ?? ''}`, trace)
  const isRunning = runningCommands(deps)
  for (const name of memory.suspects.keys()) if (!found.has(name)) memory.suspects.delete(name)
  for (const [name, trace] of found) {
    const since = memory.suspects.get(name)
    if (since === undefined) memory.suspects.set(name, now)
    else if (hasPassed(lookEveryMs, since, now)) {
      memory.suspects.delete(name)
      await fence.check()
      signal.throwIfAborted()
      // The list may lag, so the command itself decides.
      if (trace.commandId === undefined || !(await isRunning(trace.commandId))) await release(deps, trace)
    }
  }
}

function* traces(deps: AbandonedDeps): Iterable<Trace> {
  const stamps = new Set<string>()
  const claims = [...deps.cache.nodeClaims.values()]
  for (const claim of claims) {
    const stamp = stampOf(claim)
    if (stamp !== undefined) stamps.add(stamp)
  }
  for (const claim of claims) {
    // A node that reboots has a reason for its disruption, and no command.
    if (claim.metadata.deletionTimestamp !== undefined || isTrue(claim.status.conditions, 'Rebooting')) continue
    const stamp = stampOf(claim)
    if (stamp !== undefined) yield { claim, commandId: stamp }
    else if (isMarked(deps, claim)) yield { claim }
    const replaced = claim.metadata.annotations[annotations.replacementFor]
    // As long as a candidate is there, even deleting, its pods may still come.
    if (replaced !== undefined && !stamps.has(replaced)) yield { claim, commandId: replaced, isReplacement: true }
  }
}

function isMarked(deps: AbandonedDeps, claim: NodeClaim): boolean {
  return (
    conditionOf(claim.status.conditions, 'DisruptionReason') !== undefined ||
    claimNode(deps, claim)?.taints.some(({ key }) => key === taintKeys.disrupted) === true
  )
}

/** Returns a function that asks once for each command, by its own workflow. */
function runningCommands({ commands }: AbandonedDeps): (commandId: string) => Promise<boolean> {
  const answers = new Map<string, Promise<boolean>>()
  return (commandId) => {
    const answer = answers.get(commandId) ?? commands.isRunning(commandId)
    answers.set(commandId, answer)
    return answer
  }
}

/** What the API server refuses is tried again; it holds up nothing else. */
async function release(deps: AbandonedDeps, trace: Trace): Promise<void> {
  try {
    await takeOff(deps, trace)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    deps.log.warn({ nodeClaim: trace.claim.metadata.name, err: error }, 'failed to release node of an ended command')
  }
}

async function takeOff(deps: AbandonedDeps, { claim: { metadata }, commandId, isReplacement }: Trace): Promise<void> {
  deps.log.warn(
    { nodeClaim: metadata.name, command: commandId },
    isReplacement === true ? 'deleted replacement of an ended command' : 'released node of an ended command',
  )
  if (isReplacement === undefined || commandId === undefined)
    await releaseCandidate(deps, metadata, { commandId: commandId ?? '', unstamped: true })
  else {
    const kept = deps.nominations.targets(deps.now()).has(metadata.name)
    await releaseReplacement(deps, metadata, { commandId, kept })
  }
}
