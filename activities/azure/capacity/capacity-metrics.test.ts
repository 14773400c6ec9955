import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { observeCapacity } from './capacity-metrics.ts'
import { noMarks, offeringMarks, withMarks } from './mark.ts'
import type { Quota } from './quota.ts'

it('quota by family and marks by reason are published', async () => {
  const registry = new Registry()
  const reported = { untilMs: 10, reason: 'AllocationFailure' }
  const d4 = { instanceType: 'a', family: 'f', vCpus: 4, zone: '0', capacityType: 'on-demand' }
  const added = [
    ...offeringMarks(d4, reported),
    ...offeringMarks({ ...d4, zone: 'z-1' }, reported),
    { kind: 'allSpot', ...reported } as const,
  ]
  const quota = {
    usages: new Map([
      ['standarddsv5family', { limit: 10, current: 4 }],
      ['cores', { limit: 100, current: 4 }],
      ['virtualnetworks', { limit: 5, current: 1 }],
    ]),
    inFlight: new Map([['cores', -2]]),
  } as unknown as Quota
  observeCapacity({ quota, unavailable: { marks: withMarks(noMarks, added, 0).marks } }, registry)
  const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  expect(lines).toEqual([
    'joiner_quota_limit_vcpus{family="standarddsv5family"} 10',
    'joiner_quota_limit_vcpus{family="cores"} 100',
    'joiner_quota_used_vcpus{family="standarddsv5family"} 4',
    'joiner_quota_used_vcpus{family="cores"} 4',
    'joiner_quota_in_flight_vcpus{family="cores"} -2',
    'joiner_unavailable_offerings{capacity_type="on-demand",reason="AllocationFailure"} 2',
    'joiner_unavailable_offerings{capacity_type="spot",reason="AllocationFailure"} 1',
  ])
})
