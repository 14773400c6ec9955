import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Suites that are short to read and long to run, most of it waiting. */
const slow = [
  'acceptance',
  'consolidation',
  'crash-matrix',
  'disruption',
  'disruption-faults',
  'durability',
  'event-budget',
  'main-job',
  'node-pool',
  'operator',
  'pause-ends',
  'pause-scopes',
  'scheduling',
  'soak',
  'status-writers',
  'upgrade',
] as const

const isSlow = ({ moduleId }: TestSpecification) => slow.some((name) => moduleId.endsWith(`/${name}.servers.test.ts`))

/** On a new machine vitest begins with the largest files. What takes longest comes first here, or all would wait for it in the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))]
  }
}
