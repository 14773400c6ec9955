import { expect, test } from 'vitest'
import {
  disruptionCommandId,
  disruptionPassId,
  lifecycleId,
  maintenanceScheduleId,
  singletonIds,
} from '../../../core/task-queues.ts'
import { isOfThisForm } from '../../../core/workflow-forms.ts'
import type * as workflows from '../../../workflows/index.ts'

/** An id of each workflow that there is: one that is missing here does not compile, and one without a form would be ended as soon as it began. */
const ids: Readonly<Record<keyof typeof workflows, string>> = {
  nodeClaimLifecycle: lifecycleId('test', { name: 'a', uid: '0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d' }),
  provisioningLoop: singletonIds.provisioningLoop('test'),
  disruptionLoop: singletonIds.disruptionLoop('test'),
  disruptionCommand: disruptionCommandId('test', 'drift-0123456789-01234567'),
  disruptionPass: disruptionPassId('test', '01234567'),
  maintenance: `${maintenanceScheduleId('test')}-workflow-2026-11-24T08:00:00Z`,
}

test.each(Object.entries(ids))('%s is of the form of this version', (type, workflowId) => {
  expect(isOfThisForm('test', { type, workflowId })).toBe(true)
})
