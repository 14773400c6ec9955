// How marks are stored in the ConfigMap.
import {
  type ClassMark,
  familyKey,
  type ImageMark,
  type LaunchTurn,
  type Mark,
  type Marks,
  markKey,
  type SizeMark,
} from './mark.ts'

/** A mark as it stands in the ConfigMap: readable by people, the time as text. */
function formatMark(mark: Mark): string {
  const { untilMs, ...rest } = mark
  return JSON.stringify({ ...rest, until: new Date(untilMs).toISOString() })
}

/** A mark from the ConfigMap; undefined when the text is none, so that a damaged entry blocks nothing. */
export function parseMark(text: string): Mark | undefined {
  let value: Record<string, unknown>
  try {
    value = Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return undefined
  }
  const { kind, until, reason, cause } = value
  const untilMs = typeof until === 'string' ? Date.parse(until) : Number.NaN
  if (Number.isNaN(untilMs) || typeof reason !== 'string') return undefined
  const reported = { untilMs, reason, ...(typeof cause === 'string' ? { cause } : {}) }
  if (kind === 'allSpot') return { kind, ...reported }
  if (kind === 'size') return parseSize(value, reported)
  if (kind === 'image') return parseImage(value, reported)
  if (kind === 'class') return parseClass(value, reported)
  const { instanceType, family, minVCpus, zone, capacityType } = value
  if (typeof family !== 'string' || typeof zone !== 'string' || typeof capacityType !== 'string') return undefined
  const place = { family, zone, capacityType, ...reported }
  if (kind === 'offering' && typeof instanceType === 'string') return { kind, instanceType, ...place }
  if (kind === 'family' && typeof minVCpus === 'number') return { kind, minVCpus, ...place }
  return undefined
}

function parseSize(
  { instanceType, lastsMs, image, nodeClass, refusal, state, trial }: Readonly<Record<string, unknown>>,
  reported: Pick<SizeMark, 'untilMs' | 'reason' | 'cause'>,
): SizeMark | undefined {
  if (typeof instanceType !== 'string' || typeof lastsMs !== 'number') return undefined
  const { family, capacityType, ...rest } = Object(trial) as Record<string, unknown>
  const turn = parseTurn(rest)
  return {
    kind: 'size',
    instanceType,
    lastsMs,
    ...(typeof image === 'string' ? { image } : {}),
    ...(typeof nodeClass === 'string' ? { nodeClass } : {}),
    ...(typeof refusal === 'string' ? { refusal } : {}),
    ...(typeof state === 'string' ? { state } : {}),
    ...(turn === undefined || typeof family !== 'string' || typeof capacityType !== 'string'
      ? {}
      : { trial: { ...turn, family, capacityType } }),
    ...reported,
  }
}

function parseTurn({ code, nextAtMs, turn }: Readonly<Record<string, unknown>>): LaunchTurn | undefined {
  if (typeof code !== 'string' || typeof nextAtMs !== 'number' || typeof turn !== 'string') return undefined
  return { code, nextAtMs, turn }
}

function parseClass(
  value: Readonly<Record<string, unknown>>,
  reported: Pick<ClassMark, 'untilMs' | 'reason' | 'cause'>,
): ClassMark | undefined {
  const { nodeClass, refusal, waitMs } = value
  const turn = parseTurn(value)
  if (turn === undefined || typeof nodeClass !== 'string' || typeof refusal !== 'string') return undefined
  const names = (key: string) => {
    const list = value[key]
    return Array.isArray(list) ? list.filter((one): one is string => typeof one === 'string') : []
  }
  return {
    kind: 'class',
    nodeClass,
    refusal,
    waitMs: typeof waitMs === 'number' && waitMs > 0 ? waitMs : 0,
    sizes: names('sizes'),
    families: names('families'),
    capacityTypes: names('capacityTypes'),
    states: names('states'),
    ...turn,
    ...reported,
  }
}

function parseImage(
  { image, nodeClass, lastsMs }: Readonly<Record<string, unknown>>,
  reported: Pick<ImageMark, 'untilMs' | 'reason' | 'cause'>,
): ImageMark | undefined {
  if (typeof image !== 'string' || typeof nodeClass !== 'string' || typeof lastsMs !== 'number') return undefined
  return { kind: 'image', image, nodeClass, lastsMs, ...reported }
}

/** The marks of a ConfigMap's data. An entry under another key than its own is damaged too. */
export function parseMarks(data: Readonly<Record<string, string>>): Marks {
  const marks = new Map<string, Mark>()
  for (const [key, text] of Object.entries(data)) {
    const mark = parseMark(text)
    if (mark !== undefined && markKey(mark) === key) marks.set(key, mark)
  }
  return marks
}

/** The marks as a ConfigMap's data. */
export function formatMarks(marks: Marks): Record<string, string> {
  return Object.fromEntries([...marks].map(([key, mark]) => [key, formatMark(mark)]))
}

/**
 * The marks that fit into so many bytes of keys and values. A size that its family's mark blocks for as long says nothing of its own and
 * goes first; then what runs out soonest goes: it is offered again, which costs one more refusal.
 */
export function withinBytes(marks: Marks, bytes: number): Marks {
  const lengthOf = ([key, mark]: readonly [string, Mark]) => key.length + Buffer.byteLength(formatMark(mark))
  let total = [...marks].reduce((sum, entry) => sum + lengthOf(entry), 0)
  if (total <= bytes) return marks
  const kept = new Map(marks)
  const byEnd = [...marks].sort(([, a], [, b]) => a.untilMs - b.untilMs)
  const isSaidByFamily = ([, mark]: readonly [string, Mark]) =>
    mark.kind === 'offering' &&
    mark.family !== '' &&
    (marks.get(familyKey(mark.family, mark.zone, mark.capacityType))?.untilMs ?? 0) >= mark.untilMs
  for (const entry of [...byEnd.filter(isSaidByFamily), ...byEnd.filter((one) => !isSaidByFamily(one))]) {
    if (total <= bytes) break
    kept.delete(entry[0])
    total -= lengthOf(entry)
  }
  return kept
}
