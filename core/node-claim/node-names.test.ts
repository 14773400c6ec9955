import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  claimNameErrors,
  nodeClassNameErrors,
  nodeNamePrefix,
  nodePoolNameErrors,
  replacementName,
} from './node-names.ts'

const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,70}[a-z0-9])?$/).filter((text) => !/[.-][.]|[.][-]/.test(text))

it('a NodePool is named so that its nodes are, or is refused', () => {
  expect(nodePoolNameErrors('p'.repeat(53))).toEqual([])
  expect(nodePoolNameErrors('p'.repeat(54))).toEqual([
    expect.stringMatching(/54 characters.*more than 63; use at most 53/),
  ])
  expect(`${nodeNamePrefix}${'p'.repeat(53)}-abcde`).toHaveLength(63)
})

it('a NodeClaim and a node class have names that a node can have', () => {
  expect([claimNameErrors('c'.repeat(59)), nodeClassNameErrors('c'.repeat(63))]).toEqual([[], []])
  expect([claimNameErrors('c'.repeat(60)), nodeClassNameErrors('c'.repeat(64))].flat()).toHaveLength(2)
})

it('a replacement of any NodePool has a name that a node can have', () => {
  fc.assert(
    fc.property(name, fc.nat(999), (pool, at) => {
      const made = replacementName(pool, '0123456789', at)
      expect(claimNameErrors(made)).toEqual([])
      expect(made).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
      expect(made.endsWith(`-0123456789-${at}`)).toBe(true)
    }),
  )
  expect(replacementName('general', '0123456789', 0)).toBe('general-0123456789-0')
})
