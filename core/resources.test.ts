import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fits,
  formatResources,
  limitExcess,
  maxResources,
  mergeResources,
  minResources,
  parseResources,
  subtractResources,
} from './resources.ts'

const lists = fc
  .dictionary(fc.constantFrom('cpu', 'memory', 'pods'), fc.integer({ min: 0, max: 50 }).map(String))
  .map(parseResources)

describe('resources', () => {
  it('fit exactly when nothing exceeds, where everything is limited', () => {
    fc.assert(
      fc.property(lists, lists, (wanted, available) => {
        const all = mergeResources(parseResources({ cpu: '0', memory: '0', pods: '0' }), available)
        expect(fits(wanted, all)).toBe(limitExcess(all, wanted) === undefined)
      }),
    )
  })

  it('fit into their sum with anything', () => {
    fc.assert(
      fc.property(lists, lists, (a, b) => {
        expect(fits(a, mergeResources(a, b))).toBe(true)
        expect(fits(a, maxResources(a, b))).toBe(true)
        expect(fits(minResources(a, b), a)).toBe(true)
        expect(formatResources(subtractResources(mergeResources(a, b), b))).toMatchObject(formatResources(a))
      }),
    )
  })

  it('say which limit is exceeded', () => {
    const limits = parseResources({ cpu: '500m', memory: '1Gi' })
    expect(limitExcess(limits, parseResources({ cpu: '500m', pods: '10' }))).toBeUndefined()
    expect(limitExcess(limits, parseResources({ memory: '2Gi', cpu: '1100m' }))).toBe(
      'resource usage exceeds limit (limit=0.500, resource-name=cpu, usage=1.100)',
    )
  })
})
