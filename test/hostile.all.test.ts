// A tenth of `npm run hostile`: what is hostile keeps nothing innocent from running, ends no process and touches no foreign VM.
// `npm run hostile` measures how long innocent pods wait; here other suites may be on the machine.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hostileCorpus, tenthOf } from './hostile/corpus.ts'
import { runFiles } from './hostile/file-runs.ts'
import { brokenPromises, brokenRuns } from './hostile/report.ts'
import { hostileScenario, isTaken } from './hostile/scenario.ts'
import { World } from './world.ts'

const corpus = tenthOf(hostileCorpus())
let world: World

beforeAll(async () => {
  world = await World.start()
})

afterAll(() => world?.stop())

test('innocent pods run beside hostile objects, and nothing of others is touched', async () => {
  const report = await hostileScenario(world, { corpus, say: () => undefined })
  expect(brokenPromises(report, Number.POSITIVE_INFINITY)).toEqual([])
  // What the API server refuses proves nothing about Joiner.
  for (const kind of ['Pod', 'NodePool', 'NodeClaim', 'AKSNodeClass'])
    expect(report.sent.filter((one) => isTaken(one) && one.object.kind === kind).length, kind).toBeGreaterThan(5)
})

test('hostile files end with a line and a code', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'joiner-hostile-'))
  try {
    expect(brokenRuns(await runFiles(corpus.files, { folder }))).toEqual([])
  } finally {
    await rm(folder, { recursive: true })
  }
})
