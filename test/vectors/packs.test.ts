import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { packed, readSuite, readVectors, suites, vectorNames } from './packs.ts'

describe('packs of golden vectors', () => {
  it('are all there', () => {
    const known = 'algebra azure azure-instance-types azure-tables disruption features scheduling workloads'
    expect(suites()).toEqual(known.split(' '))
  })

  it.each(suites())('%s holds what "npm run vectors" would write', (suite) => {
    const entries = vectorNames(suite).map((name) => ({ name, content: readVectors(`${suite}/${name}`) }))
    expect(entries.length).toBeGreaterThan(0)
    const file = readFileSync(new URL(`./golden/${suite}.ndjson.br`, import.meta.url))
    expect(packed(entries.toReversed()).equals(file)).toBe(true)
  })

  it('that are missing fail a suite, with what to do', () => {
    expect(() => readSuite('nothing')).toThrow(/nothing\.ndjson\.br is missing; restore it from git, or make it with/)
    expect(() => readVectors('azure/nothing')).toThrow('there is no file "nothing"')
  })
})
