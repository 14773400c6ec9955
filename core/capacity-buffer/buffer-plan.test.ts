import { expect, test } from 'vitest'
import { sampleCondition, samplePod } from '../../test/samples/sample-objects.ts'
import { type BufferPlaces, provisioningCondition } from './buffer-plan.ts'
import type { CapacityBuffer } from './capacity-buffer.ts'

const buffer = (ready: 'True' | 'False'): CapacityBuffer => ({
  kind: 'CapacityBuffer',
  metadata: samplePod('spare').metadata,
  limits: {},
  status: { conditions: [sampleCondition('ReadyForProvisioning', ready)] },
})
const places: BufferPlaces = { onNodes: new Set(['a']), onNewClaims: new Set(['b']), counts: new Map() }

// The messages are Karpenter's own: dashboards and scripts read them.
test.each([
  ['False', ['a'], 'False', 'NotReadyForProvisioning', 'Buffer is not ReadyForProvisioning'],
  ['True', [], 'False', 'BufferEmpty', 'Buffer has zero desired replicas'],
  ['True', ['a'], 'True', 'FitsExistingCapacity', 'All 1 virtual pods fit on existing capacity'],
  ['True', ['a', 'b', 'c'], 'False', 'RequiresNewCapacity', '1/3 virtual pods required new capacity, 1 failed'],
] as const)(
  'a buffer with ReadyForProvisioning %s and pods %j: Provisioning is %s',
  (ready, names, status, reason, message) => {
    expect(provisioningCondition(buffer(ready), names, places)).toEqual({
      type: 'Provisioning',
      status,
      reason,
      message,
    })
  },
)
