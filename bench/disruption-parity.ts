import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { disruptionPeer, joinerSimulate } from './disruption-solvers.ts'
import { circumstances } from './report.ts'
import { runToEnd } from './run-to-end.ts'
import { disruptionParity } from './workloads/disruption-parity.ts'

const comparison = fileURLToPath(new URL('../../shared/vectors/disruption/compare.mjs', import.meta.url))
/** So often the peer decides anew, to find out what it leaves to chance: the order of pools, of equal zones, of pods in a message. */
const rounds = 64

interface Answer {
  readonly blocked: readonly { readonly reason: string }[]
}

/** Has both decide about random clusters and compares all that a result tells. Sets the exit status if one differs. */
export async function disruptionParityReport(wanted: number, first: number): Promise<void> {
  if (!existsSync(comparison))
    throw new Error(`${comparison} is missing; parity is judged by it, so put ../shared beside the repository`)
  const peer = await disruptionPeer()
  const folder = await mkdtemp(join(tmpdir(), 'joiner-parity-'))
  try {
    for (let seed = first, made = 0; made < wanted; seed += 1) {
      const scenario = disruptionParity(seed)
      const answers = await peer.distinct(JSON.stringify(scenario), rounds)
      if (answers === undefined) continue
      made += 1
      await writeFile(
        join(folder, `${scenario.name}.json`),
        JSON.stringify({ ...scenario, expected: anyOf(answers as readonly Answer[]) }),
      )
    }
    const command = [comparison, '--jobs', '2', '--all', folder, '--', process.execPath, ...joinerSimulate]
    const { out, code } = await runToEnd(process.execPath, command)
    const lines = out.trimEnd().split('\n')
    const summary = lines.pop() ?? 'nothing was compared'
    for (const line of lines) console.log(line)
    console.log(`Parity with upstream’s disruption methods, ${circumstances()}, seeds from ${first}: ${summary}`)
    if (code !== 0) process.exitCode = 1
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Each part of a result on its own: whatever upstream answered in some round will do. */
function anyOf(answers: readonly Answer[]): Readonly<Record<string, unknown>> {
  const told = answers.map((answer) => ({ ...answer, blocked: answer.blocked.map(withoutOrder) }))
  const keys = [...new Set(told.flatMap((answer) => Object.keys(answer)))]
  return Object.fromEntries(
    keys.map((key) => {
      const values = told.map((answer) => (answer as Readonly<Record<string, unknown>>)[key])
      return [key, values.length === 1 ? values[0] : { $anyOf: values }]
    }),
  )
}

const pods = / => /g

/** A message about several pods names them in the order of a Go map. */
function withoutOrder<T extends { readonly reason: string }>(blocked: T) {
  const isLong = (blocked.reason.match(pods)?.length ?? 0) > 1
  return isLong ? { ...blocked, reason: { $prefix: 'Not all pods would schedule' } } : blocked
}
