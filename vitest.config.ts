import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/runner/sequencer.ts'

const layers = [
  'core',
  'api',
  'activities',
  'workflows',
  'workers',
  'starter',
  'deploy',
  'bench',
  'test/vectors',
  'test/api',
  'test/azure-fields',
  'test/citations',
  'test/crash-matrix',
  'test/ecosystem',
  'test/fast',
  'test/fuzz-cli',
  'test/hostile',
  'test/soak',
  'test/pages',
  'test/structure',
  'test/upstream',
  'test/proofs',
  'test/scheduler-equivalence',
]

const servers = {
  // What a suite imports takes a second to load; the next one in its process finds it loaded, and the cluster started.
  isolate: false,
  globalSetup: ['test/runner/server-binaries.ts'],
  testTimeout: 600_000,
  hookTimeout: 600_000,
  env: {
    // The clusters of suites are small and short-lived: memory is there, and a tenth of the servers' time would be spent on collecting it.
    GOGC: '200',
    // A start of servers costs 6 s of processor time, and going back to where one began a quarter of that.
    JOINER_TEST_SHARED_CLUSTERS: process.env['JOINER_TEST_SHARED_CLUSTERS'] ?? '1',
    // The simulator and each Joiner find their code compiled.
    NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/joiner', import.meta.url)),
  },
}

/** Suites that hold Joiner to seconds, or to a number of requests, bear nothing beside them. All others wait as long as a busy machine takes. */
const alone = ['test/api/conversion.servers.test.ts', 'test/cost.servers.test.ts', 'test/ui-server.servers.test.ts']

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './test/runner/slowest-suites.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: layers.map((layer) => `${layer}/**/*.test.ts`),
          exclude: ['**/*.servers.test.ts', '**/*.parity.test.ts', '**/node_modules/**'],
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
          env: { ...servers.env, JOINER_TEST_PATIENCE: '3' },
          name: 'servers',
          include: ['**/*.servers.test.ts'],
          exclude: ['**/node_modules/**', ...alone],
          // They wait for half of their time: each has a cluster of its own, which takes 1.3 GB and, while something happens in it, a core.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...servers,
          name: 'servers-alone',
          include: alone,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
