import { expect, it } from 'vitest'
import { usagesOf } from '../../../activities/azure/capacity/quota-accounting.ts'
import type { VmSize } from '../../../activities/azure/catalogue/sku.ts'
import { plainText } from '../../document/text.ts'
import { quotaRows, quotaTable } from './report.ts'

const size = (name: string, family: string, vCpus: number) => [name, { name, family, vCpus } as VmSize] as const
const sizes = new Map([
  size('Standard_D2s_v5', 'standardDSv5Family', 2),
  size('Standard_D8s_v5', 'standardDSv5Family', 8),
  size('Standard_F4s_v2', 'standardFSv2Family', 4),
])
const usage = (value: string, limit: number, currentValue: number) => ({ name: { value }, limit, currentValue })
const countedAtMs = 1_000_000

it('the table names what is used and what stands in the way', () => {
  const rows = quotaRows({
    usages: usagesOf([
      usage('standardDSv5Family', 10, 4),
      usage('standardFSv2Family', 100, 0),
      usage('cores', 1000, 4),
      usage('lowPriorityCores', 1, 0),
      usage('virtualNetworks', 5, 5),
    ]),
    sizes,
    buyable: [
      { pool: 'general', onDemand: sizes, spot: new Map() },
      { pool: 'cheap', onDemand: new Map(), spot: sizes },
    ],
    uses: [
      { family: 'standardDSv5Family', vCpus: 2, capacityType: 'on-demand', launchedAtMs: countedAtMs + 1 },
      { family: 'standardDSv5Family', vCpus: 2, capacityType: 'on-demand', launchedAtMs: countedAtMs - 60_000 },
    ],
    countedAtMs,
  })
  expect(plainText([[quotaTable(rows, false)]]).split('\n')).toEqual([
    'FAMILY              LIMIT  USED  IN FLIGHT  FREE  BLOCKS',
    'cores               1000   4     +2         994   -',
    'lowPriorityCores    1      0     0          1     cheap: all 3 sizes',
    'standardDSv5Family  10     4     +2         4     general: 1 of 2 sizes, from Standard_D8s_v5 on',
  ])
  expect(plainText([[quotaTable(rows, true)]])).toContain('standardFSv2Family')
})

it('a family that Azure lists no quota for is unknown, not endless', () => {
  const rows = quotaRows({
    usages: usagesOf([usage('standardDSv5Family', 10, 0), usage('cores', 1000, 0)]),
    sizes,
    buyable: [{ pool: 'general', onDemand: sizes, spot: new Map() }],
    uses: [],
    countedAtMs,
  })
  expect(
    plainText([[quotaTable(rows, false)]])
      .split('\n')
      .slice(1),
  ).toEqual(['standardFSv2Family  unknown  unknown  0          unknown  -'])
})
