// npm run structure: prints what the structure of the sources measures, and fails where a limit is passed. -- --all names offenders within the limits too;
// -- --lines prints how many lines each folder at the root has, -- --lines --of core how many each folder of core.
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { subjects, subjectTable } from './lines.ts'
import { holds, type Measure, measure } from './measures.ts'
import { readSources } from './sources.ts'

const { values, positionals } = parseArgs({
  options: { all: { type: 'boolean' }, lines: { type: 'boolean' }, of: { type: 'string' } },
  allowPositionals: true,
})
const sources = readSources(positionals[0] ?? fileURLToPath(new URL('../../', import.meta.url)))
if (values.lines) console.log(subjectTable(subjects(sources, values.of)))
else holdMeasures(measure(sources), values.all ?? false)

/** Prints each measure, and what breaks a limit or, with `all`, makes up a value. Ends with code 1 if one passes its limit. */
function holdMeasures(measures: readonly Measure[], all: boolean): void {
  const limitText = ({ limit }: Measure) =>
    'atMost' in limit ? `at most ${limit.atMost}` : `at least ${limit.atLeast}`
  for (const one of measures)
    console.log(`${holds(one) ? 'ok  ' : 'FAIL'} ${String(one.value).padStart(5)}  ${one.name} (${limitText(one)})`)
  for (const one of measures.filter((candidate) => all || !holds(candidate))) {
    if (one.offenders.length > 0) console.log(`\n${one.name}:`)
    for (const offender of one.offenders) console.log(`  ${offender}`)
  }
  process.exitCode = measures.every(holds) ? 0 : 1
}
