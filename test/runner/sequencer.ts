import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The suites that take longest, longest first. They are short to read: most of their time is waiting. */
const slowest = [
  'readers',
  'upgrade',
  'temporal-access',
  'disruption-faults',
  'durability',
  'identity',
  'disruption',
  'node-pool',
  'ownership',
  'life',
  'crash-matrix',
  'node-requests',
  'consolidation',
  'conversion',
  'drain',
  'recovery',
  'spot-eviction',
  'capacity',
  'node-health',
  'continue-as-new',
  'status-writers',
  'disruption-partial',
  'commands',
  'drift-rollout',
  'operator',
  'budgets',
]

/** Where a suite begins among the others: by its place in `slowest`, the rest after them. */
function place({ moduleId }: TestSpecification): number {
  const [, name = ''] = /([^/]+)\.(?:servers|all)\.test\.ts$/.exec(moduleId) ?? []
  const found = slowest.indexOf(name)
  return found === -1 ? slowest.length : found
}

/** On a new machine vitest begins with the largest files. What takes longest comes first here, or all would wait for it in the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other))
  }
}
