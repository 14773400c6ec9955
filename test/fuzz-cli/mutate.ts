import { stringify } from 'yaml'
import type { Random } from '../../bench/workloads/random.ts'
import { hostileFiles, hostileTexts, hostileYaml, longTexts, oddValues } from './hostile.ts'

type Json = Record<string, unknown>
type Holder = Json | unknown[]

/** Files stay below the size for which the limits of 2 s and 512 MiB hold. */
const mostCharacters = 900_000

const mostChanged = 200_000

/** A file of the corpus. */
export interface Seed {
  readonly name: string
  /** Its documents. */
  readonly values: readonly unknown[]
}

/** A file that was changed at random: mostly a little, so that what is left is still looked at. */
export function mutant(random: Random, seed: Seed, others: readonly Seed[]): Uint8Array {
  if (random.chance(0.03)) return bytesOf(random.pick(hostileFiles)(sizeOf(random)))
  const values = structuredClone(seed.values) as unknown[]
  for (let count = random.pick([0, 1, 1, 1, 2, 3, 5]); count > 0; count--) {
    changeValue(random, values, others)
    // Further changes would make it larger still.
    if (JSON.stringify(values).length > mostChanged) break
  }
  let text = textOf(random, values)
  if (random.chance(0.35)) text = changeLines(random, text)
  const bytes = bytesOf(text.slice(0, mostCharacters))
  return random.chance(0.25) ? changeBytes(random, bytes) : bytes
}

function bytesOf(file: string | Uint8Array): Uint8Array {
  return typeof file === 'string' ? new TextEncoder().encode(file) : file
}

/** Most are small: many can be tried. */
function sizeOf(random: Random): number {
  return random.pick([100, 1000, 1000, 10_000, 100_000, 500_000])
}

/** The library that writes YAML takes minutes for large values, and JSON is YAML as well. */
const mostWritten = 50_000

function textOf(random: Random, values: readonly unknown[]): string {
  const texts = values.map((value) => JSON.stringify(value) ?? '')
  if (texts.join('').length > mostWritten || (values.length === 1 && random.chance(0.4))) return texts.join('\n---\n')
  try {
    return values.map((value) => stringify(value, { aliasDuplicateObjects: random.chance(0.5) })).join('---\n')
  } catch {
    // Nested too deep for that library.
    return texts.join('\n---\n')
  }
}

/** A list or map anywhere in it. */
function holders(value: unknown, found: Holder[] = []): Holder[] {
  if (typeof value !== 'object' || value === null) return found
  found.push(value as Holder)
  for (const inner of Object.values(value)) holders(inner, found)
  return found
}

function changeValue(random: Random, values: unknown[], others: readonly Seed[]): void {
  const holder = random.pick(holders(values))
  const keys = Object.keys(holder)
  if (keys.length === 0) {
    set(holder, random.pick(hostileTexts), random.pick(oddValues)())
    return
  }
  const key = random.pick(keys)
  random.pick(changes)(random, holder, key, others)
}

type Change = (random: Random, holder: Holder, key: string, others: readonly Seed[]) => void

const changes: readonly Change[] = [
  (_, holder, key) => (Array.isArray(holder) ? void holder.splice(Number(key), 1) : void delete holder[key]),
  alike,
  alike,
  alike,
  alike,
  (random, holder, key) => set(holder, key, random.pick(hostileTexts)),
  (random, holder, key) => set(holder, key, random.pick(hostileTexts)),
  (random, holder, key) => set(holder, key, random.pick(oddValues)()),
  (random, holder, key) => set(holder, key, random.pick(oddValues)()),
  (random, holder, key) => set(holder, key, random.pick(longTexts)(sizeOf(random))),
  // A value from elsewhere, also one that holds this one.
  (random, holder, key, others) => set(holder, key, elsewhere(random, others)),
  (random, holder, key) => {
    const other = random.pick(Object.keys(holder))
    const [one, two] = [get(holder, key), get(holder, other)]
    set(holder, key, two)
    set(holder, other, one)
  },
  (random, holder, key) => rename(holder, key, random.pick(hostileTexts)),
  (random, holder, key) => rename(holder, key, random.pick(longTexts)(random.pick([50, 300, 10_000]))),
  (random, holder, key) => set(holder, key, nested(random, get(holder, key))),
  (random, holder, key) => {
    const value = get(holder, key)
    set(
      holder,
      key,
      Array.from({ length: manyOf(random, value) }, () => copyOf(value)),
    )
  },
  (random, holder, key) => {
    const value = get(holder, key)
    if (Array.isArray(holder)) holder.push(...Array.from({ length: manyOf(random, value) }, () => copyOf(value)))
  },
  (random, holder, key) => {
    const value = get(holder, key)
    const entries = Array.from({ length: manyOf(random, value) }, (_, at) => [
      `${key.slice(0, 50)}-${at}`,
      copyOf(value),
    ])
    set(holder, key, Object.fromEntries(entries))
  },
  (random, holder, key) => {
    const value = get(holder, key)
    if (typeof value === 'string') set(holder, key, spliced(random, value, random.pick(hostileTexts)))
  },
  (random, holder, key) => {
    const value = get(holder, key)
    if (typeof value === 'number') set(holder, key, value * random.pick([-1, 0, 0.1, 1e9, 1e300]))
  },
]

/** A value of the same type from elsewhere: what holds it is still what it was, and is looked at in earnest. */
function alike(random: Random, holder: Holder, key: string, others: readonly Seed[]): void {
  const type = typeof get(holder, key)
  for (let tries = 0; tries < 20; tries++) {
    const other = elsewhere(random, others)
    if (typeof other !== type) continue
    set(holder, key, other)
    return
  }
}

function get(holder: Holder, key: string): unknown {
  return (holder as Json)[key]
}

/** As data, also where the key is that of a setter. */
function set(holder: Holder, key: string, value: unknown): void {
  if (Array.isArray(holder)) holder[Number(key) || 0] = value
  else Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true })
}

function rename(holder: Holder, key: string, name: string): void {
  if (Array.isArray(holder)) return
  const value = holder[key]
  delete holder[key]
  set(holder, name, value)
}

function elsewhere(random: Random, others: readonly Seed[]): unknown {
  const holder = random.pick(holders(random.pick(others).values))
  const keys = Object.keys(holder)
  return copyOf(keys.length === 0 ? holder : get(holder, random.pick(keys)))
}

function nested(random: Random, value: unknown): unknown {
  let outer = value
  const isList = random.chance(0.5)
  for (let level = random.pick([3, 50, 190, 300, 800]); level > 0; level--) outer = isList ? [outer] : { a: outer }
  return outer
}

/** A copy, so that a change of one is none of the others; nothing where it is nested too deep for one. */
function copyOf(value: unknown): unknown {
  try {
    return structuredClone(value)
  } catch {
    return null
  }
}

/** How often a value is repeated: small ones until the file is large. */
function manyOf(random: Random, value: unknown): number {
  const size = (JSON.stringify(value)?.length ?? 0) + 10
  return Math.min(random.pick([2, 20, 200, 2000, 20_000]), Math.ceil(mostCharacters / size))
}

function spliced(random: Random, text: string, piece: string): string {
  const at = random.below(text.length + 1)
  return text.slice(0, at) + piece + text.slice(at + random.below(3))
}

/** What YAML can say and JSON cannot, in the place of values or between lines. */
function changeLines(random: Random, text: string): string {
  const lines = text.split('\n')
  for (let count = random.pick([1, 1, 2]); count > 0; count--) {
    const at = random.below(lines.length)
    const line = lines[at] ?? ''
    const [, start = ''] = /^([^:]*:\s)/.exec(line) ?? []
    const indent = ' '.repeat(random.below(9))
    lines[at] = random.pick([
      () => `${start}${random.pick(hostileYaml)}`,
      () => `${start}&self ${line.slice(start.length)}`,
      () => `${line}\n${line}`,
      () => `${indent}${line.trim()}`,
      () => `${line}\n${indent}<<: *self`,
      () => `${line} # \u0007${random.pick(hostileTexts)}`,
      () => `---\n${line}`,
      () => `\t${line}`,
      () => '',
    ])()
  }
  return lines.join('\n')
}

function changeBytes(random: Random, bytes: Uint8Array): Uint8Array {
  const at = random.below(bytes.length + 1)
  const further = Math.min(bytes.length, at + random.pick([1, 1, 5, 100, 5000]))
  const cut = (from: number, to: number) => bytes.subarray(from, to)
  return random.pick([
    () => joined(cut(0, at), Uint8Array.of(random.below(256)), cut(Math.min(bytes.length, at + 1), bytes.length)),
    () => joined(cut(0, at), cut(further, bytes.length)),
    () => joined(cut(0, further), cut(at, bytes.length)),
    () => cut(0, at),
    () => joined(cut(0, at), bytesOf(random.pick(hostileTexts)), cut(at, bytes.length)),
    () =>
      joined(
        cut(0, at),
        bytesOf(random.pick(['{', '[', '"', "'", '\n', '\u0000', ': ', '- ', '&a ', '*a ', '!'])),
        cut(at, bytes.length),
      ),
  ])()
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts)).slice(0, mostCharacters)
}
