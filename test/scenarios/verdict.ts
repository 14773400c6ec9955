// What a test has come to, in words that are the same in virtual time and on real servers: `npm run scenarios -- --compare`.
import { appendFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { Write } from '../clusters/servers.ts'
import type { Seen, World } from '../world.ts'

/** Objects, VMs and events after a test, sorted, each a text of several lines whose first names it. */
export type Verdict = readonly string[]

/** A verdict as a file of verdicts has it, one a line. */
export interface TestVerdict {
  readonly suite: string
  readonly test: string
  readonly verdict: Verdict
}

/** What a verdict is made from, as servers give it. */
export interface EndState {
  readonly objects: Readonly<Record<string, readonly Seen[]>>
  readonly vms: readonly { readonly size: string; readonly priority: string; readonly state: string }[]
  readonly events: readonly Seen[]
  readonly writes: readonly Write[]
}

/** Labels whose values follow from chance, from versions or from where a name is generated. */
const isOfChance = (label: string) => /zone|version|hash/.test(label)

const generated =
  /\b(?:[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z|(?:\d{1,3}\.){3}\d{1,3})\b/g

/** The verdict on an end state. */
export function verdictOn({ objects, vms, events, writes }: EndState): Verdict {
  const names = generatedNames(Object.values(objects).flat())
  const normal = (text: string) =>
    names.reduce((seen, [name, stand]) => seen.replaceAll(name, stand), text).replaceAll(generated, '*')
  const texts = Object.entries(objects).flatMap(([kind, found]) => found.map((one) => rendered(kind, one)))
  const machines = vms.map(({ size, priority, state }) => `VM ${size} ${priority} ${state}`)
  const ofJoiner = events.filter(({ source }) => source?.component === 'karpenter')
  const reasons = new Set(ofJoiner.map(({ involvedObject, reason }) => `event ${involvedObject?.kind} ${reason}`))
  return [...texts.map(normal), ...machines, ...reasons, ...writtenTo(writes)].toSorted()
}

/** Kinds that count. How others, such as Leases and ConfigMaps, are written depends on time. */
const kinds = ['nodepools', 'nodeclaims', 'nodes', 'aksnodeclasses', 'pods'] as const

/**
 * Which writes the objects of a name had, each in the order in which its writes first came. How often a write is repeated depends on time, and what is
 * generated of a name does not count: many objects with the same writes are one text.
 */
function writtenTo(writes: readonly Write[]): ReadonlySet<string> {
  const found = new Map<string, Set<string>>()
  for (const { what, name } of writes) {
    const [verb = '', resource = ''] = what.split(' ')
    const [kind = '', part] = resource.split('/')
    if (!(kinds as readonly string[]).includes(kind)) continue
    const key = name === undefined ? kind : `${kind} ${name}`
    found.set(key, (found.get(key) ?? new Set()).add(part === undefined ? verb : `${verb} ${part}`))
  }
  const texts = [...found].map(
    ([key, sorts]) => `written ${key.replace(generatedSuffix, '-*')}\nin order ${[...sorts].join(', ')}`,
  )
  return new Set(texts)
}

const generatedSuffix = /(?:-[\da-z]{8,10})?-(?:[\da-z]{5}|\d)(?:-\d+-vm)?$/

/** Each name that a server or Joiner made up, and what stands for it; long names first, since one may be a part of another. */
function generatedNames(objects: readonly Seen[]): readonly (readonly [string, string])[] {
  const names = objects.flatMap(({ metadata }) => {
    const { name, generateName, labels = {} }: Seen['metadata'] & { readonly generateName?: string } = metadata
    const pool = labels['karpenter.sh/nodepool']
    const starts = [
      `${pool}-`,
      `aks-${pool}-`,
      `${labels['app']}-`,
      ...(generateName === undefined ? [] : [generateName]),
    ]
    const start = starts.find((prefix) => name.startsWith(prefix))
    return start === undefined ? [] : [[name, `${start}*`] as const]
  })
  return names.toSorted(([a], [b]) => b.length - a.length)
}

function rendered(kind: string, { metadata, spec, status }: Seen): string {
  const { labels = {}, annotations = {}, finalizers = [] } = metadata
  const lines = [
    ...Object.entries(labels).map(([key, value]) => `label ${key}${isOfChance(key) ? '' : `=${value}`}`),
    ...Object.keys(annotations).map((key) => `annotation ${key}`),
    ...finalizers.map((finalizer) => `finalizer ${finalizer}`),
    ...(spec?.taints ?? []).map(({ key, value = '', effect = '' }) => `taint ${key}=${value}:${effect}`),
    ...(status?.conditions ?? []).map(({ type, status: value, reason = '' }) => `condition ${type}=${value}/${reason}`),
    ...(metadata.deletionTimestamp === undefined ? [] : ['being deleted']),
    ...(status?.phase === undefined ? [] : [`phase ${status.phase}`]),
  ]
  return [`${kind} ${metadata.name}`, ...lines.toSorted()].join('\n')
}

async function verdictNow(world: World): Promise<Verdict> {
  const [lists, events, { virtualMachines }, writes] = await Promise.all([
    Promise.all(kinds.map((kind) => world.list(kind))),
    world.list('events'),
    world.azure(),
    world.servers.writes(),
  ])
  const objects = Object.fromEntries(kinds.map((kind, at) => [kind, lists[at] ?? []]))
  return verdictOn({ objects, vms: virtualMachines, events, writes })
}

/** How many looks, a second apart, have to find the same, and how many there are at most. */
const looks = { same: 6, most: 40 }

/** The verdict on a world that has come to rest: a test ends when it has seen enough, in the midst of what goes on. */
async function verdictAtRest(world: World): Promise<Verdict> {
  let last = await verdictNow(world)
  for (let at = 0, same = 0; at < looks.most && same < looks.same; at += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const next = await verdictNow(world)
    same = isDeepStrictEqual(next, last) ? same + 1 : 0
    last = next
  }
  return last
}

/** Appends the verdict on a world after a test to a file. A world that cannot be read, since the test took a server away, has that as its verdict. */
export async function writeVerdict(file: string, world: World, of: Omit<TestVerdict, 'verdict'>): Promise<void> {
  const verdict = await verdictAtRest(world).catch(() => ['the world cannot be read'])
  appendFileSync(file, `${JSON.stringify({ ...of, verdict } satisfies TestVerdict)}\n`)
}

/** The verdicts of a file's text, by test. */
export function verdictsOf(text: string): ReadonlyMap<string, Verdict> {
  const lines = text.split('\n').filter((line) => line !== '')
  const found = lines.map((line) => JSON.parse(line) as TestVerdict)
  return new Map(found.map(({ suite, test, verdict }) => [`${suite} > ${test}`, verdict]))
}
