import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { capacityBufferSpec } from './capacity-buffer.ts'
import { oldNodeClaimSpec, oldNodePoolSpec } from './conversion/v1beta1.ts'
import { nodeClaimSpec } from './node-claim.ts'
import { nodeClassSpec } from './node-class.ts'
import { nodeOverlaySpec } from './node-overlay.ts'
import { nodePoolSpec } from './node-pool.ts'

const schemas = {
  capacityBufferSpec,
  oldNodeClaimSpec,
  oldNodePoolSpec,
  nodeClaimSpec,
  nodeClassSpec,
  nodeOverlaySpec,
  nodePoolSpec,
}

/** Returns every pattern that zod matches by itself, anywhere in a schema. */
function patternsOf(schema: z.ZodType): ReadonlySet<RegExp> {
  const patterns = new Set<RegExp>()
  z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema }) => {
      for (const check of zodSchema._zod.def.checks ?? []) {
        const { pattern } = check._zod.def as { readonly pattern?: unknown }
        if (pattern instanceof RegExp) patterns.add(pattern)
      }
    },
  })
  return patterns
}

const patterns = new Map(
  Object.values(schemas)
    .flatMap((schema) => [...patternsOf(schema)])
    .map((pattern) => [pattern.source, pattern]),
)
const longTexts = ['a', '9', 'a.', 'a-', '1h', 'a ', '-', '.', '/', '%'].flatMap((part) => {
  const text = part.repeat(100_000 / part.length)
  return [text, `${text}!`, `+${text}`, `${text}\n`]
})

test('there are patterns to try', () => {
  expect(patterns.size).toBeGreaterThan(10)
})

describe('a pattern is tried on 100,000 characters in no time', () => {
  // A pattern that tries every split of a text takes minutes.
  test.each([...patterns.values()])('%s', (pattern) => {
    for (const text of longTexts) expect(typeof pattern.test(text)).toBe('boolean')
  })
})

test("upstream's pattern of a price adjustment takes the same texts", () => {
  const { properties } = z.toJSONSchema(nodeOverlaySpec, { io: 'input' }) as unknown as {
    readonly properties: { readonly priceAdjustment: { readonly pattern: string } }
  }
  const upstream = new RegExp(properties.priceAdjustment.pattern)
  const texts = fc.string({ unit: fc.constantFrom('+', '-', '.', '%', '0', '1', '10', '00'), maxLength: 8 })
  fc.assert(
    fc.property(texts, (text) => {
      const taken = nodeOverlaySpec.shape.priceAdjustment.safeParse(text).success
      expect(taken).toBe(upstream.test(text))
    }),
    { numRuns: 2000 },
  )
})
