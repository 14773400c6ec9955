import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { decodeNodeOverlay } from '../../activities/kubernetes/cache/decode.ts'
import { capacityBufferSpec } from '../../api/capacity-buffer.ts'
import { nodeOverlaySpec } from '../../api/node-overlay.ts'
import { judge } from '../../api/rules/schema-errors.ts'
import { overlayErrors } from '../../core/node-overlay/evaluate-overlays.ts'
import { wellKnownLabels } from '../../core/requirements/labels.ts'
import { bufferCases, type CrdCase, overlayCases } from './feature-crd-cases.ts'

const judged = (schema: z.ZodType, { specs }: CrdCase) => specs.map((spec) => judge(schema, spec, ['spec']))

describe('upstream: the spec of a NodeOverlay, without a cluster', () => {
  it.each(overlayCases)('$title', (one) => {
    for (const { errors } of judged(nodeOverlaySpec, one)) expect(errors.length > 0).toBe(one.verdict === 'refused')
  })

  it.each(overlayCases.filter(({ verdict }) => verdict !== 'refused'))('and beyond the schema: $title', (one) => {
    for (const spec of one.specs) {
      const overlay = decodeNodeOverlay({ metadata: { name: 'a' }, spec })
      expect(overlayErrors(overlay, wellKnownLabels).length > 0).toBe(one.verdict === 'atRuntime')
    }
  })
})

describe('upstream: the spec of a CapacityBuffer, without a cluster', () => {
  it.each(bufferCases)('$title', (one) => {
    for (const { errors, known } of judged(capacityBufferSpec, one)) {
      expect(errors.length > 0).toBe(one.verdict === 'refused')
      if (one.stored !== undefined) expect(known).toMatchObject(one.stored)
    }
  })
})
