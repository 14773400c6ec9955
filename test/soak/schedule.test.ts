import { expect, test } from 'vitest'
import { planOf } from '../chaos/plan.ts'
import { kinds, scheduleOf } from './schedule.ts'
import { stageOf } from './stage.ts'

const minuteMs = 60_000

test('the same seed gives the same schedule, and another seed another one', () => {
  expect(scheduleOf(7, 20 * minuteMs)).toEqual(scheduleOf(7, 20 * minuteMs))
  expect(scheduleOf(8, 20 * minuteMs)).not.toEqual(scheduleOf(7, 20 * minuteMs))
})

test('a longer soak begins as a shorter one of the same seed', () => {
  const short = scheduleOf(7, 2 * minuteMs)
  expect(scheduleOf(7, 20 * minuteMs).slice(0, short.length)).toEqual(short)
})

test.each([1, 2, 3])('two minutes of seed %i have every kind of trouble', (seed) => {
  const troubles = scheduleOf(seed, 2 * minuteMs)
  expect(troubles.length).toBeGreaterThanOrEqual(kinds.length + 2)
  const found = new Set(troubles.map(({ trouble }) => trouble.kind))
  for (const kind of ['kill', 'freeze', 'azure', 'throttleApi', 'scale', 'deleteObject', 'vm', 'pause', 'drift'])
    expect(found).toContain(kind)
})

test('troubles come in order and within the time', () => {
  const times = scheduleOf(4, 5 * minuteMs).map(({ atMs }) => atMs)
  expect(times).toEqual([...times].sort((one, other) => one - other))
  expect(Math.max(...times)).toBeLessThan(5 * minuteMs)
})

test('a plan of chaos is played in less time, with what real servers can have of it', () => {
  const stages = Array.from({ length: 20 }, (_, seed) => stageOf(planOf(seed + 1), 2 * minuteMs))
  for (const { troubles, pools, workloads } of stages) {
    expect(Math.max(...troubles.map(({ atMs }) => atMs))).toBeLessThan(2 * minuteMs)
    for (const { trouble } of troubles) {
      if (trouble.kind === 'drift') expect(pools).toContain(trouble.pool)
      if (trouble.kind === 'scale') expect(workloads).toContain(trouble.workload)
    }
  }
  const found = new Set(stages.flatMap(({ troubles }) => troubles.map(({ trouble }) => trouble.kind)))
  for (const kind of ['kill', 'freeze', 'azure', 'scale', 'deleteObject', 'vm', 'pause', 'drift'])
    expect(found).toContain(kind)
})
