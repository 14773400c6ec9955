// How marks are stored in the ConfigMap.
import { z } from 'zod'
import {
  damaged,
  type Entries,
  epochMs,
  type KeptFault,
  name,
  readEntries,
  readJson,
  words,
} from '../../../api/kept/document.ts'
import { familyKey, type Mark, type Marks, markKey } from './mark.ts'

type Stored<M> = M extends Mark ? Omit<M, 'untilMs'> & { readonly until: string } : never

const reported = { until: z.iso.datetime(), reason: words(10_000), cause: words(10_000).exactOptional() }
const place = { family: name, zone: name, capacityType: name }
const lastsMs = epochMs
/** Names and digests of a class. */
const some = z.array(name).max(2000)
/** Whatever an id of ARM has. */
const id = words(1000)
const turn = { code: name, nextAtMs: epochMs, turn: name }

const stored: z.ZodType<Stored<Mark>> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('allSpot'), ...reported }),
  z.object({ kind: z.literal('offering'), instanceType: name, ...place, ...reported }),
  z.object({ kind: z.literal('family'), minVCpus: z.int().min(-1).max(1e6), ...place, ...reported }),
  z.object({
    kind: z.literal('size'),
    instanceType: name,
    lastsMs,
    image: id.exactOptional(),
    nodeClass: name.exactOptional(),
    refusal: name.exactOptional(),
    state: name.exactOptional(),
    trial: z.object({ ...turn, family: name, capacityType: name }).exactOptional(),
    ...reported,
  }),
  z.object({ kind: z.literal('image'), image: id, nodeClass: name, lastsMs, ...reported }),
  z.object({
    kind: z.literal('class'),
    nodeClass: name,
    refusal: name,
    sizes: some,
    families: some,
    capacityTypes: some,
    waitMs: epochMs,
    states: some,
    ...turn,
    ...reported,
  }),
])

const keptMark = stored.transform(({ until, ...mark }): Mark => ({ ...mark, untilMs: Date.parse(until) }))

/** A mark as it stands in the ConfigMap: readable by people, the time as text. */
function formatMark({ untilMs, ...rest }: Mark): string {
  return JSON.stringify({ ...rest, until: new Date(untilMs).toISOString() })
}

/** The marks of a ConfigMap's data, and what is none. An entry under another key than its own is damaged too. */
export function parseMarks(data: Entries): { readonly marks: Marks; readonly faults: readonly KeptFault[] } {
  const { documents, faults } = readEntries(data, (key, text) => {
    const read = readJson(keptMark, text)
    const own = read.kind === 'read' ? markKey(read.value) : key
    return own === key ? read : damaged(`it is a mark of the key ${own}`)
  })
  return { marks: documents, faults }
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
