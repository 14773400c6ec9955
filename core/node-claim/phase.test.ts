import { describe, expect, it } from 'vitest'
import { sampleClaim, sampleCondition, sampleTime } from '../../test/samples/sample-objects.ts'
import type { Condition } from '../objects.ts'
import { phaseOf } from './phase.ts'

const minute = 60_000
const is = (type: string, minutes: number) => sampleCondition(type, 'True', sampleTime + minutes * minute)
const open = (type: string, message: string): Condition => ({ ...sampleCondition(type, 'Unknown'), message })
const claim = (conditions: readonly Condition[], deletedAfter?: number) =>
  sampleClaim('a', {
    status: { conditions },
    metadata:
      deletedAfter === undefined
        ? {}
        : { deletionTimestamp: new Date(sampleTime + deletedAfter * minute).toISOString() },
  })

describe('the phase of a NodeClaim', () => {
  it.each([
    ['new', claim([]), { phase: 'Launching', sinceMs: sampleTime }],
    [
      'refused',
      claim([open('Launched', 'SkuNotAvailable')]),
      { phase: 'Launching', sinceMs: sampleTime, because: 'SkuNotAvailable' },
    ],
    ['launched', claim([is('Launched', 1)]), { phase: 'Registering', sinceMs: sampleTime + minute }],
    [
      'registered',
      claim([is('Launched', 1), is('Registered', 2), open('Initialized', 'KubeletNotReady')]),
      { phase: 'Initializing', sinceMs: sampleTime + 2 * minute, because: 'KubeletNotReady' },
    ],
    [
      'initialized',
      claim([is('Launched', 1), is('Registered', 2), is('Initialized', 3)]),
      { phase: 'Ready', sinceMs: sampleTime + 3 * minute },
    ],
    [
      'rebooting',
      claim([
        is('Launched', 1),
        is('Registered', 2),
        open('Initialized', 'node is rebooting'),
        { ...is('Rebooting', 4), message: 'the VM was asked to restart' },
      ]),
      { phase: 'Rebooting', sinceMs: sampleTime + 4 * minute, because: 'the VM was asked to restart' },
    ],
    [
      'draining',
      claim([is('Launched', 1), open('Drained', '2 pods are waiting to be evicted')], 9),
      { phase: 'Draining', sinceMs: sampleTime + 9 * minute, because: '2 pods are waiting to be evicted' },
    ],
    [
      'waiting for volumes',
      claim([is('Drained', 10), open('VolumesDetached', 'Awaiting deletion of bound volumeattachments (v)')], 9),
      {
        phase: 'Draining',
        sinceMs: sampleTime + 9 * minute,
        because: 'Awaiting deletion of bound volumeattachments (v)',
      },
    ],
    [
      'terminating',
      claim([is('Drained', 10), is('InstanceTerminating', 11)], 9),
      { phase: 'Terminating', sinceMs: sampleTime + 11 * minute },
    ],
    [
      'waiting for others to let its Node go',
      claim([is('InstanceTerminating', 11), { ...open('NodeDeleted', 'x/y holds it'), status: 'False' }], 9),
      { phase: 'Terminating', sinceMs: sampleTime + 11 * minute, because: 'x/y holds it' },
    ],
  ])('%s', (_, one, phase) => {
    expect(phaseOf(one)).toEqual(phase)
  })
})
