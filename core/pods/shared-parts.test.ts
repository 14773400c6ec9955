import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { samplePod } from '../../test/samples/sample-objects.ts'
import { parseQuantity } from '../values/quantity.ts'
import { SharedParts } from './shared-parts.ts'

const texts = fc.dictionary(fc.string(), fc.string(), { maxKeys: 3 })
const amounts = fc.dictionary(
  fc.oneof(fc.constantFrom('cpu', 'memory'), fc.string()),
  fc.record({
    nano: fc.bigInt(0n, 5n),
    format: fc.constantFrom('BinarySI' as const, 'DecimalSI' as const),
  }),
  { maxKeys: 3 },
)
const time = fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:03Z')
const pods = fc
  .record({
    name: fc.string(),
    labels: texts,
    annotations: texts,
    requests: amounts,
    limits: amounts,
    nodeSelector: texts,
    persistentVolumeClaims: fc.array(fc.string(), { maxLength: 2 }),
    startTime: time,
    lastTransitionTime: time,
    nodeName: fc.option(fc.string(), { nil: undefined }),
  })
  .map(({ name, labels, annotations, requests, limits, lastTransitionTime, nodeName, ...rest }) => ({
    ...samplePod(name, {
      ...rest,
      limits,
      ...(nodeName !== undefined && { nodeName }),
      metadata: { labels, annotations },
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }],
    }),
    requests,
  }))

it('every pod stays as it was, whatever was seen before it', () => {
  const parts = new SharedParts()
  fc.assert(
    fc.property(pods, (pod) => {
      expect(parts.of(structuredClone(pod))).toEqual(pod)
    }),
  )
})

it('pods from one template share everything but their names', () => {
  const parts = new SharedParts()
  const made = (name: string) => {
    const metadata = { labels: { app: 'web' }, finalizers: ['a'] }
    const tolerations = [{ key: 'gpu', operator: 'Exists' as const }]
    return parts.of(samplePod(name, { metadata, tolerations, affinity: { nodeAffinity: {} } }))
  }
  const [one, other] = [made('one'), made('other')]
  expect(other.metadata.name).toBe('other')
  expect(other.metadata.labels).toBe(one.metadata.labels)
  expect(other.metadata.finalizers).toBe(one.metadata.finalizers)
  expect(other.requests).toBe(one.requests)
  expect(other.tolerations).toBe(one.tolerations)
  expect(other.affinity).toBe(one.affinity)
})

it('a resource whose name looks like an amount is not taken for another', () => {
  const parts = new SharedParts()
  const quantity = parseQuantity('1')
  if (quantity.kind === 'error') throw new Error(quantity.message)
  const one = quantity.quantity
  const both = parts.of({ ...samplePod('both'), requests: { a: one, b: one } })
  const odd = parts.of({ ...samplePod('odd'), requests: { [`a"=${one.nano}${one.format};"b`]: one } })
  expect(Object.keys(both.requests)).toEqual(['a', 'b'])
  expect(Object.keys(odd.requests)).toHaveLength(1)
})

it('what it remembers is bounded: large parts are not shared, and too many begin anew', () => {
  const parts = new SharedParts()
  const of = (size: number, value: string) => parts.of(samplePod('p', { nodeSelector: { [value]: 'x'.repeat(size) } }))
  expect(of(5000, 'a').nodeSelector).not.toBe(of(5000, 'a').nodeSelector)
  const first = of(3000, 'a').nodeSelector
  expect(of(3000, 'a').nodeSelector).toBe(first)
  for (let at = 0; at < 3000; at++) of(3000, String(at))
  expect(of(3000, 'a').nodeSelector).not.toBe(first)
})
