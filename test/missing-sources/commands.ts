// What each command reads: the one table of sources that an answer needs and of those that adorn it.
import type { Names, Source } from './small-cluster.ts'

/** A command that reads. Without what it needs there is no answer: that is said first, and it ends with 1. Without what adorns it, that is said in its place. */
export interface Reading {
  /** As its command is named. */
  readonly command: string
  /** What of it, where it reads something else by what it is asked for. */
  readonly of?: string
  /** Whose JSON schema its answer has, where that is not the command's. */
  readonly schema?: string
  readonly words: (names: Names) => readonly string[]
  readonly needs: readonly Source[]
  readonly adorns: readonly Source[]
  /** It prints for people alone. */
  readonly hasNoJson?: true
}

/** Commands that ask Azure, and whether they have an answer without it. */
export const readingAzure: readonly Pick<Reading, 'command' | 'words' | 'needs' | 'hasNoJson'>[] = [
  { command: 'blocked quota', words: () => ['blocked', 'quota'], needs: ['Azure'] },
  { command: 'doctor', words: () => ['doctor'], needs: ['Azure'] },
  { command: 'advise', words: () => ['advise'], needs: [] },
  { command: 'instance-types', words: () => ['instance-types'], needs: ['Azure'] },
]

/** What processes of Joiner read, for which `status` looks whether it is damaged. */
const readByProcesses = [
  'joiner-unavailable-offerings',
  'joiner-catalogue',
  'joiner-quota',
  'joiner-reservations',
  'joiner-image-versions',
  'joiner-node-refusals',
] as const

const ofNode = [
  'nodes',
  'nodeclaims',
  'nodepools',
  'pods',
  'poddisruptionbudgets',
  'joiner-pauses',
  'joiner-evaluations-N',
]

export const reading: readonly Reading[] = [
  {
    command: 'status',
    words: () => ['status'],
    needs: [
      'Temporal',
      'nodeclaims',
      'joiner-pauses',
      'joiner-quarantine',
      'joiner-waiting-pods',
      'joiner-withheld-machines',
      'joiner-late-lists',
      'joiner-cancellations',
      'joiner-evaluations-N',
      ...readByProcesses,
    ],
    adorns: ['leases', 'joiner-prices'],
  },
  {
    command: 'top',
    words: () => ['top', '--once'],
    needs: ['nodes'],
    adorns: ['nodeclaims', 'nodepools', 'pods', 'joiner-prices', 'joiner-waiting-pods'],
  },
  { command: 'node list', words: () => ['node', 'list'], needs: ['nodeclaims', 'Temporal'], adorns: [] },
  {
    command: 'node show',
    words: ({ node }) => ['node', 'show', node],
    needs: ['nodeclaims', 'Temporal'],
    adorns: ['events', ...ofNode.filter((source) => source !== 'nodeclaims')],
  },
  { command: 'history node', words: () => ['history', 'node'], needs: ['Temporal'], adorns: [] },
  {
    command: 'history node',
    of: 'one that is still there',
    schema: 'history node NAME',
    words: ({ node }) => ['history', 'node', node],
    needs: ['Temporal'],
    adorns: ['events', ...ofNode],
  },
  { command: 'history nodepool', words: () => ['history', 'nodepool'], needs: ['Temporal'], adorns: [] },
  {
    command: 'history workload',
    words: () => ['history', 'workload', 'default/inflate'],
    needs: ['pods', 'Temporal'],
    adorns: ['events'],
  },
  { command: 'why node', words: ({ node }) => ['why', 'node', node], needs: ofNode, adorns: ['events'] },
  {
    command: 'why nodepool',
    words: () => ['why', 'nodepool', 'general'],
    needs: ['nodepools'],
    adorns: ['joiner-pauses', 'joiner-waiting-pods'],
  },
  {
    command: 'why pod',
    of: 'a pod that waits',
    words: ({ waiting }) => ['why', 'pod', waiting],
    needs: ['pods', 'poddisruptionbudgets'],
    adorns: ['events', 'joiner-waiting-pods', 'joiner-pauses'],
  },
  {
    command: 'why pod',
    of: 'a pod that runs',
    words: ({ running }) => ['why', 'pod', running],
    needs: ofNode,
    adorns: ['events'],
  },
  { command: 'cost', words: () => ['cost'], needs: ['Temporal'], adorns: ['joiner-cost-N', 'joiner-prices'] },
  {
    command: 'budgets',
    words: () => ['budgets'],
    needs: ['nodepools', 'nodes', 'nodeclaims', 'joiner-pauses'],
    adorns: [],
  },
  {
    command: 'blocked capacity list',
    words: () => ['blocked', 'capacity', 'list'],
    needs: ['joiner-unavailable-offerings'],
    adorns: [],
  },
  {
    command: 'blocked objects list',
    words: () => ['blocked', 'objects', 'list'],
    needs: ['joiner-quarantine'],
    adorns: [],
  },
  { command: 'history report', words: () => ['history', 'report'], needs: ['Temporal'], adorns: [] },
  { command: 'plan', words: () => ['plan'], needs: ['Temporal', 'joiner-plan-N'], adorns: [] },
  {
    command: 'admin adopt',
    of: 'what it would do',
    words: () => ['admin', 'adopt', '--dry-run'],
    needs: ['joiner-withheld-machines'],
    adorns: [],
    hasNoJson: true,
  },
]

/** Commands that read as well, and that other suites try with their sources missing; each with the reason. */
export const readingApart: Readonly<Record<string, string>> = {
  'why any': 'it does what why node, why nodepool and why pod do',
  ui: 'it serves the page until it is ended; what it cannot read is in `missing` of its stream (starter/picture/watch, starter/ui/server)',
  'blocked quota':
    'its other sources: Azure is not simulated for commands in virtual time, and it asks that first (test/readers/doctor-azure.ts)',
  doctor:
    'its other sources: each check is an answer of its own, which fails where its source is missing (test/readers/doctor-azure.ts)',
  advise: 'its other sources: what it may not read is a list in its answer (test/advise, test/readers/advise.ts)',
  'instance-types': 'with --catalog it reads files (starter/cli/instance-types)',
  simulate: 'it reads files (starter/cli/simulate)',
  validate: 'it reads files (starter/cli/validate)',
  convert: 'it reads files (starter/cli/convert)',
}

/** Commands that change something, and say whether they did. */
export const writing: readonly string[] = [
  'node retry',
  'node hold',
  'node release',
  'node force-finish',
  'blocked capacity clear',
  'blocked objects clear',
  'pause',
  'resume',
  'apply',
  'consolidate',
  'admin aks values',
  'admin aks setup',
  'admin takeover',
  'admin crds apply',
  'admin crds release',
  'admin uninstall',
]

/** Commands that ask no cluster. */
export const ofThisMachine: readonly string[] = [
  'local up',
  'local down',
  'local status',
  'local logs',
  'local azure',
  'demo',
  'worker',
  'version',
  'options',
  'completion',
  'complete',
]
