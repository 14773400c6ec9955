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
  'test/proofs',
  'test/scheduler-equivalence',
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
          name: 'servers',
          include: ['**/*.servers.test.ts'],
          exclude: ['**/node_modules/**'],
          globalSetup: ['test/server-binaries.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
