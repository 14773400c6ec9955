import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { table } from '../../../bench/report.ts'
import { Copy } from '../../mutations/copy.ts'
import { runBeside } from '../jobs.ts'
import type { ChaosPlan } from '../plan.ts'
import type { Wrong } from '../watch/watch.ts'
import { type Sabotage, sabotages } from './table.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** How a fault fared. `seeds`: with how many of them it lived, `noticed`: what was wrong with the next one. */
interface Life {
  readonly seeds: number
  readonly noticed?: Wrong
}

/** Puts faults back one at a time, in a copy of the tree, and runs plans until one notices. Returns how many of them lived. */
export async function sabotage(plans: readonly ChaosPlan[], jobs: number, names: RegExp): Promise<number> {
  const copy = new Copy(root)
  const rows: string[][] = []
  try {
    for (const one of sabotages.filter(({ name }) => names.test(name))) {
      const { seeds, noticed } = await lifeOf(copy, one, { plans, jobs })
      const how = noticed === undefined ? 'LIVED' : `${noticed.kind}: ${noticed.what}`
      console.log(`${one.name}: ${how}, after ${seeds} seeds`)
      rows.push([one.name, one.fix, String(seeds), noticed?.kind ?? 'LIVED'])
    }
  } finally {
    copy.remove()
  }
  console.log(`\n${table(['fault', 'mended by', 'seeds it lived', 'what noticed it'], rows)}`)
  return rows.filter(([, , , how]) => how === 'LIVED').length
}

/** What a fault changes in its file. Errors: the file has not the text, or has it twice, so the table is to be brought up to date. */
export function changeOf({ name, path, text, by }: Sabotage) {
  const [before = '', ...rest] = readFileSync(join(root, path), 'utf8').split(text)
  if (rest.length !== 1)
    throw new Error(`sabotage "${name}": ${path} has ${rest.length} times \`${text}\`; it must be there once`)
  return { path, start: before.length, end: before.length + text.length, by }
}

async function lifeOf(
  copy: Copy,
  fault: Sabotage,
  { plans, jobs }: { readonly plans: readonly ChaosPlan[]; readonly jobs: number },
): Promise<Life> {
  const change = changeOf(fault)
  copy.mutate(change)
  let seeds = 0
  let noticed: Wrong | undefined
  try {
    await runBeside(plans, { jobs, file: join(copy.folder, 'test/chaos/jobs.ts') }, async (_, { wrong }) => {
      noticed ??= wrong[0]
      if (noticed === undefined) seeds += 1
      return noticed === undefined ? 'next' : 'enough'
    })
  } finally {
    copy.restore(change)
  }
  return noticed === undefined ? { seeds } : { seeds, noticed }
}
