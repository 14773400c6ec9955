import { describe, expect, test } from 'vitest'
import {
  claimOfLifecycle,
  disruptionCommandId,
  disruptionPassId,
  lifecycleId,
  maintenanceScheduleId,
  singletonIds,
} from './task-queues.ts'
import { isOfThisForm } from './workflow-forms.ts'

const uid = '0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d'

describe("a lifecycle's id", () => {
  test.each([
    ['general-x7f2k', 'nodeclaim/prod/general-x7f2k-0a1b2c3d'],
    ['a', 'nodeclaim/prod/a-0a1b2c3d'],
    ['a.b-0a1b2c3d', 'nodeclaim/prod/a.b-0a1b2c3d-0a1b2c3d'],
  ])('names the NodeClaim %s and the beginning of its UID', (name, id) => {
    expect(lifecycleId('prod', { name, uid })).toBe(id)
    expect(claimOfLifecycle('prod', id)).toEqual({ name, uid: '0a1b2c3d' })
    expect(lifecycleId('prod', { name, uid: '0a1b2c3d' })).toBe(id)
  })

  test.each([
    `nodeclaim/prod/general-x7f2k/${uid}`,
    'nodeclaim/prod-2/a-0a1b2c3d',
    'nodeclaim/prod/a-0a1b2c3d/more',
    'nodeclaim/prod/a',
    'nodeclaim/prod/-0a1b2c3d',
    'nodeclaim/prod/a-',
    'nodeclaim/prod',
    'disrupt/prod/drift-0123456789',
    '',
  ])('is not %s', (id) => expect(claimOfLifecycle('prod', id)).toBeUndefined())
})

test.each<[type: string, workflowId: string, isOfThisForm: boolean]>([
  ['nodeClaimLifecycle', lifecycleId('prod', { name: 'a', uid }), true],
  ['nodeClaimLifecycle', `nodeclaim/prod/a/${uid}`, false],
  ['nodeClaimLifecycle', lifecycleId('other', { name: 'a', uid }), false],
  ['nodeClaim', lifecycleId('prod', { name: 'a', uid }), false],
  ['provisioningLoop', singletonIds.provisioningLoop('prod'), true],
  ['provisioningLoop', singletonIds.disruptionLoop('prod'), false],
  ['disruptionLoop', singletonIds.disruptionLoop('prod'), true],
  ['disruptionLoop', `${singletonIds.disruptionLoop('prod')}/more`, false],
  ['disruptionCommand', disruptionCommandId('prod', 'drift-0123456789-01234567'), true],
  ['disruptionCommand', 'drift-0123456789', false],
  ['disruptionPass', disruptionPassId('prod', '01234567'), true],
  ['disruptionPass', 'disrupt/other/asked-01234567', false],
  ['maintenance', `${maintenanceScheduleId('prod')}-workflow-2026-11-24T08:00:00Z`, true],
  // Of a Schedule that a person made with the command of the log.
  ['maintenance', `${maintenanceScheduleId('prod')}-2026-11-24T08:00:00Z`, true],
  ['maintenance', 'maintenance/other-workflow-2026-11-24T08:00:00Z', false],
  ['garbageCollection', 'garbageCollection/prod-workflow-2026-11-24T08:00:00Z', false],
  ['constructor', 'nodeclaim/prod/a-0a1b2c3d', false],
])('%s with the id %s: %s', (type, workflowId, expected) => {
  expect(isOfThisForm('prod', { type, workflowId })).toBe(expected)
})
