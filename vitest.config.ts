import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/sequencer.ts'

const layers = [
  'core',
  'api',
  'activities',
  'workflows',
  'workers',
  'starter',
  'deploy',
  'test/vectors',
  'test/api',
  'test/citations',
  'test/crash-matrix',
  'test/fuzz-cli',
  'test/hostile',
  'test/soak',
  'test/structure',
  'test/proofs',
  'test/scheduler-equivalence',
]

const servers = {
  globalSetup: ['test/server-binaries.ts'],
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // The clusters of suites are small and short-lived: memory is there, and a tenth of the servers' time would be spent on collecting it.
  env: { GOGC: '200' },
}

/** Suites that hold real servers to seconds bear one another, and nothing else. */
const punctual = ['test/drift-rollout.servers.test.ts', 'test/spot-eviction.servers.test.ts']

/** Suites that bear nothing beside them. */
const alone = ['test/hostile.servers.test.ts', 'test/handover.servers.test.ts', 'test/pause.servers.test.ts']

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: layers.map((layer) => `${layer}/**/*.test.ts`),
          exclude: ['**/*.servers.test.ts', '**/node_modules/**'],
          maxWorkers: 2,
          // On a busy machine some take several times as long as on a quiet one.
          testTimeout: 30_000,
          hookTimeout: 30_000,
          // Without a process for each of some 180 files they take half the time.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...servers,
          name: 'servers',
          include: ['**/*.servers.test.ts'],
          exclude: ['**/node_modules/**', ...punctual, ...alone],
          // They mostly wait: each has a cluster of its own.
          maxWorkers: 4,
          // What a suite imports takes a second to load; the next one in its process finds it loaded.
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...servers,
          name: 'servers-punctual',
          include: punctual,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...servers,
          name: 'servers-alone',
          include: alone,
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})
