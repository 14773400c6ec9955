import { afterAll, beforeAll, expect, test } from 'vitest'
import { storm } from './storm.ts'
import { World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
})

afterAll(() => world?.stop())

// The whole storm, 300 pods three times, is `npm run bench -- storm`.
test('Azure fails, throttles and loses answers while Joiner is killed: all pods run, then nothing is left', async () => {
  const report = await storm(world, {
    pods: 120,
    cycles: 1,
    killEveryMs: 20_000,
    throttleEveryMs: 4000,
    seed: 5,
    limitMs: 180_000,
  })
  console.log(JSON.stringify(report))
  expect(report.alarms).toEqual([])
  expect(report.kills).toBeGreaterThan(0)
  // Without them the storm would prove nothing.
  for (const kind of ['failSync', 'failAsync', 'resetAfterCommit', 'throttle'])
    expect(report.hits[kind]).toBeGreaterThan(0)
}, 400_000)
