import type { Life, LifeFacts } from '../../../core/history/life.ts'
import { birthText, deathText } from '../../../core/history/texts.ts'
import { holdOf } from '../../../core/node-claim/hold.ts'
import type { Phase } from '../../../core/node-claim/phase.ts'
import type { Condition } from '../../../core/objects.ts'
import { lifecycleId } from '../../../core/task-queues.ts'
import { defined } from '../../../core/values/defined.ts'
import { causeParts, nodeReport } from '../../answers/node-report.ts'
import { linesOf } from '../../document/text.ts'
import { counted } from '../../document/words.ts'
import type { NodePicture } from '../../picture/node-picture.ts'
import type { NodeDetails, NodeView, TimelineStep } from '../contract.ts'

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
    why: [...lifeLines(life), ...(report === undefined ? [] : reportLines(report, now))],
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
  return { ...defined({ pricePerHour, soFar }) }
}

function conditionsOf(facts: NodePicture | undefined): NodeDetails['conditions'] {
  const { node, claim } = facts ?? {}
  return [
    ...(node?.conditions ?? []).map((condition) => shownCondition('Node', condition)),
    ...(claim?.status.conditions ?? []).map((condition) => shownCondition('NodeClaim', condition)),
  ]
}

/** The lines that the command prints, but for its titles. */
function reportLines(report: ReturnType<typeof nodeReport>, now: number): readonly string[] {
  const parts = causeParts(report, now).flatMap((part) => part?.items ?? [])
  return [report.headline, ...linesOf([parts]), ...report.again.map((line) => `looked at again ${line}`)]
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

interface Mark {
  readonly phase: TimelineStep['phase']
  readonly atMs: number | undefined
  readonly text: string
}

/** The phases of a life, each from its start to that of the next one. */
export function timelineOf(life: Life): readonly TimelineStep[] {
  const { createdMs, registeredMs, readyMs, drainingMs, endedMs, drainedPods, went } = life
  const vm = life.vms.at(-1)
  const marks: readonly Mark[] = [
    { phase: 'Launching', atMs: createdMs, text: `created, ${birthText(life.came)}${launchText(life)}` },
    {
      phase: 'Registering',
      atMs: vm?.fromMs,
      text: `Azure accepted the VM: ${vm?.instanceType} ${vm?.capacityType} in ${vm?.zone || 'no zone'}`,
    },
    { phase: 'Initializing', atMs: registeredMs, text: `its Node ${life.node ?? ''} joined`.replace('  ', ' ') },
    { phase: 'Ready', atMs: readyMs, text: 'ready for pods' },
    {
      phase: 'Draining',
      atMs: drainingMs,
      text: `${went === undefined ? 'leaves' : deathText(went)}${drainedPods === undefined ? '' : `; ${counted(drainedPods, 'pod')} moved`}`,
    },
    { phase: 'Gone', atMs: endedMs, text: went === undefined ? 'ended' : deathText(went) },
  ]
  return stepsOf(marks, endedMs)
}

/** A life has marks in the order of time, but for clocks of several machines: what would end before it begins lasts no time. */
function stepsOf(marks: readonly Mark[], endedMs: number | undefined): readonly TimelineStep[] {
  const there = marks.flatMap(({ atMs, ...mark }) => (atMs === undefined ? [] : [{ ...mark, atMs }]))
  return there.map(({ phase, atMs, text }, at) => {
    const toMs = there[at + 1]?.atMs ?? endedMs
    return { phase, fromMs: atMs, text, ...(toMs === undefined ? {} : { toMs: Math.max(atMs, toMs) }) }
  })
}

function launchText({ attempts, refused, vms }: LifeFacts): string {
  const tries = attempts > 1 ? `; ${attempts} launch attempts` : ''
  const refusals = refused.map(
    ({ instanceType, zone, capacityType, reason }) =>
      `${instanceType} ${capacityType} in ${zone || 'no zone'} (${reason})`,
  )
  const lost = vms.length > 1 ? `; ${counted(vms.length - 1, 'VM')} failed before` : ''
  return `${tries}${refusals.length === 0 ? '' : `; Azure refused ${refusals.join(', ')}`}${lost}`
}

/** What a life has cost by `now`, in USD; undefined where a price is not known. */
export function costOf({ vms }: LifeFacts, now: number): number | undefined {
  let sum = 0
  for (const { pricePerHour, fromMs, toMs = now } of vms) {
    if (pricePerHour === undefined) return undefined
    sum += (pricePerHour * Math.max(0, toMs - fromMs)) / 3_600_000
  }
  return sum
}
