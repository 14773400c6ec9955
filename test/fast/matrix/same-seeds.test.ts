import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { workflowBundle } from '../../../workers/bundle.ts'
import { objections } from '../temporal/judge.ts'
import { WorkflowHost } from '../temporal/workflow-host.ts'
import { type Life, live } from './life.ts'

const journalOf = ({ requests, runs }: Life) => [...requests, ...runs.map(({ bytes }) => bytes.toString('base64'))]

test('one seed gives one course, also beside a thread that burns a core, and another seed another one', async () => {
  const first = journalOf(await live())
  const burner = new Worker('for (;;) {}', { eval: true })
  try {
    for (let run = 2; run <= 20; run++) {
      if (run === 12) await burner.terminate()
      expect(journalOf(await live())).toEqual(first)
    }
  } finally {
    await burner.terminate()
  }
  expect(journalOf(await live({ seed: 2 }))).not.toEqual(first)
})

test('Core replays the histories of all workflows of a life', async () => {
  const { code } = await workflowBundle()
  const { runs } = await live({ replicas: 2, isMaintained: true })
  expect(new Set(runs.map(({ identity }) => identity.workflowType)).size).toBeGreaterThan(4)
  expect(await objections(WorkflowHost.load(code, ['observe']), runs)).toEqual([])
})
