import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { capacityBufferFacts } from './capacity-buffer-facts.ts'
import { differences, sameRules } from './crd-differences.ts'
import { digest, digested, digestedPlace, digestedValue, fields, sentences, upstreamCrds } from './crd-digests.ts'
import { type Crd, type Facts, factsOf, storedSchema } from './crd-facts.ts'

const folder = fileURLToPath(new URL('../../deploy/crds/', import.meta.url))
const read = (name: string) => parse(readFileSync(folder + name, 'utf8')) as Crd
const crds = readdirSync(folder).map(read)

/** CRDs that Karpenter's provider for Azure has as well. */
const compared = crds.filter(({ spec }) => spec.names.plural !== 'capacitybuffers')

/** What release 1.15 adds to the CRDs of the table (reference/karpenter-1.15.md 1). */
const additions: Facts = new Map([
  ['nodepools.spec.disruption.budgets[].reasons[] enum', '[Drifted, Empty, Underutilized, Unhealthy]'],
])

/** The one key that Joiner's rules about label domains admit besides upstream's (docs/adr/0034-capacity-reservations.md). */
const addedKey = ',"karpenter.azure.com/capacity-reservation-id"'

const table = upstreamCrds()

function upstreamFacts(): Facts {
  const facts = new Map(Object.entries(table.facts))
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
      const [theirs, own] = [pair.upstream, pair.ours].map((rules) =>
        rules.map((rule) => `${place} rule ${digest(rule)}`),
      )
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

describe('CRDs beside upstream’s', () => {
  const all = upstreamFacts()
  const own = new Map(
    compared.flatMap((crd) => [...factsOf(crd)]).map(([fact, value]) => [fact.replace(addedKey, ''), value]),
  )
  const { upstream, ours, met } = withoutSameRules(all, digested(own))
  // Our own rules are reported in words; upstream's are known by their digests only.
  const words = new Map([...own.keys()].map((fact) => [digestedPlace(fact), fact]))

  it('say the same, but for the differences listed', () => {
    const found = [...new Set([...upstream.keys(), ...ours.keys()])]
      // Upstream dropped v1beta1 from these; that it is served here is one difference, not one for each of its facts.
      .filter((fact) => !/^(nodepools|nodeclaims) v1beta1 /.test(fact))
      .filter((fact) => upstream.get(fact) !== ours.get(fact))
      .map((fact) => show(words.get(fact) ?? fact, upstream.get(fact), ours.get(fact)))
    const listed = differences.flatMap(({ facts, upstream: theirs, ours: mine }) =>
      facts.map((fact) => {
        const [left, right] = [theirs, mine].map((value) => value && digestedValue(fact, value))
        const place = digestedPlace(fact)
        return show(words.get(place) ?? place, left, right)
      }),
    )
    expect(found.sort()).toEqual(listed.sort())
    console.log(`${all.size} facts of upstream's CRDs compared, ${listed.length} differ on purpose`)
  })

  it('use every pair of wordings that is listed', () => {
    expect(sameRules.filter((_, index) => !met.has(index)).map(({ ours: [rule] }) => rule)).toEqual([])
  })

  it('describe fields in words of our own', () => {
    const known = new Set(table.sentences)
    const copied = compared
      .flatMap((crd) => sentences(storedSchema(crd)))
      .filter(([, sentence]) => known.has(digest(sentence)))
    expect(copied).toEqual([])
  })
})

describe('CRDs', () => {
  it('serve every version but one, which is served on request', () => {
    const unserved = crds.flatMap(({ spec }) =>
      spec.versions.filter(({ served }) => served !== true).map(({ name }) => `${spec.names.plural} ${name}`),
    )
    expect(unserved).toEqual(['nodeclaims v1beta1'])
  })

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
