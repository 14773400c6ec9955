import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { wholeNumber } from '../../bench/arguments.ts'
import { circumstances } from '../../bench/report.ts'
import { randomNumbers } from '../fast/virtual-clock.ts'
import { Copy } from './copy.ts'
import { findMutants, type Mutant } from './mutants.ts'
import { Trials } from './trial.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

const usualFolders = [
  'activities/azure',
  'activities/kubernetes',
  'activities/disruption',
  'activities/provisioning',
  'workflows',
]

interface Options {
  readonly seed: number
  readonly count: number
  readonly from: number
  readonly folder: readonly string[]
  readonly list?: true
}

await new Command('npm run mutations --')
  .description(
    'Removes awaited writes, ownership checks and early returns from the code, one at a time, and runs the tests without real servers until one fails: those beside the file, those that import it, those in virtual time. The checkout stays as it is. One mutant takes some seconds to some minutes. Ends with 1 when fewer than 85 % are caught.',
  )
  .option('--seed <number>', 'what the sample follows from', wholeNumber, 33)
  .option('--count <number>', 'how many mutants', wholeNumber, 100)
  .option('--from <number>', 'goes on with a sample: the number of its first mutant', wholeNumber, 0)
  .option('--folder <path...>', 'where to look for them', usualFolders)
  .option('--list', 'prints the sample and runs nothing')
  .action(main)
  .parseAsync()

async function main({ seed, count: wanted, from, folder, list }: Options): Promise<void> {
  const all = folder.flatMap(mutantsIn)
  const sample = sampleOf(all, seed).slice(0, wanted)
  console.log(`seed ${seed}: ${sample.length} of ${all.length} mutants`)
  if (list === true) {
    for (const [at, mutant] of sample.entries()) console.log(lineOf(at, mutant))
    return
  }
  const copy = new Copy(root)
  const trials = new Trials(copy)
  let isStopped = false
  process.once('SIGINT', () => {
    isStopped = true
    trials.stop()
  })
  const startedMs = Date.now()
  let caught = 0
  let at = from
  try {
    for (; at < sample.length; at++) {
      const mutant = sample[at] as Mutant
      const begunMs = Date.now()
      const verdict = await trials.verdictOn(mutant)
      if (isStopped) break
      if (verdict.kind === 'caught') caught += 1
      const outcome = verdict.kind === 'caught' ? `caught by ${verdict.by}` : 'SURVIVED'
      console.log(`${lineOf(at, mutant)}: ${outcome} (${Math.round((Date.now() - begunMs) / 1000)} s)`)
    }
  } finally {
    copy.remove()
  }
  const ran = at - from
  const hours = ((Date.now() - startedMs) / 3_600_000).toFixed(2)
  const share = ran === 0 ? 0 : (100 * caught) / ran
  console.log(`\n${circumstances()}: ${caught} of ${ran} caught, ${share.toFixed(0)} %, in ${hours} hours`)
  for (const file of trials.broken) console.log(`${file} fails without a mutant and was left out`)
  if (isStopped) console.log(`stopped; it goes on with --seed ${seed} --count ${wanted} --from ${at}`)
  if (isStopped || share < 85) process.exitCode = 1
}

function mutantsIn(folder: string): readonly Mutant[] {
  return globSync(`${folder}/**/*.ts`, { cwd: root })
    .filter((path) => !path.endsWith('.test.ts'))
    .toSorted()
    .flatMap((path) => findMutants(path, readFileSync(join(root, path), 'utf8')))
}

/** All of them in an order that follows from the seed. */
function sampleOf(mutants: readonly Mutant[], seed: number): readonly Mutant[] {
  const random = randomNumbers(seed)
  return mutants
    .map((mutant) => ({ mutant, place: random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ mutant }) => mutant)
}

function lineOf(at: number, { path, line, kind, removed }: Mutant): string {
  return `${at} ${path}:${line} ${kind} \`${removed}\``
}
