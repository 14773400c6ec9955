import { expect, it } from 'vitest'
import { sampleClaim, sampleCondition, samplePool, sampleTime } from '../../test/samples/sample-objects.ts'
import type { NodePool } from '../objects.ts'
import { consolidatableAt } from './consolidatable.ts'

const minute = 60_000
const later = new Date(sampleTime + minute).toISOString()
const pool = (
  consolidateAfter: string,
  consolidationPolicy: NodePool['disruption']['consolidationPolicy'] = 'WhenEmpty',
) => samplePool('default', { disruption: { consolidateAfter, consolidationPolicy } })
const initialized = (status: 'True' | 'Unknown', at = sampleTime) => ({
  conditions: [sampleCondition('Launched'), sampleCondition('Initialized', status, at)],
})

it.each<[string, Parameters<typeof sampleClaim>[1], NodePool, number | undefined]>([
  ['counts from initialization', { status: initialized('True', sampleTime + 1000) }, pool('30s'), sampleTime + 31_000],
  [
    'counts from the last pod event',
    { status: { lastPodEventTime: later } },
    pool('30s'),
    sampleTime + minute + 30_000,
  ],
  [
    'counts from one before initialization',
    {
      status: { lastPodEventTime: later, ...initialized('True', sampleTime + 10 * minute) },
    },
    pool('30s'),
    sampleTime + minute + 30_000,
  ],
  ['is at once without a wait', {}, pool('0s'), sampleTime],
  ['is whatever the policy', {}, pool('1h', 'Balanced'), sampleTime + 60 * minute],
  ['is never with Never', {}, pool('Never'), undefined],
  ['is not before initialization', { status: { conditions: [sampleCondition('Launched')] } }, pool('0s'), undefined],
  [
    'is not while it waits to be',
    { status: { lastPodEventTime: later, ...initialized('Unknown') } },
    pool('0s'),
    undefined,
  ],
])('a node %s', (_, claim, nodePool, expected) => {
  expect(consolidatableAt(sampleClaim('a', claim), nodePool)).toBe(expected)
})
