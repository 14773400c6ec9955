import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { circumstances, table } from '../report.ts'
import { type Costs, costs } from './course.ts'

const file = fileURLToPath(new URL('counts.json', import.meta.url))

/** The counts that the repository holds. */
function keptCosts(): Costs {
  return JSON.parse(readFileSync(file, 'utf8')) as Costs
}

/** Prints what a start, a life and an idle hour cost, beside the counts of the repository. `write`: these become the counts of the repository. */
export async function guard({ write = false }: { readonly write?: boolean }): Promise<void> {
  const kept = keptCosts()
  const now = await costs()
  if (write) writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`)
  const rows = Object.entries(now).flatMap(([part, counts]) => {
    const before = kept[part as keyof Costs] ?? {}
    return [...new Set([...Object.keys(before), ...Object.keys(counts)])]
      .toSorted()
      .map((name) => [`${part}: ${name}`, String(before[name] ?? 0), String(counts[name] ?? 0)])
  })
  const changed = rows.filter(([, before, after]) => before !== after)
  console.log(`### Counts, ${circumstances()}\n\n${table(['', 'kept', 'now'], rows)}\n`)
  if (changed.length === 0) return console.log('All are as the repository has them.')
  console.log(`${changed.length} differ:\n\n${table(['', 'kept', 'now'], changed)}\n`)
  if (!write) console.log('If that is meant: npm run bench -- guard --write, and say why in the commit.')
  if (!write) process.exitCode = 1
}
