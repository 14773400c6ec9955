import { describe, expect, test } from 'vitest'
import type { History, Life } from '../../../core/history/life.ts'
import { csvText } from '../../document/csv.ts'
import { plainText } from '../../document/text.ts'
import {
  isNamedAfter,
  isWorkload,
  type Placement,
  workloadCsv,
  workloadJson,
  workloadNamed,
  workloadNodes,
  workloadTable,
} from './workload.ts'

test.each([
  ['shop/web', { namespace: 'shop', name: 'web' }],
  ['shop/deployment/web', { namespace: 'shop', kind: 'deployment', name: 'web' }],
  ['web', undefined],
  ['shop/', undefined],
  ['/web', undefined],
  ['a/b/c/d', undefined],
  ['', undefined],
])('the argument %j names %j', (text, expected) => {
  expect(workloadNamed(text)).toEqual(expected)
})

test.each([
  ['shop/Deployment/web', 'shop/web', true],
  ['shop/Deployment/web', 'shop/deployment/web', true],
  ['shop/Deployment/web', 'shop/StatefulSet/web', false],
  ['shop/Deployment/web', 'other/web', false],
  ['shop/Deployment/web-api', 'shop/web', false],
])('%s as %s is %j', (full, asked, expected) => {
  expect(isWorkload(full, workloadNamed(asked) as never)).toBe(expected)
})

test.each([
  ['web-5d9c7f6b8-x7k2p', true],
  ['web-x7k2p', true],
  ['web-0', true],
  ['web-28371840-x7k2p', true],
  ['web', true],
  ['web-api-x7k2p', false],
  ['web-api-5d9c7f6b8-x7k2p', false],
  ['website-x7k2p', false],
  ['other', false],
])('the pod %s of web: %j', (pod, expected) => {
  expect(isNamedAfter(pod, { name: 'web' })).toBe(expected)
})

describe('the nodes of a workload', () => {
  const at = Date.UTC(2026, 0, 1)
  const life = {
    nodeClaim: 'a',
    node: 'aks-a',
    nodePool: 'general',
    createdMs: at,
    endedMs: at + 60_000,
    went: { kind: 'expired', message: 'expired at X' },
  } as unknown as Life
  const placements: readonly Placement[] = [
    { pod: 'web-1', node: 'aks-b', exists: true },
    { pod: 'web-2', node: 'aks-a', exists: false, atMs: at + 1000 },
  ]
  const nodes = workloadNodes(placements, { lives: [life] } as unknown as History)

  test('are told with what became of them', () => {
    expect(
      plainText([[workloadTable(nodes)]])
        .split('\n')
        .map((line) => line.replaceAll(/ {2,}/g, ' | ')),
    ).toEqual([
      'NODE | NODEPOOL | PODS | GONE PODS | LAST PLACED | NODE CREATED | NODE ENDED | WENT',
      'aks-a | general | 0 | 1 | 2026-01-01T00:00:01Z | 2026-01-01T00:00:00Z | 2026-01-01T00:01:00Z | expired at X',
      'aks-b | - | 1 | 0 | - | no lifecycle | - | -',
    ])
  })

  test('are the same for programs', () => {
    expect(nodes.map(workloadJson)).toEqual([
      {
        node: 'aks-a',
        nodeClaim: 'a',
        nodePool: 'general',
        created: '2026-01-01T00:00:00.000Z',
        ended: '2026-01-01T00:01:00.000Z',
        went: { kind: 'expired', message: 'expired at X' },
        pods: [{ pod: 'web-2', exists: false, placed: '2026-01-01T00:00:01.000Z' }],
      },
      { node: 'aks-b', pods: [{ pod: 'web-1', exists: true }] },
    ])
    expect(csvText(workloadCsv(nodes)).split('\n')).toHaveLength(3)
  })
})
