import { defineConfig } from 'vitest/config'

/** What stands for servers in virtual time is held to real ones. Rows wait in real time, so they run by themselves: `npm run parity`. */
export default defineConfig({
  test: {
    name: 'parity',
    reporters: ['default', './test/runner/group-report.ts'],
    include: ['test/fast/**/*.parity.test.ts'],
    globalSetup: ['test/runner/server-binaries.ts'],
    testTimeout: 120_000,
    hookTimeout: 600_000,
    maxWorkers: 1,
  },
})
