import { ApplicationFailure } from '@temporalio/activity'
import { beforeAll, expect, test } from 'vitest'
import { notBeingDeleted } from '../../core/node-claim/lifecycle.ts'
import { workflowBundle } from '../../workers/bundle.ts'
import { type Activities, OneLife } from './temporal/one-life.ts'
import { WorkflowHost } from './temporal/workflow-host.ts'

let host: WorkflowHost

beforeAll(async () => {
  host = WorkflowHost.load((await workflowBundle()).code, ['observe'])
}, 60_000)

test('a silent node of which Azure says nothing is drained like any', async () => {
  const life = new OneLife(host)
  const calls: string[] = []
  const activities: Activities = {
    ...life.activities,
    drain: async ({ reported }: { readonly reported: { readonly vmLooks: number } }) => {
      calls.push(`drain after ${reported.vmLooks} looks`)
      return reported.vmLooks === 0 ? { kind: 'notReady' } : { kind: 'drained', pods: 0 }
    },
    findInstance: async () => {
      throw new Error('AuthorizationFailed')
    },
    deleteInstance: async () => {
      calls.push('deleteInstance')
      life.story.isGone = true
      return { existed: true, goneMs: life.clock.now() }
    },
  }
  life.story.isDeleted = true
  life.startProcess(activities)
  life.begin()
  await life.until('the end', () => !life.run.isRunning)
  expect(calls).toEqual(['drain after 0 looks', 'drain after 1 looks', 'deleteInstance'])
})

test('a node whose deletion a restore of etcd takes back is not listed as one that goes', async () => {
  const life = new OneLife(host)
  life.story.isDeleted = true
  life.startProcess({
    ...life.activities,
    drain: async () => {
      life.story.isDeleted = false
      throw ApplicationFailure.nonRetryable('NodeClaim a is not being deleted', notBeingDeleted)
    },
  })
  life.begin()
  const listed = () => life.run.history.attribute('NodePhase')
  await life.until('it comes again', () => life.story.launches > 0)
  expect(listed()).toEqual(['Draining', 'Launching'])
  await life.until('it is ready', () => life.story.isReady && life.phase() === 'Ready')
  expect(listed()).toEqual(['Draining', 'Launching', 'Ready'])
})
