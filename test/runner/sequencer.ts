import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The suites that take longest, longest first. They are short to read: a suite on real servers mostly waits, and the crash matrix makes its rows. */
const slowest = [
  'sent-crash',
  'effected-crash',
  'readers',
  'ownership',
  'durability',
  'temporal-access',
  'upgrade',
  'image',
  'life',
  'chart-lifecycle',
  'identity',
  'conversion',
  'recovery',
  'continue-as-new',
  'regression',
  'ui-page',
  'commands',
  'upstream-values',
  'rights',
  'simulator-restart',
]

/** Where a suite begins among the others: by its place in `slowest`, the rest after them. */
function place({ moduleId }: TestSpecification): number {
  const [, name = ''] = /([^/]+?)(?:\.servers|\.all|(?<=-crash))\.test\.ts$/.exec(moduleId) ?? []
  const found = slowest.indexOf(name)
  return found === -1 ? slowest.length : found
}

/** On a new machine vitest begins with the largest files. What takes longest comes first here, or all would wait for it in the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other))
  }
}
