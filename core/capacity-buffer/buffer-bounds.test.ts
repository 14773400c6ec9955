import { expect, it } from 'vitest'
import { parseResources } from '../resources.ts'
import { type BoundedBuffer, withinBounds } from './buffer-bounds.ts'
import type { CapacityBuffer } from './capacity-buffer.ts'
import { resolvedStatus } from './resolve-buffer.ts'

const one = (key: string, replicas: number): BoundedBuffer => ({
  key,
  namespace: key.split('/')[0] as string,
  resolution: { kind: 'resolved', found: { template: {} }, replicas },
})

const counts = (asked: readonly (readonly [string, number])[], inAll = 100, perBuffer = 60) =>
  Object.fromEntries(
    [
      ...withinBounds(
        asked.map(([key, replicas]) => one(key, replicas)),
        { perBuffer, inAll },
      ),
    ].map(([key, found]) => [key, found.kind === 'resolved' ? found.replicas : 'failed']),
  )

it.each([
  [
    'all that fit',
    [
      ['a/x', 10],
      ['b/x', 20],
    ],
    { 'a/x': 10, 'b/x': 20 },
  ],
  ['no more than one buffer may have', [['a/x', 1_000_000]], { 'a/x': 60 }],
  [
    'equal shares of namespaces, whatever the number of their buffers',
    [
      ['a/x', 60],
      ['a/y', 60],
      ['a/z', 60],
      ['b/x', 60],
    ],
    { 'a/x': 16, 'a/y': 17, 'a/z': 17, 'b/x': 50 },
  ],
  [
    'to others what a small one leaves',
    [
      ['a/x', 60],
      ['b/x', 60],
      ['c/x', 10],
    ],
    { 'a/x': 45, 'b/x': 45, 'c/x': 10 },
  ],
] as const)('gives %s', (_, asked, given) => {
  expect(counts(asked)).toEqual(given)
})

it('never gives more than there is in all', () => {
  const asked = Array.from({ length: 50 }, (_, at) => [`n${at % 7}/b${at}`, (at * 37) % 90] as const)
  const given = Object.values(counts(asked)) as number[]
  expect(given.reduce((sum, count) => sum + count, 0)).toBe(100)
})

it('leaves failed resolutions as they are, and a condition names both numbers', () => {
  const failed = { kind: 'failed', reason: 'PodTemplateNotFound', message: '' } as const
  expect(withinBounds([{ key: 'a/x', namespace: 'a', resolution: failed }]).get('a/x')).toBe(failed)
  const buffer = {
    kind: 'CapacityBuffer',
    limits: parseResources({}),
    status: { conditions: [] },
  } as unknown as CapacityBuffer
  const resolution = withinBounds([one('a/x', 1_000_000)]).get('a/x')
  const status = resolution && resolvedStatus(buffer, resolution, { now: '2026-01-01T00:00:00Z', generation: 1 })
  expect(status).toMatchObject({
    replicas: 1000,
    conditions: [{ status: 'True', reason: 'Resolved', message: expect.stringContaining('1000 of 1000000 pods') }],
  })
})
