import { describe, expect, test } from 'vitest'
import type { CommandFacts, History, Life } from '../../../core/history/life.ts'
import { reportOf } from '../../../core/history/report/report.ts'
import { foreign } from '../../document/document.ts'
import { reportText } from './run.ts'

const minute = 60_000
const since = Date.UTC(2026, 10, 17)
const until = since + 1440 * minute
const vm = { instanceType: 'D4', zone: 'westus2-1', capacityType: 'spot' }

function life(name: string, more: Partial<Life> = {}): Life {
  return {
    nodeClaim: name,
    uid: name,
    workflowId: name,
    runId: 'run',
    isRunning: more.endedMs === undefined,
    createdMs: since + minute,
    vms: [{ ...vm, fromMs: since + minute }],
    came: { kind: 'by-hand' },
    refused: [],
    attempts: 1,
    labels: {},
    ...more,
  }
}

const undone: CommandFacts = {
  id: 'x',
  method: 'drift',
  reason: 'Drifted',
  decision: 'replace',
  candidates: ['a', 'b', 'c', 'd', 'e'],
  replacements: [],
  savings: 1,
  startedMs: since,
  endedMs: since + minute,
  outcome: 'undone',
}

function markdown(history: Partial<History>): Promise<string> {
  const facts = reportOf({ lives: [], commands: [], sinceMs: since, untilMs: until, unreadable: 0, ...history })
  return reportText({ cluster: 'prod', facts, askedMs: since, measured: { kind: 'unasked' } }, 'markdown')
}

describe('the report says', () => {
  const interrupted = { kind: 'interrupted', message: 'Preempt' } as const
  const refused = Array.from({ length: 5 }, () => ({ ...vm, reason: 'ZonalAllocationFailed' }))
  test.each<[string, Partial<History>, RegExp]>([
    ['which prices are not known', { lives: [life('a')] }, /\| +unknown \|/],
    [
      'that a part of the costs is not known',
      { lives: [life('a'), life('b', { vms: [{ ...vm, pricePerHour: 1, fromMs: until - 60 * minute }] })] },
      /, 1\.00 \+ unknown USD/,
    ],
    ['that Temporal does not say what it keeps', {}, /^- Temporal did not say how long it keeps/m],
    ['nothing about a retention that is long enough', { retentionMs: 168 * 60 * minute }, /^(?!.*Incomplete)/s],
    ['that one lifecycle is unreadable', { unreadable: 1 }, /^- Incomplete: 1 lifecycle has no readable facts/m],
    [
      'that there may have been more refusals',
      { lives: [life('a', { refused })] },
      /latest 5 refusals\. 1 NodeClaim had as many/,
    ],
    [
      'which VMs vanished',
      { lives: [life('a', { drainingMs: until - 1, went: { kind: 'vm-lost', message: '' } })] },
      /1 VM vanished without a notice/,
    ],
    [
      'which interruption is under way',
      { lives: [life('a', { drainingMs: until - 1, went: interrupted })] },
      /\| - +\| +- \| under way +\|/,
    ],
    [
      'which interruption needed no node',
      { lives: [life('a', { drainingMs: since + minute, endedMs: since + 2 * minute, went: interrupted })] },
      /\| +1m \| +0 \| - +\| +- \| no new node +\|/,
    ],
    ['some of many nodes that stayed', { commands: [undone] }, /\| `a, b, c and 2 more` +\|/],
    ['nothing in place of a reason that is not known', { commands: [undone] }, /\| drift +\| - +\| +1 \|/],
    [
      'that a command was terminated',
      { commands: [{ ...undone, outcome: undefined as never }] },
      /\| drift +\| Drifted +\| +0 \| +0 \| +0 \| +1 \|/,
    ],
    [
      'how many rows are left out',
      { commands: Array.from({ length: 53 }, (_, at) => ({ ...undone, message: `because of ${at}` })) },
      /3 more rows are in the JSON/,
    ],
  ])('%s', async (_, history, expected) => {
    expect(await markdown(history)).toMatch(expected)
  })

  test('all rows in JSON', async () => {
    const commands = Array.from({ length: 53 }, (_, at) => ({ ...undone, message: `because of ${at}` }))
    const facts = reportOf({ lives: [], commands, sinceMs: since, untilMs: until, unreadable: 0 })
    const json = await reportText({ cluster: 'prod', facts, askedMs: since, measured: { kind: 'unasked' } }, 'json')
    expect(JSON.parse(json)).toMatchObject({ undone: { length: 53 }, retentionHours: null })
  })
})

test('a text of any length is readable', () => {
  expect(foreign('x'.repeat(1000))).toEqual({ foreign: `${'x'.repeat(257)}...` })
})
