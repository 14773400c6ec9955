// What a complete run consists of.
import type { ServerName } from '../../../deploy/local/server-versions.ts'

/** A part of a complete run: arguments for Node. */
export interface Step {
  readonly name: string
  readonly words: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Servers that only this step needs. Where they cannot be built it does not run. */
  readonly servers?: readonly ServerName[]
  /** It runs groups of tests, which are counted. */
  readonly tests?: true
}

const vitest = ['node_modules/vitest/vitest.mjs', 'run']

/** In the order in which they run. */
export const steps: readonly Step[] = [
  { name: 'all groups', words: vitest, tests: true },
  // Some ten seconds; a link to a page that is not there ends it with 1.
  { name: 'docs as a site', words: ['node_modules/vitepress/bin/vitepress.js', 'build', 'docs'] },
  { name: 'scenarios in both worlds', words: ['test/scenarios/command.ts', '--compare'] },
  { name: 'parity', words: [...vitest, '--config', 'vitest.parity.config.ts'], tests: true },
  {
    name: 'scheduler-equivalence on 3,000 clusters',
    words: [...vitest, '--project', 'unit', 'test/scheduler-equivalence'],
    env: { CLUSTERS: '3000' },
  },
  {
    name: 'outages and faults of each kind',
    words: [...vitest, '--project', 'scenarios', 'nodes/outages', 'nodes/server-faults', 'planning/kept-documents'],
    env: { JOINER_TEST_OUTAGES: 'all' },
  },
  { name: 'chaos on 1,000 seeds that are new', words: ['test/chaos/command.ts', '--seeds', '1000', '--new'] },
  {
    name: 'five seeds of chaos on real servers',
    words: ['test/soak/command.ts', '--chaos', '--seeds', '5', '--new', '--minutes', '2'],
  },
  { name: 'fuzz-cli', words: ['test/fuzz-cli/command.ts'] },
  { name: 'hostile', words: ['test/hostile/command.ts'] },
  { name: 'hostile-operator', words: ['test/hostile-operator/command.ts'] },
  {
    name: 'hostile-operator on Temporal 1.29',
    words: ['test/hostile-operator/command.ts', '--temporal', 'oldest'],
    servers: ['temporal-oldest'],
  },
  { name: 'takeover', words: ['test/take-over/command.ts'] },
  { name: 'kubernetes-versions', words: ['test/kubernetes-versions/command.ts'] },
  { name: 'ecosystem', words: ['test/ecosystem/command.ts'] },
  // Those that wait for many minutes show in a whole run, which writes what README.md says.
  { name: 'upstream-e2e', words: ['test/upstream-e2e/command.ts', '--short'] },
  { name: 'temporal-tls', words: ['test/temporal-tls/command.ts'], servers: ['temporal-server'] },
  { name: 'temporal-sql', words: ['test/temporal-sql/command.ts'], servers: ['temporal-server', 'temporal-sql-tool'] },
]

/** What a complete run leaves out, and why. */
export const leftOut: readonly string[] = [
  'npm run crash-matrix: all rows on real servers take 20 minutes, with AKS machines 20 more; a sample of them ran',
  'npm run upstream-e2e without --short, and its --performance: an hour, and hours on four idle cores',
  'npm run soak without --chaos: it lasts as long as it is asked to; one minute of it ran',
  'npm run bench: it measures and proves nothing',
  'npm run lint-workflows: it downloads a program',
]
