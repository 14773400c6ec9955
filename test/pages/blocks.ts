// The shell blocks of the pages, and what is to be done with each: an invisible comment before a block says so.
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What a suite does with the blocks of a page. Each scenario is played once, in the order of its pages. */
export const scenarios = {
  install: ['docs/install-aks.md'],
  /** Played by `npm run real-nodes`, whose pods run. */
  'install-pods': ['docs/install-aks.md'],
  'from-cluster-autoscaler': ['docs/from-cluster-autoscaler.md'],
  operate: [
    'docs/pauses.md',
    'docs/operations.md',
    'docs/plans.md',
    'docs/nodes.md',
    'docs/temporal.md',
    'docs/takeover.md',
  ],
  upgrade: ['docs/upgrade.md', 'docs/temporal-encryption.md'],
  'from-nap': ['docs/from-nap.md'],
  'from-nap-nodes': ['docs/from-nap.md'],
  uninstall: ['docs/uninstall.md'],
  'from-karpenter': ['docs/from-karpenter.md'],
  rollback: ['docs/rollback.md'],
} as const
export type Scenario = keyof typeof scenarios

/** What a block needs that no test has: a subscription, pods that run, a person at the terminal, or a node with a certain trouble. */
const needs = ['azure', 'cluster', 'person', 'trouble'] as const

/** A shell block of a page. */
export interface Block {
  readonly page: string
  /** Line of the fence. */
  readonly line: number
  readonly text: string
  /** What the comment says; empty without one. */
  readonly mark: string
}

/** Returns the shell blocks of a page. */
export function blocksOf(page: string, markdown: string): readonly Block[] {
  const lines = markdown.split('\n')
  return lines.flatMap((line, at) => {
    if (!/^```(sh|bash|shell)$/.test(line)) return []
    const end = lines.indexOf('```', at)
    const before = lines.slice(0, at).findLast((each) => each.trim() !== '') ?? ''
    const mark = /^<!-- (.*) -->$/.exec(before.trim())?.[1] ?? ''
    return [{ page, line: at + 1, text: lines.slice(at + 1, end).join('\n'), mark }]
  })
}

/** Returns the shell blocks of a page of the repository. */
export function readBlocks(page: string): readonly Block[] {
  return blocksOf(page, readFileSync(`${root}/${page}`, 'utf8'))
}

/** The pages whose blocks are held to this. */
export const pages = ['README.md', ...globSync('docs/*.md', { cwd: root }).sort()]

/** How a block is run: in a scenario, with words that are replaced by variables of the scenario. */
export interface Run {
  readonly scenario: Scenario
  readonly words: ReadonlyMap<string, string>
}

/** Returns how a block is run: `run: SCENARIO WORD=VARIABLE`. Undefined: it needs what no test has. Errors: it says neither, or something unknown. */
export function runOf({ page, line, mark }: Block): Run | undefined {
  const [, verb, rest = ''] = /^(run|needs): (.*)$/.exec(mark) ?? []
  const [what = '', ...words] = rest.split(' ')
  if (verb === 'needs' && (needs as readonly string[]).includes(what)) return undefined
  const isPlayed = Object.entries(scenarios).some(
    ([name, played]) => name === what && (played as readonly string[]).includes(page),
  )
  if (verb !== 'run' || !isPlayed)
    throw new Error(
      `${page}:${line}: the comment before the block is ${JSON.stringify(mark)}; write <!-- run: SCENARIO --> with a scenario of test/pages/blocks.ts that has this page, or <!-- needs: ${needs.join(' | ')} -->`,
    )
  return {
    scenario: what as Scenario,
    words: new Map(words.map((word) => word.split('=') as [string, string])),
  }
}
