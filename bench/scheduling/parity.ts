import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { schedulingDifferences } from '../../test/vectors/scheduling-comparison.ts'
import { circumstances } from '../report.ts'
import { mostOpenClaims, parityScenario } from '../workloads/parity.ts'
import { ours, peer } from './scheduling-solvers.ts'

/** Solves scenarios with both and compares the answers, error messages included. Sets the exit status if one differs. */
export async function parity(wanted: number): Promise<void> {
  const upstream = await peer()
  const folder = await mkdtemp(join(tmpdir(), 'joiner-parity-'))
  let equal = 0
  try {
    for (let seed = 1, compared = 0; compared < wanted; seed += 1) {
      const scenario = parityScenario(seed)
      const file = join(folder, `${scenario.name}.json`)
      await writeFile(file, JSON.stringify(scenario))
      const expected = (await upstream.solve(file)) as { readonly newNodeClaims: readonly unknown[] }
      // With more, upstream's order among claims with equally many pods is by chance.
      if (expected.newNodeClaims.length > mostOpenClaims) continue
      compared += 1
      const found = await differencesOf(
        () => ours.solve(file),
        (answer) => schedulingDifferences({ ...scenario, expected }, answer),
      )
      if (found.length === 0) equal += 1
      else
        console.log(
          `${scenario.name} (${scenario.description}) differs:\n${found.map((line) => `  ${line}`).join('\n')}`,
        )
      await rm(file)
    }
  } finally {
    await rm(folder, { recursive: true })
  }
  console.log(`Parity with upstream’s scheduler, ${circumstances()}: ${equal} of ${wanted}`)
  if (equal < wanted) process.exitCode = 1
}

async function differencesOf(
  solve: () => Promise<unknown>,
  compare: (answer: object) => readonly string[],
): Promise<readonly string[]> {
  try {
    return compare((await solve()) as object).map((line) => (line.length > 2000 ? `${line.slice(0, 2000)}…` : line))
  } catch (error) {
    return [String(error)]
  }
}
