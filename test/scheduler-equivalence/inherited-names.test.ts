import { describe, expect, it } from 'vitest'
import { decodeNodePool } from '../../activities/kubernetes/cache/decode.ts'
import { nodePoolHash } from '../../core/node-pool/node-pool-hash.ts'
import { countPatch } from '../../core/node-pool/resources.ts'
import {
  fits,
  limitExcess,
  mergeResources,
  minResources,
  parseResources,
  subtractResources,
} from '../../core/resources.ts'
import { WhatIf } from '../../core/scheduling/what-if.ts'
import { decide } from '../../starter/cli/simulate/disruption.ts'
import { schedulePlainly } from '../plain-scheduler/schedule.ts'
import { readSuite } from '../vectors/packs.ts'
import { answer, plainForm, resultOf, type VectorScenario } from '../vectors/scheduling.ts'
import { randomCluster } from './random-clusters.ts'
import { crowded, randomQuestions } from './random-removals.ts'
import { seeds } from './seeds.ts'
import { absentKey, disk, file, teamKey, tierKey } from './vocabulary.ts'

/** Names that every object inherits something under. */
const inherited = Object.getOwnPropertyNames(Object.prototype).sort()
/** Words of the scenarios that users choose: keys of labels, selectors, topology, taints and resources, CSI drivers, namespaces, NodePools. */
const words = [
  'app',
  'version',
  teamKey,
  tierKey,
  absentKey,
  'dedicated',
  'level',
  'example.com/gpu',
  disk,
  file,
  'blue',
]

/** A name of the same length that nothing is inherited under, and that stands at the same place of every order. */
const harmless = (name: string) => `${name.slice(0, 3)}${String.fromCharCode(name.charCodeAt(3) + 1)}${name.slice(4)}`

/** The text with the chosen words, where they stand by themselves, in place of others. */
function renamed(text: string, names: ReadonlyMap<string, string>): string {
  let result = text
  for (const [from, to] of names) result = result.replaceAll(`"${from}"`, `"${to}"`)
  return result
}

/** Each word under one of the names; which one follows from the seed. */
const naming = (seed: number) =>
  new Map(words.map((word, at) => [word, inherited[(seed + at) % inherited.length] as string]))

/** Results of the same scenario under inherited names, and under harmless ones that are then replaced by the inherited. */
function both(scenario: object, seed: number, answerTo: (scenario: never) => unknown): readonly [string, string] {
  const names = naming(seed)
  const text = JSON.stringify(scenario)
  const ordinary = new Map([...names].map(([word, name]) => [word, harmless(name)]))
  const back = (answered: string) => inherited.reduce((all, name) => all.replaceAll(harmless(name), name), answered)
  const answered = (given: string) => JSON.stringify(answerTo(JSON.parse(given) as never))
  return [answered(renamed(text, names)), back(answered(renamed(text, ordinary)))]
}

describe('names that objects inherit something under are names like any other', () => {
  it('to the scheduler, its messages included', { timeout: 120_000 }, () => {
    for (const seed of seeds) {
      const [got, wanted] = both(randomCluster(seed), seed, (one: VectorScenario) => plainForm(answer(one)))
      expect(got, `cluster ${seed}`).toBe(wanted)
    }
  })

  it('to the plain rules', { timeout: 120_000 }, () => {
    for (const seed of seeds.slice(0, 150)) {
      const [got, wanted] = both(randomCluster(seed), seed, (one: VectorScenario) =>
        plainForm(answer(one, schedulePlainly)),
      )
      expect(got, `cluster ${seed}`).toBe(wanted)
    }
  })

  it('to what would be if nodes were gone', { timeout: 120_000 }, () => {
    for (const seed of seeds.slice(0, 150)) {
      const [got, wanted] = both(crowded(randomCluster(seed), 3), seed, (one: VectorScenario) => {
        const { snapshot, options, questions } = randomQuestions(one, seed)
        const whatIf = new WhatIf(snapshot, options)
        return questions.map(({ removed, limits }) => plainForm(resultOf(whatIf.without(removed, limits))))
      })
      expect(got, `cluster ${seed}`).toBe(wanted)
    }
  })

  it('to disruption', { timeout: 120_000 }, () => {
    const sample = readSuite('disruption').filter((_, at) => at % 4 === 0)
    const own = ['app', 'default', 'web', 'ephemeral-storage', 'm.large', 'roomy']
    for (const [at, scenario] of sample.entries()) {
      const names = new Map(own.map((word, index) => [word, inherited[(at + index) % inherited.length] as string]))
      const text = JSON.stringify(scenario)
      const decided = (chosen: ReadonlyMap<string, string>) => JSON.stringify(decide(JSON.parse(renamed(text, chosen))))
      expect(renamed(text, names)).not.toBe(text)
      const ordinary = new Map([...names].map(([word, name]) => [word, harmless(name)]))
      const back = inherited.reduce((all, name) => all.replaceAll(harmless(name), name), decided(ordinary))
      expect(decided(names), `scenario ${at}`).toBe(back)
    }
  })

  it('to sums and limits of resources', () => {
    for (const name of inherited) {
      const amounts = (text: string) => JSON.parse(text.replaceAll('NAME', name)) as Record<string, string>
      const one = parseResources(amounts('{"NAME":"1","cpu":"2"}'))
      const none = parseResources({ cpu: '2' })
      expect(Object.keys(mergeResources(one, one, none)).sort()).toEqual(['cpu', name].sort())
      expect(Object.entries(mergeResources(one, none)).find(([key]) => key === name)?.[1].nano).toBe(1_000_000_000n)
      expect(Object.keys(subtractResources(one, none)).sort()).toEqual(['cpu', name].sort())
      expect(Object.keys(minResources(one, none))).toEqual(['cpu'])
      expect(fits(one, none), name).toBe(false)
      expect(fits(none, one)).toBe(true)
      expect(limitExcess(none, one), name).toBeUndefined()
      expect(limitExcess(parseResources(amounts('{"NAME":"500m"}')), one)).toContain(`resource-name=${name}`)
    }
  })

  it('to the limits, the count and the drift hash of a NodePool', () => {
    for (const name of inherited) {
      const pool = JSON.parse(
        `{"metadata":{"name":"p","uid":"u","labels":{"${name}":"x"}},"spec":{"limits":{"${name}":"5"},"template":{"metadata":{"labels":{"${name}":"x"}},"spec":{"requirements":[]}}},"status":{"resources":{"${name}":"1"},"nodes":0}}`,
      )
      const decoded = decodeNodePool(pool)
      expect(Object.keys(decoded.limits)).toEqual([name])
      expect(Object.keys(decoded.template.labels)).toEqual([name])
      expect(Object.keys(countPatch(decoded, undefined)?.resources ?? {})).toContain(name)
      expect(decoded.template.hash).not.toBe(nodePoolHash({ metadata: { labels: {} }, spec: { requirements: [] } }))
      expect(decoded.template.hash).not.toBe(
        nodePoolHash({ metadata: { labels: { [name]: 'y' } }, spec: { requirements: [] } }),
      )
    }
  })
})
