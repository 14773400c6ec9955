import { describe, expect, it } from 'vitest'
import { requirement } from '../../core/requirements/requirement.ts'
import { requirementsOfLabels } from '../../core/requirements/requirements.ts'
import { decide } from '../../starter/cli/simulate/disruption.ts'
import { readSuite } from './packs.ts'
import { answer, plainForm, type VectorScenario } from './scheduling.ts'

const zone = 'topology.kubernetes.io/zone'
const diskZone = 'topology.disk.csi.azure.com/zone'

type Json = Readonly<Record<string, unknown>>

/** The scenario with its first zone renamed to the region without zones. Undefined: it names no zone. */
function regional<S>(scenario: S): S | undefined {
  const text = JSON.stringify(scenario)
  const name =
    new RegExp(`"${zone}":"([^"]+)"`).exec(text)?.[1] ??
    new RegExp(`"key":"${zone}","operator":"In","values":\\["([^"]+)"`).exec(text)?.[1]
  return name === undefined ? undefined : (JSON.parse(text.replaceAll(`"${name}"`, '"0"')) as S)
}

/** The same as the disk driver has it: its own label "" on Nodes without a zone, and in what requires no zone. */
function asDiskDriver(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asDiskDriver)
  if (typeof value !== 'object' || value === null) return value
  const object = value as Json
  const { key, values, labels } = object
  if (key === zone && JSON.stringify(values) === '["0"]') return { ...object, key: diskZone, values: [''] }
  const own = labels as Json | undefined
  const changed = own?.[zone] === '0' ? { ...object, labels: { ...own, [diskZone]: '' } } : object
  return Object.fromEntries(Object.entries(changed).map(([name, part]) => [name, asDiskDriver(part)]))
}

/** Nodes and volumes are those of the disk driver; what people write stays. */
function withDriver<S extends { readonly objects: readonly object[] }>(scenario: S): S {
  const kinds = new Set(['Node', 'PersistentVolume', 'StorageClass'])
  const objects = scenario.objects.map((object) =>
    kinds.has(String((object as Json)['kind'])) ? (asDiskDriver(object) as object) : object,
  )
  return { ...scenario, objects }
}

/** Returns how many scenarios were compared, and those in which the label changes the answer. */
function compared<S extends { readonly name: string; readonly objects: readonly object[] }>(
  all: readonly S[],
  answerOf: (scenario: S) => unknown,
) {
  const plain = all.flatMap((scenario) => regional(scenario) ?? [])
  const labelled = plain.filter((scenario) => JSON.stringify(withDriver(scenario)) !== JSON.stringify(scenario))
  const changed = labelled.filter(
    (scenario) => JSON.stringify(answerOf(withDriver(scenario))) !== JSON.stringify(answerOf(scenario)),
  )
  return { count: labelled.length, changed: changed.map(({ name }) => name) }
}

describe('the zone label of the disk driver, empty where there is no zone', () => {
  it('is zone "0" in requirements and in labels', () => {
    expect(requirement({ key: diskZone, operator: 'In', values: [''] })).toEqual(
      requirement({ key: zone, operator: 'In', values: ['0'] }),
    )
    expect(requirementsOfLabels({ [diskZone]: '', [zone]: '0' })).toEqual(requirementsOfLabels({ [zone]: '0' }))
    expect(requirement({ key: diskZone, operator: 'In', values: ['westus2-1'] }).values).toEqual(new Set(['westus2-1']))
  })

  it('changes no answer of a scheduling scenario', () => {
    const all = readSuite('scheduling') as readonly VectorScenario[]
    const { count, changed } = compared(all, (scenario) => plainForm(answer(scenario)))
    console.log(`${count} scheduling scenarios with zone 0 and the label of the disk driver`)
    expect(changed).toEqual([])
    expect(count).toBeGreaterThan(0)
  })

  it('changes no decision of a disruption scenario', () => {
    const all = readSuite('disruption') as readonly (VectorScenario & { readonly method: string })[]
    const { count, changed } = compared(all, ({ expected: _expected, ...scenario }) => decide(scenario))
    console.log(`${count} disruption scenarios with zone 0 and the label of the disk driver`)
    expect(changed).toEqual([])
    expect(count).toBeGreaterThan(0)
  })
})
