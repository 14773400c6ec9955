import type { Life } from '../../../core/history/life.ts'
import { birthText, deathText } from '../../../core/history/texts.ts'
import { holdOf } from '../../../core/node-claim/hold.ts'
import type { Phase } from '../../../core/node-claim/phase.ts'
import type { Condition } from '../../../core/objects.ts'
import { lifecycleId } from '../../../core/task-queues.ts'
import { defined } from '../../../core/values/defined.ts'
import { nodeReport } from '../../cli/why/node-report.ts'
import { movePart } from '../../cli/why/node-text.ts'
import { linesOf } from '../../document/text.ts'
import type { NodePicture } from '../../picture/node-picture.ts'
import type { NodeDetails, NodeView, TimelineStep } from '../contract.ts'
import { costOf, timelineOf } from './timeline.ts'

/** What is known of a node; what is absent is gone, or could not be read. */
export interface NodeSources {
  readonly facts: NodePicture | undefined
  readonly view: NodeView | undefined
  readonly life: Life | undefined
  /** Epoch ms. */
  readonly now: number
}

/** A node in full, of what `joiner why node` reads, of the live view and of its life. */
export function nodeDetails({ facts, view, life, now }: NodeSources): NodeDetails {
  const report = facts === undefined ? undefined : nodeReport(facts)
  const workflowId = life?.workflowId ?? workflowOf(facts)
  return {
    ...(view === undefined ? {} : { view }),
    timeline: life === undefined ? conditionSteps(facts) : timelineOf(life),
    why: [...lifeLines(life), ...(report === undefined ? [] : reportLines(report))],
    remedies: report?.remedies ?? [],
    conditions: conditionsOf(facts),
    events: (facts?.events ?? []).map(({ at, ...event }) => ({ ...event, atMs: at })),
    cost: costsOf({ facts, view, life, now }, report?.price),
    isHeld: facts?.claim !== undefined && holdOf(facts.claim, now) !== undefined,
    ...(workflowId === undefined ? {} : { workflowId }),
  }
}

function lifeLines(life: Life | undefined): readonly string[] {
  if (life === undefined) return []
  return [`came: ${birthText(life.came)}`, ...(life.went === undefined ? [] : [`went: ${deathText(life.went)}`])]
}

function costsOf({ view, life, now }: NodeSources, evaluated: number | undefined): NodeDetails['cost'] {
  const pricePerHour = view?.pricePerHour ?? evaluated ?? life?.vms.at(-1)?.pricePerHour
  const soFar = life === undefined ? undefined : costOf(life, now)
  return {
    ...defined({ pricePerHour, soFar }),
  }
}

function conditionsOf(facts: NodePicture | undefined): NodeDetails['conditions'] {
  const { node, claim } = facts ?? {}
  return [
    ...(node?.conditions ?? []).map((condition) => shownCondition('Node', condition)),
    ...(claim?.status.conditions ?? []).map((condition) => shownCondition('NodeClaim', condition)),
  ]
}

/** The lines that the command prints, but for its titles. */
function reportLines(report: ReturnType<typeof nodeReport>): readonly string[] {
  const { headline, state, command, drain, pauses, warning, evaluation, again } = report
  const disrupted =
    command === undefined
      ? []
      : [`being disrupted by ${command.id}${command.reason === undefined ? '' : ` (${command.reason})`}`]
  return [
    headline,
    ...state,
    ...disrupted,
    ...(drain ?? []),
    ...pauses,
    ...(warning === undefined ? [] : [warning]),
    ...linesOf([(evaluation?.moves ?? []).map(movePart)]),
    ...again.map((line) => `looked at again ${line}`),
  ]
}

function workflowOf(facts: NodePicture | undefined): string | undefined {
  const { claim, cluster } = facts ?? {}
  return claim === undefined || cluster === undefined ? undefined : lifecycleId(cluster, claim.metadata)
}

function shownCondition(of: 'Node' | 'NodeClaim', condition: Condition): NodeDetails['conditions'][number] {
  const { type, status, reason = '', message = '', lastTransitionTime } = condition
  return { of, type, status, reason, message, sinceMs: timeOf(lastTransitionTime) ?? 0 }
}

const phases: Readonly<Record<string, readonly [phase: Phase, text: string]>> = {
  Launched: ['Registering', 'Azure accepted the VM'],
  Registered: ['Initializing', 'its Node joined'],
  Initialized: ['Ready', 'ready for pods'],
}

/** Without Temporal: what conditions say of the phases so far. */
function conditionSteps(facts: NodePicture | undefined): readonly TimelineStep[] {
  const { claim, node } = facts ?? {}
  const createdMs = timeOf((claim ?? node)?.metadata.creationTimestamp)
  if (createdMs === undefined) return []
  const reached = (claim?.status.conditions ?? []).flatMap(({ type, status, lastTransitionTime }) => {
    const atMs = timeOf(lastTransitionTime)
    const named = phases[type]
    return status === 'True' && named !== undefined && atMs !== undefined
      ? [{ phase: named[0], text: named[1], fromMs: atMs }]
      : []
  })
  const deletedMs = timeOf(claim?.metadata.deletionTimestamp)
  const created: TimelineStep = {
    phase: claim === undefined ? 'Unmanaged' : 'Launching',
    text: 'created',
    fromMs: createdMs,
  }
  const steps = [
    created,
    ...reached.sort((a, b) => a.fromMs - b.fromMs),
    ...(deletedMs === undefined ? [] : [{ phase: 'Draining' as const, text: 'being deleted', fromMs: deletedMs }]),
  ]
  return steps.map((step, at) => {
    const toMs = steps[at + 1]?.fromMs
    return toMs === undefined ? step : { ...step, toMs }
  })
}

function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) ? undefined : ms
}
