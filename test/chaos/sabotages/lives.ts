import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { table } from '../../../bench/report.ts'
import { Copy } from '../../mutations/copy.ts'
import { runBeside } from '../jobs.ts'
import type { ChaosPlan } from '../plan.ts'
import type { Wrong } from '../watch/wrong.ts'
import { type Sabotage, sabotages } from './table.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** How a fault fared. */
interface Life {
  /** With how many seeds it lived. */
  readonly seeds: number
  /** What was wrong with the next one. Unset: it outlived all. */
  readonly noticed?: Wrong
  /** What else was wrong before that, kind and seed: a fault may show by what it is not. */
  readonly others: ReadonlyMap<string, number>
}

/** Puts faults back one at a time, in a copy of the tree, and runs plans until one notices. Returns how many of them lived. */
export async function sabotage(plans: readonly ChaosPlan[], jobs: number, names: RegExp): Promise<number> {
  const copy = new Copy(root)
  const rows: string[][] = []
  try {
    for (const one of sabotages.filter(({ name }) => names.test(name))) {
      const { seeds, noticed, others } = await lifeOf(copy, one, { plans, jobs })
      const how = noticed === undefined ? 'LIVED' : `${noticed.kind}: ${noticed.what}`
      const by = [...others].map(([kind, seed]) => `noticed by ${kind} (seed ${seed})`).join(', ')
      console.log(`${one.name}: ${how}, after ${seeds} seeds${by === '' ? '' : `; ${by}`}`)
      rows.push([one.name, one.fix, String(seeds), noticed?.kind ?? 'LIVED', by])
    }
  } finally {
    copy.remove()
  }
  console.log(`\n${table(['fault', 'mended by', 'seeds it lived', 'what noticed it', 'what else was wrong'], rows)}`)
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
  const others = new Map<string, number>()
  try {
    await runBeside(plans, { jobs, file: join(copy.folder, 'test/chaos/jobs.ts') }, async ({ seed }, { wrong }) => {
      noticed ??= wrong.find(({ kind }) => kind === fault.kind)
      if (noticed !== undefined) return 'enough'
      seeds += 1
      for (const { kind } of wrong) if (!others.has(kind)) others.set(kind, seed)
      return 'next'
    })
  } finally {
    copy.restore(change)
  }
  return { seeds, others, ...(noticed === undefined ? {} : { noticed }) }
}
