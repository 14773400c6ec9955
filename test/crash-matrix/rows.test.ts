import { expect, test } from 'vitest'
import { writesTable } from './report.ts'
import {
  describe,
  laneOf,
  nextBatch,
  onlyInRecovery,
  points,
  type Recorded,
  type Row,
  rowsOf,
  sample,
  withoutRow,
} from './rows.ts'

const step = (kind: string, ...changes: readonly string[]) => ({ kind, changes })
const recorded: readonly Recorded[] = [
  { stage: 'launch', step: step('POST nodeclaims') },
  { stage: 'launch', step: step('PUT Microsoft.Compute/virtualMachines') },
  { stage: 'launch', step: step('PATCH nodeclaims/status', 'Launched=True') },
  { stage: 'launch', step: step('PATCH nodeclaims/status', 'messages of conditions') },
  { stage: 'replace', step: step('POST nodeclaims', 'replacement') },
  { stage: 'replace', step: step('PUT Microsoft.Compute/virtualMachines') },
  { stage: 'replace', step: step('PATCH nodes', 'taint karpenter.sh/disrupted') },
  { stage: 'replace', step: step('POST pods/eviction') },
  { stage: 'terminate', step: step('DELETE Microsoft.Compute/virtualMachines') },
]
const rows = rowsOf(recorded)

test('each distinct write has a row for each point, in the first stage that has it', () => {
  expect(rows).toHaveLength(7 * points.length)
  expect(rows.map(describe)).toContain('launch: PUT Microsoft.Compute/virtualMachines: after the answer')
  expect(rows.filter(({ step: { kind }, stage }) => kind.startsWith('PUT') && stage !== 'launch')).toEqual([])
})

test('every recorded write has a row; what is seen besides is reported', () => {
  const seen = recorded.map((one) => one.step)
  expect(withoutRow(rows, seen)).toEqual([])
  expect(withoutRow(rows, [...seen, step('DELETE nodes')])).toEqual(['DELETE nodes'])
  // The next leader's takeover of a fence has none: an untroubled life makes it.
  const made = [...rows, ...rowsOf([{ stage: 'launch', step: step('POST leases joiner-planner-fence') }])]
  const taken = [step('PATCH leases joiner-planner-fence'), step('PATCH leases joiner-bridge')]
  expect(withoutRow(made, [...seen, ...taken])).toEqual(['PATCH leases joiner-bridge'])
  expect(onlyInRecovery(rows, [...seen, step('PATCH nodes', 'no taints')])).toEqual(['PATCH nodes no taints'])
})

test('writes that hold one another up never share a kill, and stages need their slots', () => {
  const pending = [...rows]
  const kills = []
  while (pending.length > 0) {
    const batch = nextBatch(pending, { gone: 3, whole: 3 })
    expect(batch.length).toBeGreaterThan(0)
    const lanes = batch.map((row) => laneOf(row.step)).filter((lane) => lane !== undefined)
    expect(new Set(lanes).size).toBe(lanes.length)
    expect(batch.filter(({ stage }) => stage === 'launch').length).toBeLessThanOrEqual(3)
    for (const row of batch) pending.splice(pending.indexOf(row), 1)
    kills.push(batch)
  }
  // The two of the disruption loop come one after the other, at each point.
  expect(kills).toHaveLength(6)
})

test('nothing begins without a node', () => {
  expect(nextBatch(rows, { gone: 0, whole: 0 })).toEqual([])
  expect(nextBatch(rows, { gone: 4, whole: 0 }).every(({ stage }) => stage === 'launch')).toBe(true)
})

test('a sample has creates and deletes of all resources, and is always the same', () => {
  const chosen = sample(rows, 6, 3)
  expect(chosen).toEqual(sample(rows, 6, 3))
  for (const kind of ['POST nodeclaims', 'POST pods/eviction', 'PUT Microsoft.Compute/virtualMachines'])
    expect(chosen.map((row) => row.step.kind)).toContain(kind)
  expect(chosen.map((row) => row.step.kind)).toContain('DELETE Microsoft.Compute/virtualMachines')
  expect(new Set(chosen.map(({ point }) => point)).size).toBe(3)
})

test('the report has a line for each write, with seconds, or with what else became of a kill', () => {
  const of = (point: Row['point'], verdict: 'ok' | 'stuck', seconds?: number) => ({
    row: { stage: 'launch' as const, step: step('POST nodeclaims'), point },
    verdict,
    ...(seconds !== undefined && { seconds }),
  })
  const lines = writesTable([of('after the answer', 'stuck'), of('before forwarding', 'ok', 2)]).split('\n')
  expect(lines.slice(2)).toEqual(['| launch | `POST nodeclaims` | 2.0 | stuck |  |'])
})
