import { expect, test } from 'vitest'
import { sampleClaim, sampleCondition, samplePool } from '../../test/samples/sample-objects.ts'
import type { NodeClaim } from '../objects.ts'
import { countPool, missingClaims, surplusClaims } from './pool-count.ts'
import { claimsOfCommands, markedClaims, stampedClaims } from './static-claim.ts'

const command = 'static-drift-x'
const annotated = (name: string, key: string) => sampleClaim(name, { metadata: { annotations: { [key]: command } } })

// A drifted node `old` is replaced by `new`, and `other` stays. These are the states that a crash may leave, in their order.
const other = sampleClaim('other')
const plain = sampleClaim('old')
const marked = sampleClaim('old', { status: { conditions: [sampleCondition('DisruptionReason')] } })
const stamped = annotated('old', 'joiner.sh/disruption-command')
const going: NodeClaim = { ...stamped, metadata: { ...stamped.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
const named = (claim: NodeClaim, name: string): NodeClaim => ({ ...claim, metadata: { ...claim.metadata, name } })
const distinct = (...claims: readonly NodeClaim[]) => claims.map((claim, at) => named(claim, `claim-${at}`))
const replacement = annotated('new', 'joiner.sh/replacement-for')

const pool = (replicas: number) => ({ ...samplePool('default'), replicas, isStatic: true })
const facts = { now: Date.parse('2026-01-01T00:00:00Z'), podsOf: () => [] }

test.each<[string, readonly NodeClaim[]]>([
  ['nothing has begun', distinct(plain, other)],
  ['the node is marked', distinct(marked, other)],
  ['its replacement is there', distinct(marked, other, replacement)],
  ['the command has it', distinct(stamped, other, replacement)],
  ['it goes', distinct(going, other, replacement)],
  ['it is gone', distinct(other, replacement)],
])('while a node is replaced nothing is missing and nothing too much: %s', (_, claims) => {
  expect(missingClaims(pool(2), countPool(pool(2), claims, stampedClaims(claims)))).toBe(0)
  expect(surplusClaims(pool(2), countPool(pool(2), claims, markedClaims(claims)), facts)).toEqual([])
})

test('a replacement that was lost while the node goes is made again', () => {
  const claims = distinct(going, other)
  expect(missingClaims(pool(2), countPool(pool(2), claims, stampedClaims(claims)))).toBe(1)
})

test('a command decides about its node and about the replacement, and about no others', () => {
  const claims = distinct(stamped, other, replacement)
  expect([...claimsOfCommands(claims)].map(({ metadata }) => metadata.name).sort()).toEqual(['claim-0', 'claim-2'])
})

test('scaled down during a replacement, a node of no command goes', () => {
  const claims = distinct(stamped, other, replacement)
  const taken = claimsOfCommands(claims)
  const surplus = surplusClaims(pool(1), countPool(pool(1), claims, markedClaims(claims)), {
    ...facts,
    isKept: (claim) => taken.has(claim),
  })
  expect(surplus.map(({ metadata }) => metadata.name)).toEqual(['claim-1'])
})
