// Reads facts from memos and signals. Whoever may write in the namespace of Temporal can write these, so nothing is taken from them that is not as expected.
import { type Decision, type DisruptionReason, methodNames } from '../disruption/command.ts'
import { isObject } from '../values/json.ts'
import {
  type Birth,
  type CommandFacts,
  type Death,
  type Leaving,
  type LifeFacts,
  messageKinds,
  type RefusedCapacity,
  type VmSpan,
} from './life.ts'

/** A value that is not what it must be. It never leaves this file. */
class Unreadable extends Error {}

const mostItems = 50
const longestText = 1000
/** The end of the times that JavaScript can show. */
const lastMs = 8.64e15

/** Returns the facts of a lifecycle; undefined when they are not such facts. Unknown fields are ignored. */
export function readLifeFacts(value: unknown): LifeFacts | undefined {
  return read(() => lifeFacts(fields(value)))
}

/** Returns why a NodeClaim goes, as a poke says, likewise. */
export function readLeaving(value: unknown): Leaving | undefined {
  return read(() => {
    const { went, drainingMs } = fields(value)
    return { went: death(fields(went)), drainingMs: time(drainingMs) }
  })
}

/** Returns the facts of a disruption command, likewise. */
export function readCommandFacts(value: unknown): CommandFacts | undefined {
  return read(() => commandFacts(fields(value)))
}

function read<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

type Fields = Readonly<Record<string, unknown>>

function lifeFacts(from: Fields): LifeFacts {
  return {
    ...optional(from, 'nodePool', text),
    ...optional(from, 'node', text),
    createdMs: time(from['createdMs']),
    ...optional(from, 'registeredMs', time),
    ...optional(from, 'readyMs', time),
    ...optional(from, 'drainingMs', time),
    ...optional(from, 'endedMs', time),
    ...optional(from, 'drainedPods', count),
    vms: list(from['vms'], vmSpan),
    came: birth(fields(from['came'])),
    ...optional(from, 'went', (value) => death(fields(value))),
    refused: list(from['refused'], refusal),
    attempts: count(from['attempts']),
    labels: Object.fromEntries(
      list(Object.entries(fields(from['labels'])), (entry) => {
        const [key, value] = entry as readonly [string, unknown]
        return [text(key), text(value)] as const
      }),
    ),
  }
}

function vmSpan(value: unknown): VmSpan {
  const from = fields(value)
  const span = {
    ...offering(from),
    ...optional(from, 'pricePerHour', price),
    ...(from['isEstimate'] === true ? { isEstimate: true as const } : {}),
    fromMs: time(from['fromMs']),
    ...optional(from, 'toMs', time),
  }
  if (span.toMs !== undefined && span.toMs < span.fromMs) throw new Unreadable()
  return span
}

function offering(from: Fields): Pick<VmSpan, 'instanceType' | 'zone' | 'capacityType'> {
  return {
    instanceType: text(from['instanceType']),
    zone: text(from['zone']),
    capacityType: text(from['capacityType']),
  }
}

function refusal(value: unknown): RefusedCapacity {
  const from = fields(value)
  return { ...offering(from), reason: text(from['reason']) }
}

function birth(from: Fields): Birth {
  switch (from['kind']) {
    case 'pods':
      return {
        kind: 'pods',
        pods: count(from['pods']),
        ...(from['buffers'] === undefined ? {} : { buffers: list(from['buffers'], text) }),
      }
    case 'replacement':
      return { kind: 'replacement', command: text(from['command']), replaces: list(from['replaces'], text) }
    case 'static':
      return { kind: 'static', replicas: count(from['replicas']) }
    case 'by-hand':
      return { kind: 'by-hand' }
    default:
      throw new Unreadable()
  }
}

const reasons = ['Unhealthy', 'Empty', 'Drifted', 'Underutilized'] as const satisfies readonly DisruptionReason[]
const decisions = ['delete', 'replace', 'terminate-first', 'reboot'] as const satisfies readonly Decision[]

function death(from: Fields): Death {
  const { kind } = from
  if (kind === 'deleted') return { kind }
  if (kind === 'disruption') return { kind, command: text(from['command']), reason: oneOf(reasons, from['reason']) }
  if (kind === 'gave-up') return { kind, reason: text(from['reason']), message: text(from['message']) }
  return { kind: oneOf(messageKinds, kind), message: text(from['message']) }
}

function commandFacts(from: Fields): CommandFacts {
  return {
    id: text(from['id']),
    method: oneOf(methodNames, from['method']),
    reason: oneOf(reasons, from['reason']),
    decision: oneOf(decisions, from['decision']),
    candidates: list(from['candidates'], text),
    replacements: list(from['replacements'], text),
    savings: number(from['savings']),
    startedMs: time(from['startedMs']),
    ...optional(from, 'dueMs', time),
    ...optional(from, 'endedMs', time),
    ...optional(from, 'outcome', (value) => oneOf(['done', 'undone'] as const, value)),
    ...optional(from, 'message', text),
  }
}

function fields(value: unknown): Fields {
  if (!isObject(value)) throw new Unreadable()
  return value
}

function optional<Key extends string, T>(from: Fields, key: Key, parse: (value: unknown) => T): { [K in Key]?: T } {
  return from[key] === undefined ? {} : ({ [key]: parse(from[key]) } as { [K in Key]?: T })
}

function list<T>(value: unknown, parse: (item: unknown) => T): readonly T[] {
  if (!Array.isArray(value) || value.length > mostItems) throw new Unreadable()
  return value.map(parse)
}

function text(value: unknown): string {
  if (typeof value !== 'string' || value.length > longestText) throw new Unreadable()
  return value
}

function number(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Unreadable()
  return value
}

function price(value: unknown): number {
  const amount = number(value)
  if (amount < 0 || amount > 1_000_000) throw new Unreadable()
  return amount
}

function time(value: unknown): number {
  const ms = number(value)
  if (ms < 0 || ms > lastMs) throw new Unreadable()
  return ms
}

function count(value: unknown): number {
  const amount = number(value)
  if (!Number.isInteger(amount) || amount < 0) throw new Unreadable()
  return amount
}

function oneOf<T extends string>(allowed: readonly T[], value: unknown): T {
  const found = allowed.find((one) => one === value)
  if (found === undefined) throw new Unreadable()
  return found
}
