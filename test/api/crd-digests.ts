import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Crd, type Facts, factsOf, type Schema, storedSchema } from './crd-facts.ts'

export const crdTableFile = new URL('../vectors/golden/upstream-crds.json', import.meta.url)

/** What is known of upstream's CRDs: their facts, with rules and patterns as digests, and digests of the sentences that describe fields. */
export interface CrdTable {
  readonly facts: Readonly<Record<string, string>>
  readonly sentences: readonly string[]
}

/** The table of some CRDs: `npm run vectors -- crds FOLDER` makes upstream's. */
export function crdTable(crds: readonly Crd[]): CrdTable {
  const facts = crds.flatMap((crd) => [...digested(factsOf(crd))])
  const reported = crds.flatMap((crd) => sentences(storedSchema(crd)).map(([, sentence]) => digest(sentence)))
  return {
    facts: Object.fromEntries(facts.sort(([a], [b]) => (a < b ? -1 : 1))),
    sentences: [...new Set(reported)].sort(),
  }
}

/** Upstream's table (test/vectors/golden/README.md says where it is from). */
export function upstreamCrds(): CrdTable {
  return JSON.parse(readFileSync(crdTableFile, 'utf8')) as CrdTable
}

/** Facts with rules and patterns as digests. */
export const digested = (facts: Facts): Facts =>
  new Map([...facts].map(([fact, value]) => [digestedPlace(fact), digestedValue(fact, value)]))

/** A fact's name, where it names a rule with the rule's digest. */
export const digestedPlace = (fact: string) => fact.replace(/(?<=^\S+ rule ).+$/, digest)

/** A fact's value, as a digest where it is a pattern. */
export const digestedValue = (fact: string, value: string) => (fact.endsWith(' pattern') ? digest(value) : value)

/** The first 16 hexadecimal digits of a text's SHA-256. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** Every field of a schema by its path; entries of lists and maps are not fields. */
export function fields(schema: Schema, at: string): readonly (readonly [string, Schema])[] {
  const own = Object.entries(schema.properties ?? {}).map(([name, field]) => [`${at}.${name}`, field] as const)
  const nested = own.flatMap(([path, field]) => fields(field, path))
  const inner = [schema.items, schema.additionalProperties].flatMap((entry) =>
    entry === undefined ? [] : fields(entry, `${at}[]`),
  )
  return [...own, ...nested, ...inner]
}

/** The sentences of descriptions that are long enough to be somebody's wording, in lower case. */
export function sentences(schema: Schema): readonly (readonly [string, string])[] {
  return [['', schema] as const, ...fields(schema, '')].flatMap(([path, { description = '' }]) =>
    description
      .replaceAll(/\s+/g, ' ')
      .toLowerCase()
      .split(/\. |\.$/)
      .filter((sentence) => sentence.length > 20)
      .map((sentence) => [path, sentence] as const),
  )
}
