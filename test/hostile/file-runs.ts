import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Case } from '../fuzz-cli/cases.ts'
import { failureOf } from '../fuzz-cli/judge.ts'
import { runProcess } from '../fuzz-cli/processes.ts'
import type { HostileFile } from './hostile-object.ts'

/** The most that a process may need at its peak. */
const mostMiB = 512

const types = readFileSync(new URL('../fuzz-cli/corpus/types.json', import.meta.url))

/** A command that was given a file. */
export interface FileRun {
  readonly command: string
  readonly file: string
  readonly code: number
  /** Of processor time, with the start of the process. */
  readonly milliseconds: number
  readonly peakMiB: number
  /** Undefined: nothing is wrong with how it ended. */
  readonly failure: string | undefined
}

const commands: readonly (readonly string[])[] = [
  ['validate'],
  ['convert'],
  ['simulate', '--catalog', 'types.json'],
  ['simulate', '--complete', '--output', 'json', '--catalog', 'types.json'],
]

/** Gives each file to each command, as a user would. Files are written below `folder` while they are used. */
export async function runFiles(
  files: readonly HostileFile[],
  { folder, done }: { readonly folder: string; readonly done?: (run: FileRun) => void },
): Promise<readonly FileRun[]> {
  const runs: FileRun[] = []
  for (const { what, bytes } of files)
    for (const words of commands) {
      const given = { name: 'hostile.yaml', bytes }
      const one: Case = {
        index: runs.length,
        words: [...words, given.name],
        files: [given, ...(words.includes('--catalog') ? [{ name: 'types.json', bytes: types }] : [])],
      }
      const ended = await runProcess(one, join(folder, String(one.index)))
      const { code, milliseconds, peakMiB } = ended
      const run = {
        command: words.slice(0, 2).join(' '),
        file: what,
        code,
        milliseconds,
        peakMiB,
        failure:
          failureOf(one, { kind: 'ran', ...ended }) ??
          (peakMiB > mostMiB ? `needed ${Math.round(peakMiB)} MiB` : undefined),
      }
      runs.push(run)
      done?.(run)
    }
  return runs
}
