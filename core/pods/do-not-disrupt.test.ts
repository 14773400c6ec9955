import { expect, it } from 'vitest'
import { samplePod, sampleTime } from '../../test/samples/sample-objects.ts'
import { type Protection, protectionOf } from './do-not-disrupt.ts'
import { hasDoNotDisrupt } from './pod-rules.ts'

const startTime = new Date(sampleTime).toISOString()
const pod = (value: string | undefined, started = true) =>
  samplePod('p', {
    ...(started ? { startTime } : {}),
    metadata: { annotations: value === undefined ? {} : { 'karpenter.sh/do-not-disrupt': value } },
  })
const invalid = (text: RegExp) => ({ kind: 'invalid', message: expect.stringMatching(text) as string })

it.each<[string | undefined, object]>([
  [undefined, { kind: 'none' }],
  ['true', { kind: 'always' }],
  ['90m', { kind: 'timed', endsAt: sampleTime + 5_400_000 }],
  ['500us', { kind: 'timed', endsAt: sampleTime + 0.5 }],
  ['false', invalid(/^failed to parse "false" as a duration/)],
  ['1d', invalid(/"1d"/)],
  ['Never', invalid(/"Never"/)],
  ['', invalid(/""/)],
  ['0s', invalid(/^duration "0s" must be positive$/)],
  ['-5m', invalid(/"-5m" must be positive/)],
])('%j', (value, expected) => {
  expect(protectionOf(pod(value))).toMatchObject(expected)
})

it('holds until its time is over, which does not run before the start', () => {
  const later: Protection = protectionOf(pod('1m', false))
  expect(later).toEqual({ kind: 'timed' })
  expect([0, 59_999, 60_000].map((ms) => hasDoNotDisrupt(pod('1m'), sampleTime + ms))).toEqual([true, true, false])
  expect(hasDoNotDisrupt(pod('1m', false), sampleTime + 60_000)).toBe(true)
  expect(['true', 'false', undefined].map((value) => hasDoNotDisrupt(pod(value), sampleTime))).toEqual([
    true,
    false,
    false,
  ])
})
