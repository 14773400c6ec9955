import { expect, test } from 'vitest'
import type { RequestAnswer } from '../../../workflows/messages.ts'
import { answerLines, exitCode } from './request-answer.ts'

const started = { id: 'multi-node-1', reason: 'Underutilized', nodes: ['n1', 'n2'], replacements: ['c9'], savings: 0.1 }
const done: RequestAnswer = { kind: 'done', started: [started], rejected: [], changes: [], pauses: [] }
const ended = { id: 'multi-node-1', outcome: 'done', message: '' } as const

test('what was begun, rejected, left out and paused has a line each', () => {
  const rejected = [{ id: 'drift-1', nodes: ['n3'], message: 'pods came' }]
  const answer: RequestAnswer = {
    ...done,
    rejected,
    changes: ['command 2: node n4 is gone'],
    pauses: ['gpu is paused'],
  }
  expect(answerLines(answer, 'nothing')).toEqual([
    'CHANGED  command 2: node n4 is gone',
    'PAUSED   gpu is paused',
    'REJECTED drift-1 (n3): pods came',
    'BEGUN    multi-node-1: Underutilized, 2 nodes (n1, n2), c9 for them, 73.00 USD a month saved',
  ])
  expect(exitCode(answer, [ended])).toBe(1)
})

test('done is done only when all commands ended so', () => {
  expect(exitCode(done, [ended])).toBe(0)
  expect(exitCode(done, [])).toBe(0)
  expect(exitCode(done, [{ ...ended, outcome: 'undone' }])).toBe(1)
})

test('nothing to do, changed and refused', () => {
  expect(answerLines({ ...done, started: [] }, 'nothing to do now')).toEqual(['nothing to do now'])
  const changed = { kind: 'changed', changes: ['command 1: new pod a/b on node n1'] } as const
  expect(answerLines(changed, '')).toEqual([
    'CHANGED  command 1: new pod a/b on node n1',
    'nothing was done; make a new plan with joiner plan',
  ])
  expect(answerLines({ kind: 'refused', message: 'paused by alice' }, '')).toEqual(['paused by alice'])
  expect([exitCode(changed, []), exitCode({ kind: 'refused', message: '' }, [])]).toEqual([1, 1])
})
