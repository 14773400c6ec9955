import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { capacityBufferFacts } from './capacity-buffer-facts.ts'
import { differences, sameRules } from './crd-differences.ts'
import { type Crd, type Facts, factsOf, type Schema, storedSchema } from './crd-facts.ts'

const folder = fileURLToPath(new URL('../../deploy/crds/', import.meta.url))
const upstreamFolder = fileURLToPath(new URL('../../../shared/azure/crds/provider/', import.meta.url))
const hasUpstream = existsSync(upstreamFolder)

const read = (path: string) => parse(readFileSync(path, 'utf8')) as Crd
const compared = hasUpstream ? readdirSync(upstreamFolder).sort() : []

/** What release 1.15 adds to the CRDs that lie in the reference data (reference/karpenter-1.15.md 1). */
const additions: Facts = new Map([
  ['nodepools.spec.disruption.budgets[].reasons[] enum', '[Drifted, Empty, Underutilized, Unhealthy]'],
])

function upstreamFacts(): Facts {
  const facts = new Map(compared.flatMap((name) => [...factsOf(read(upstreamFolder + name))]))
  for (const [fact, value] of additions) {
    if (!facts.has(fact)) throw new Error(`upstream's CRDs say nothing of "${fact}": correct the additions`)
    facts.set(fact, value)
  }
  return facts
}

/** The facts of both sides without rules that only differ in their wording, and the index of each pair of wordings that was met. */
function withoutSameRules(upstream: Facts, ours: Facts) {
  const sides = { upstream: new Map(upstream), ours: new Map(ours) }
  const places = new Set(
    [...upstream.keys()].filter((fact) => fact.includes(' rule ')).map((fact) => fact.split(' ')[0]),
  )
  const met = new Set<number>()
  for (const place of places) {
    for (const [index, pair] of sameRules.entries()) {
      const [theirs, own] = [pair.upstream, pair.ours].map((rules) => rules.map((rule) => `${place} rule ${rule}`))
      if (!theirs?.every((fact) => upstream.has(fact)) || !own?.every((fact) => ours.has(fact))) continue
      met.add(index)
      for (const fact of theirs) sides.upstream.delete(fact)
      for (const fact of own) sides.ours.delete(fact)
    }
  }
  return { ...sides, met }
}

const show = (fact: string, upstream: string | undefined, ours: string | undefined) =>
  `${fact}: upstream ${upstream ?? 'nothing'}, Joiner ${ours ?? 'nothing'}`

describe.skipIf(!hasUpstream)('CRDs beside upstream’s (skipped where the shared folder is missing)', () => {
  const all = hasUpstream ? upstreamFacts() : new Map<string, string>()
  const own = new Map(compared.flatMap((name) => [...factsOf(read(folder + name))]))
  const { upstream, ours, met } = withoutSameRules(all, own)

  it('say the same, but for the differences listed', () => {
    const found = [...new Set([...upstream.keys(), ...ours.keys()])]
      // Upstream dropped v1beta1 from these; that it is served here is one difference, not one for each of its facts.
      .filter((fact) => !/^(nodepools|nodeclaims) v1beta1 /.test(fact))
      .filter((fact) => upstream.get(fact) !== ours.get(fact))
      .map((fact) => show(fact, upstream.get(fact), ours.get(fact)))
    const listed = differences.flatMap((entry) => entry.facts.map((fact) => show(fact, entry.upstream, entry.ours)))
    expect(found.sort()).toEqual(listed.sort())
    console.log(`${all.size} facts of upstream's CRDs compared, ${listed.length} differ on purpose`)
  })

  it('use every pair of wordings that is listed', () => {
    expect(sameRules.filter((_, index) => !met.has(index)).map(({ ours: [rule] }) => rule)).toEqual([])
  })

  it('describe fields in words of our own', () => {
    const theirs = compared.flatMap((name) => sentences(storedSchema(read(upstreamFolder + name))))
    const known = new Set(theirs.map(([, sentence]) => sentence))
    const copied = compared
      .flatMap((name) => sentences(storedSchema(read(folder + name))))
      .filter(([, sentence]) => known.has(sentence))
    expect(copied).toEqual([])
  })
})

describe('CRDs', () => {
  const crds = readdirSync(folder).map((name) => read(folder + name))

  it('describe the CapacityBuffer as the reference does', () => {
    const crd = crds.find(({ spec }) => spec.names.plural === 'capacitybuffers')
    expect(Object.fromEntries(crd === undefined ? [] : factsOf(crd))).toEqual(capacityBufferFacts)
  })

  it('describe every field for kubectl explain', () => {
    const silent = crds.flatMap((crd) =>
      fields(storedSchema(crd), crd.spec.names.plural)
        .filter(([path, { description }]) => !path.endsWith('.metadata') && (description ?? '').length < 10)
        .map(([path]) => path),
    )
    expect(silent).toEqual([])
  })
})

/** Every field of a schema by its path; entries of lists and maps are not fields. */
function fields(schema: Schema, at: string): readonly (readonly [string, Schema])[] {
  const own = Object.entries(schema.properties ?? {}).map(([name, field]) => [`${at}.${name}`, field] as const)
  const nested = own.flatMap(([path, field]) => fields(field, path))
  const inner = [schema.items, schema.additionalProperties].flatMap((entry) =>
    entry === undefined ? [] : fields(entry, `${at}[]`),
  )
  return [...own, ...nested, ...inner]
}

/** The sentences of descriptions that are long enough to be somebody's wording, in lower case. */
function sentences(schema: Schema): readonly (readonly [string, string])[] {
  return [['', schema] as const, ...fields(schema, '')].flatMap(([path, { description = '' }]) =>
    description
      .replaceAll(/\s+/g, ' ')
      .toLowerCase()
      .split(/\. |\.$/)
      .filter((sentence) => sentence.length > 20)
      .map((sentence) => [path, sentence] as const),
  )
}
