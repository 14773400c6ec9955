import { readdir, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import type { World } from '../world.ts'
import { corpusDir, corpusLimitBytes, leaksIn } from './corpus.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Values that no history may hold, by what they are. */
export type Forbidden = Record<string, string | RegExp>

/** A workflow to record: its last run, unless another is named. */
export interface Story {
  readonly workflowId: string
  readonly runId?: string
}

/**
 * Replaces the recorded histories by those of the given workflows, and prints the files. `stories`: pairs of `<workflow type>.<story>` and
 * workflow. Errors: a history that holds a secret, or a corpus that is too large; then nothing was replaced.
 */
export async function writeCorpus(
  world: World,
  stories: readonly (readonly [string, Story])[],
  forbidden: Forbidden,
): Promise<void> {
  const files = new Map<string, string>()
  for (const [name, { workflowId, runId }] of stories) {
    const history = await world.temporal.workflow.getHandle(workflowId, runId).fetchHistory()
    const text = cleaned(historyToJSON(history), world.cluster.stateDir)
    const leaks = leaksIn(text, forbidden)
    if (leaks.length > 0) throw new Error(`the history of ${workflowId} holds ${leaks.join(', ')}; nothing was written`)
    files.set(`${name}.json`, `${text}\n`)
  }
  const bytes = [...files.values()].reduce((sum, text) => sum + text.length, 0)
  if (bytes > corpusLimitBytes)
    throw new Error(`${bytes} bytes of histories, at most ${corpusLimitBytes}; tell shorter stories`)
  for (const old of await readdir(corpusDir)) if (old.endsWith('.json')) await rm(join(corpusDir, old))
  for (const [file, text] of files) {
    await writeFile(join(corpusDir, file), text)
    console.log(`${relative(process.cwd(), join(corpusDir, file))}  ${text.length} bytes`)
  }
  console.log(`${files.size} histories, ${bytes} bytes`)
}

/** On one line, without what belongs to this machine: worker identities, sticky queues, paths in stack traces. */
function cleaned(json: string, stateDir: string): string {
  const text = JSON.stringify(JSON.parse(json), (key, value: unknown) => (key === 'identity' ? 'recorder' : value))
  return text.replaceAll(stateDir, '').replaceAll(root, '')
}
