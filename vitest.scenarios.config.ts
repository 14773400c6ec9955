import { defineConfig } from 'vitest/config'
import { serversEnv } from './test/runner/servers-env.ts'

const isReal = process.env['JOINER_TEST_WORLD'] !== 'fast'

/** Scenarios by themselves, in the world that the environment names: `npm run scenarios`. */
export default defineConfig({
  test: {
    include: ['test/scenarios/**/*.scenario.ts'],
    isolate: false,
    ...(isReal ? { globalSetup: ['test/runner/server-binaries.ts'] } : {}),
    // An outage lasts for 20 minutes, and what it left behind needs its time.
    testTimeout: isReal ? 2_700_000 : 120_000,
    hookTimeout: isReal ? 600_000 : 120_000,
    maxWorkers: 2,
    env: isReal ? { ...serversEnv, JOINER_TEST_PATIENCE: '3', JOINER_TEST_SHARED_CLUSTERS: '1' } : {},
  },
})
