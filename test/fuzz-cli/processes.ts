import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtProgram } from '../runner/program.ts'
import type { Case } from './cases.ts'

/** What the process used is written where the parent finds it: nothing else knows the peak of a child. */
const measuring = `data:text/javascript,${encodeURIComponent(`
import { readFileSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
if (isMainThread) process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  const peak = /^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'
  writeFileSync(process.env.JOINER_FUZZ_USAGE, JSON.stringify({ milliseconds: (user + system) / 1000, peakMiB: Number(peak) / 1024 }))
})`)}`

/** How a real process ended. */
export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
  /** Processor time of all of it, its start included. */
  readonly milliseconds: number
  readonly peakMiB: number
}

/** Writes the files of a case into a folder, and returns the words after `joiner` that name them there. */
export function written({ words, files }: Case, folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true })
  for (const { name, bytes } of files) writeFileSync(join(folder, name), bytes)
  return words.map((word) => (files.some(({ name }) => name === word) ? join(folder, word) : word))
}

/** A folder of its own for the files of a case. */
export function folderOf(seed: number, { index }: Case): string {
  return join(tmpdir(), `joiner-fuzz-${seed}-${index}`)
}

/** Runs a case as a user would. Its files are in the folder as long as it runs. */
export async function runProcess(one: Case, folder: string): Promise<Ended> {
  const words = written(one, folder)
  const joiner = await builtProgram()
  const usage = join(folder, 'usage.json')
  const child = spawn(process.execPath, ['--import', measuring, joiner, ...words], {
    env: { ...process.env, JOINER_FUZZ_USAGE: usage },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const code = await new Promise<number>((resolve) => child.on('close', (status) => resolve(status ?? -1)))
  const measured = JSON.parse(readFileSync(usage, 'utf8')) as Pick<Ended, 'milliseconds' | 'peakMiB'>
  rmSync(folder, { recursive: true })
  return { code, out, err, ...measured }
}
