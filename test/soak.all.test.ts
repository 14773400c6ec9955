import { afterAll, beforeAll, expect, test } from 'vitest'
import { FaultyWorld } from './faulty-world.ts'
import { soak, soakStage } from './soak/soak.ts'

let faulty: FaultyWorld

beforeAll(async () => {
  faulty = await FaultyWorld.startServers()
})

afterAll(() => faulty?.stop())

// Longer ones with other seeds are `npm run soak`. This seed kills Joiner, Temporal and the API server, and has five faults of Azure.
test('a minute of faults of all kinds: nothing is left, and nothing was made twice', async () => {
  const report = await soak(faulty, { stage: soakStage(6, 1), endMs: 240_000, say: () => undefined })
  console.log(JSON.stringify(report))
  expect(report.duplicates).toEqual([])
  expect(report.alarms).toEqual([])
  // Without nodes and faults that hit them the soak would prove nothing. Which kinds find a launch is chance.
  expect(report.mostNodes).toBeGreaterThan(3)
  expect(Object.values(report.hits).filter((count) => count > 0).length).toBeGreaterThanOrEqual(2)
})
