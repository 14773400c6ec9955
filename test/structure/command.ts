// npm run structure: prints what the structure of the sources measures, and fails where a limit is passed. -- --all names offenders within the limits too.
import { fileURLToPath } from 'node:url'
import { holds, type Measure, measure } from './measures.ts'
import { readSources } from './sources.ts'

const root = process.argv.slice(2).find((argument) => !argument.startsWith('--'))
const all = process.argv.includes('--all')
const measures = measure(readSources(root ?? fileURLToPath(new URL('../../', import.meta.url))))

const limitText = ({ limit }: Measure) => ('atMost' in limit ? `at most ${limit.atMost}` : `at least ${limit.atLeast}`)
for (const one of measures)
  console.log(`${holds(one) ? 'ok  ' : 'FAIL'} ${String(one.value).padStart(5)}  ${one.name} (${limitText(one)})`)
for (const one of measures.filter((candidate) => all || !holds(candidate))) {
  if (one.offenders.length > 0) console.log(`\n${one.name}:`)
  for (const offender of one.offenders) console.log(`  ${offender}`)
}
process.exitCode = measures.every(holds) ? 0 : 1
