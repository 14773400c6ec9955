import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { compileCache } from './test/runner/compiled-threads.ts'
import { filesOf, type GroupName, groups } from './test/runner/groups.ts'
import { LongestFirst } from './test/runner/sequencer.ts'
import { serversEnv } from './test/runner/servers-env.ts'

const setupFiles = ['test/runner/drawn-cases.ts']

const servers = {
  setupFiles,
  // What a suite imports takes a second to load; the next one in its process finds it loaded, and the cluster started.
  isolate: false,
  globalSetup: ['test/runner/server-binaries.ts'],
  testTimeout: 600_000,
  hookTimeout: 600_000,
  env: {
    ...serversEnv,
    // A start of servers costs 6 s of processor time, and going back to where one began a quarter of that.
    JOINER_TEST_SHARED_CLUSTERS: process.env['JOINER_TEST_SHARED_CLUSTERS'] ?? '1',
    // As in the image.
    JOINER_PROGRAM: fileURLToPath(new URL('dist/joiner.js', import.meta.url)),
    // The simulator and each Joiner find their code compiled.
    NODE_COMPILE_CACHE: compileCache,
  },
}

/** Of `npm run mutations`, which knows tests that fail without a mutant as well. */
const leftOut = (process.env['JOINER_TEST_LEFT_OUT'] ?? '').split(',').filter((file) => file !== '')

/** Tests within one process each, without servers. */
const plain = (name: GroupName, maxWorkers = 2) => ({
  test: {
    name,
    ...filesOf(name, leftOut),
    setupFiles,
    globalSetup: ['test/runner/compiled-threads.ts'],
    env: { JOINER_TEST_WORLD: 'fast', NODE_COMPILE_CACHE: compileCache },
    maxWorkers,
    // On a busy machine some take many times as long as on a quiet one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Without a process for each of some 450 files they take half the time.
    isolate: false,
    sequence: order(name),
  },
})

/** Suites on real servers, so many at a time. They wait for half of their time: a world takes 1.3 GB and, while something happens in it, a core. */
const onServers = (name: GroupName, maxWorkers: number) => {
  const env = { ...servers.env, JOINER_TEST_PATIENCE: '3' }
  return { test: { ...servers, env, name, ...filesOf(name), maxWorkers, sequence: order(name) } }
}

/** One group after the other, so that each has a time of its own. */
const order = (name: GroupName) => ({ groupOrder: groups.findIndex((group) => group.name === name) })

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './test/runner/slowest-suites.ts', './test/runner/group-report.ts'],
    projects: [
      plain('matrix'),
      plain('scenarios'),
      // Some wait, for a thread, a process or a time limit: a third one has the core meanwhile.
      plain('unit', 3),
      onServers('servers', 5),
      // Slow proofs, which `npm test` leaves out and `npm run test:all` runs.
      onServers('all', 2),
    ],
  },
})
