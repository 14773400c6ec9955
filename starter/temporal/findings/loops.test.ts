import { WorkflowNotFoundError } from '@temporalio/client'
import { expect, test } from 'vitest'
import { type Finding, merged } from './finding.ts'
import { lookAtLoops } from './look.ts'

/** A Temporal whose loop runs with so many attempts of its workflow task; undefined: it does not run; an error is what it says. */
const look = (attempts: Readonly<Record<string, number | Error | undefined>>) => {
  const describe = (id: string) => async () => {
    const attempt = attempts[id]
    if (attempt instanceof Error) throw attempt
    if (attempt === undefined) throw new WorkflowNotFoundError('not found', id, undefined)
    return { status: { name: 'RUNNING' }, raw: { pendingWorkflowTask: { attempt } } }
  }
  const client = {
    options: { namespace: 'default' },
    workflow: { getHandle: (id: string) => ({ describe: describe(id) }) },
  }
  return lookAtLoops({ client: client as never, cluster: 'c', now: () => 0 })
}

test('a loop whose workflow task fails again and again is found by a description alone', async () => {
  expect(await look({ 'provisioning/c': 1, 'disruption/c': 2 })).toEqual([])
  expect(await look({ 'provisioning/c': 7, 'disruption/c': 1 })).toMatchObject([
    {
      object: 'workflow provisioning/c',
      fault: 'workflow task fails',
      detail: 'attempt 7',
      remedy: expect.stringContaining('temporal workflow terminate --workflow-id provisioning/c --namespace default'),
    },
  ])
})

test('a loop that cannot be described does not hide that the other one is gone', async () => {
  expect(await look({ 'provisioning/c': new Error('busy') })).toMatchObject([
    { object: 'workflow provisioning/c', fault: 'cannot be read', detail: 'busy' },
    { object: 'workflow disruption/c', fault: 'loop not running', repair: { kind: 'bootstrap' } },
  ])
})

test('of two findings about the same the one with a repair is kept', () => {
  const seen: Finding = { object: 'workflow a', fault: 'workflow task fails', remedy: 'by hand' }
  const repaired: Finding = { ...seen, repair: { kind: 'restart', workflowId: 'a', runId: 'r', why: 'cannot go on' } }
  expect(merged([seen, repaired])).toEqual([repaired])
  expect(merged([repaired, seen])).toEqual([repaired])
  expect(merged([seen, { ...seen, object: 'workflow b' }])).toHaveLength(2)
})
