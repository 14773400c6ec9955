import { defineConfig } from 'vitest/config'

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
  'test/crash-matrix',
  'test/soak',
  'test/proofs',
  'test/scheduler-equivalence',
]

const servers = { globalSetup: ['test/server-binaries.ts'], testTimeout: 120_000, hookTimeout: 120_000 }

/** Suites that hold real servers to seconds, so nothing may run beside them. */
const punctual = [
  'test/drift-rollout.servers.test.ts',
  'test/durability.servers.test.ts',
  'test/pause.servers.test.ts',
  'test/spot-eviction.servers.test.ts',
]

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: layers.map((layer) => `${layer}/**/*.test.ts`),
          exclude: ['**/*.servers.test.ts', '**/node_modules/**'],
        },
      },
      {
        test: {
          ...servers,
          name: 'servers',
          include: ['**/*.servers.test.ts'],
          exclude: ['**/node_modules/**', ...punctual],
          // They mostly wait: each has a cluster of its own.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...servers,
          name: 'servers-punctual',
          include: punctual,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
