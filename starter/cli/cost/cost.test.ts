import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { hourMs } from '../../../core/cost/bill.ts'
import { costOf } from '../../../core/cost/report.ts'
import { addSlice, emptyHour } from '../../../core/cost/slice.ts'
import type { CommandFacts, History, Life } from '../../../core/history/life.ts'
import { csvText } from '../../document/csv.ts'
import { plainText } from '../../document/text.ts'
import { costReport, type ReadCost } from '../../picture/cost.ts'
import { registerCost } from './command.ts'
import { type CostKey, costCsv, costDocument, costJson } from './text.ts'

const at = Date.UTC(2026, 10, 24, 10)
const window = { fromMs: at, toMs: at + 2 * hourMs }

function life(name: string, nodePool: string, labels: Readonly<Record<string, string>>, spot = false): Life {
  const capacityType = spot ? 'spot' : 'on-demand'
  const vm = {
    instanceType: 'Standard_D4s_v5',
    zone: 'westus2-1',
    capacityType,
    pricePerHour: spot ? 1 : 4,
    fromMs: at,
  }
  return {
    nodeClaim: name,
    uid: name,
    workflowId: name,
    runId: '1',
    isRunning: true,
    nodePool,
    createdMs: at,
    vms: [vm],
    came: { kind: 'pods', pods: 1 },
    refused: [],
    attempts: 1,
    labels,
  }
}

const command: CommandFacts = {
  id: 'emptiness-1',
  method: 'emptiness',
  reason: 'Empty',
  decision: 'delete',
  candidates: ['x'],
  replacements: [],
  savings: 3,
  startedMs: at,
  endedMs: at + hourMs,
  outcome: 'done',
}
const history: History = {
  lives: [life('a', 'general', { team: 'shop' }), life('b', 'batch', {}, true)],
  commands: [command],
  sinceMs: at,
  untilMs: window.toMs,
  unreadable: 0,
}
const hour = addSlice(emptyHour, {
  fromMs: at,
  toMs: at + hourMs,
  pools: new Map([['general', { usd: 4, idle: 1, nodeHours: 1, unpricedHours: 0 }]]),
  workloads: new Map([
    ['shop/Deployment/web', 2],
    ['=cmd/Pod/x', 1],
  ]),
})
const cost: ReadCost = {
  ...costOf({ history, ledger: new Map([[at, hour]]), priceOf: (_, type) => (type === 'spot' ? 1 : 4), window }),
  notes: ['Prices are\u001b[31m red.'],
}
const by = (kind: 'nodepool' | 'namespace' | 'workload'): CostKey => ({ kind })

describe('joiner cost', () => {
  test('lists NodePools, and what is idle, unknown, saved and to come', () => {
    expect(plainText(costDocument(cost, by('nodepool'), 'demo')).split('\n')).toEqual([
      'Cost of cluster demo from 2026-11-24T10:00:00Z to 2026-11-24T12:00:00Z (2.0 h), USD',
      '',
      'NODEPOOL  USD   SHARE  NODE-HOURS  SPOT DISCOUNT',
      'general   8.00  80%    2.00        0.00',
      'batch     2.00  20%    2.00        6.00',
      '',
      'total          10.00, 4.00 node-hours, 5.00 an hour',
      'idle           1.00 (10%), requested by no pod',
      'unknown        6.00 (60%), not watched',
      'saved          3.00 by 1 disruption command: Empty 3.00',
      "spot discount  6.00 against today's prices on demand",
      'forecast       2026-11: 3,600.00',
      '',
      'note: Prices are\\u001b[31m red.',
    ])
  })

  test.each<[CostKey, readonly (readonly [string, number])[]]>([
    [
      by('nodepool'),
      [
        ['general', 8],
        ['batch', 2],
      ],
    ],
    [
      by('namespace'),
      [
        ['shop', 2],
        ['=cmd', 1],
        ['(idle)', 1],
        ['(unknown)', 6],
      ],
    ],
    [
      by('workload'),
      [
        ['shop/Deployment/web', 2],
        ['=cmd/Pod/x', 1],
        ['(idle)', 1],
        ['(unknown)', 6],
      ],
    ],
    [
      { kind: 'label', label: 'team' },
      [
        ['shop', 8],
        ['(none)', 2],
      ],
    ],
    [
      { kind: 'label', label: 'karpenter.sh/capacity-type' },
      [
        ['on-demand', 8],
        ['spot', 2],
      ],
    ],
    [{ kind: 'label', label: 'constructor' }, [['(none)', 10]]],
  ])('the lines by %j add up to the total', (key, lines) => {
    const json = costJson(cost, key) as { readonly lines: readonly { readonly key: string; readonly usd: number }[] }
    expect(json.lines.map((line) => [line.key, line.usd])).toEqual(lines)
    expect(lines.reduce((sum, [, usd]) => sum + usd, 0)).toBe(cost.total.usd)
  })

  test('CSV has a line for each, and no formula', () => {
    expect(csvText(costCsv(cost, by('namespace'))).split('\n')).toEqual([
      'from,to,by,key,usd,node_hours,unpriced_node_hours,spot_discount_usd',
      ...['shop,2', "'=cmd,1", '(idle),1', '(unknown),6'].map(
        (line) => `2026-11-24T10:00:00Z,2026-11-24T12:00:00Z,namespace,${line},,,`,
      ),
    ])
  })

  test('the page gets the same numbers', () => {
    expect(costReport(cost)).toMatchObject({
      byNodePool: [
        { key: 'general', usd: 8, nodeHours: 2 },
        { key: 'batch', usd: 2, nodeHours: 2 },
      ],
      byNamespace: [
        { key: 'shop', usd: 2 },
        { key: '=cmd', usd: 1 },
      ],
      idle: 1,
      total: 10,
      saved: 3,
      forecastMonth: 3600,
    })
  })

  test.each(['pod', 'label', 'label=', ''])('--group-by %j is refused with what it must be', (text) => {
    const command = new Command('cost').exitOverride().configureOutput({ writeErr: () => {} })
    registerCost(command)
    expect(() => command.parse(['--group-by', text], { from: 'user' })).toThrow(
      'It must be nodepool, namespace, workload or label=KEY',
    )
  })
})
