import { expect, test } from 'vitest'
import { Random } from '../../bench/workloads/random.ts'
import { coverageOf } from './coverage.ts'
import { type ChaosPlan, planOf } from './plan.ts'
import type { ChaosRun } from './run.ts'
import { shortest } from './shrink.ts'
import { drawnNames, nameOf } from './troubles.ts'

test('a seed gives one plan, which JSON carries, and another seed another one', () => {
  expect(planOf(7)).toEqual(planOf(7))
  expect(JSON.parse(JSON.stringify(planOf(7)))).toEqual(planOf(7))
  expect(planOf(8)).not.toEqual(planOf(7))
})

test('a seed of six has a static NodePool', () => {
  const plans = Array.from({ length: 12 }, (_, seed) => planOf(seed))
  expect(plans.filter(({ pools }) => pools.some(({ nodes }) => nodes !== undefined)).map(({ seed }) => seed)).toEqual([
    0, 6,
  ])
})

test('troubles come in order and within the time, and a hundred seeds have all kinds of them', () => {
  const plans = Array.from({ length: 100 }, (_, seed) => planOf(seed))
  for (const { timeline, minutes } of plans) {
    const times = timeline.map(({ atMs }) => atMs)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times.at(-1) ?? 0).toBeLessThan(minutes * 60_000)
  }
  const names = new Set(plans.flatMap(({ timeline }) => timeline.map(({ trouble }) => nameOf(trouble))))
  expect([...drawnNames(new Random(1))].filter((name) => !names.has(name))).toEqual([])
})

const kindsOf = ({ timeline }: ChaosPlan) => timeline.map(({ trouble }) => trouble.kind)

test('the shortest form holds what it fails of, and nothing else', async () => {
  const plan = { ...planOf(1), minutes: 400, replicas: 2 }
  const atMs = [0, 60_000, 120_000]
  const timeline = [...plan.timeline, ...atMs.map((at) => ({ atMs: at, trouble: { kind: 'consolidate' } as const }))]
  const least = await shortest(
    { ...plan, timeline },
    async (one) => kindsOf(one).filter((kind) => kind === 'consolidate').length >= 2,
  )
  expect(kindsOf(least)).toEqual(['consolidate', 'consolidate'])
  expect([least.replicas, least.workloads, least.pools.length]).toEqual([1, [], 1])
  expect(least.minutes).toBeLessThan(8)
})

test('a kind that came about in less than 1 of 100 troubles is named', () => {
  const run = (counts: Readonly<Record<string, number>>): ChaosRun => ({
    wrong: [],
    counts: new Map(Object.entries(counts)),
    simulatedMs: 0,
    cpuMs: 1,
    work: { timers: 0, requests: 0, activations: 0 },
    requests: [],
  })
  const names = [...drawnNames(new Random(1))]
  const all = Object.fromEntries(names.map((name) => [name, 100]))
  expect(coverageOf([run(all)]).rare).toEqual([])
  expect(coverageOf([run({ ...all, watchLag: 3 }), run({ watchLag: 2 })]).rare).toEqual(['watchLag'])
})
