import { readFile } from 'node:fs/promises'
import { performance } from 'node:perf_hooks'
import { evaluate } from '../../core/disruption/evaluate.ts'
import { type DisruptionWorld } from '../../core/disruption/world.ts'
import { decisionOf } from '../../starter/cli/simulate/disruption.ts'
import { peakRSSMiB } from '../../starter/cli/simulate/result.ts'

/**
 * Decides so often about a scenario, in this process, and prints a line of JSON for each time: `disruption-rounds.ts FILE ROUNDS MOST`.
 * A search for several nodes looks at MOST candidates.
 */
const [file = '', rounds = '1', most = '100'] = process.argv.slice(2)
const startedAt = performance.now()
const { world, settings } = decisionOf(JSON.parse(await readFile(file, 'utf8')))
const policy = { ...settings.policy, maxMultiNodeCandidates: Number(most) }
const readMs = performance.now() - startedAt

for (let round = 0; round < Number(rounds); round += 1) {
  const began = performance.now()
  const made = counting(world())
  const ready = performance.now()
  const { commands, passes } = evaluate(made.world, { ...settings, policy })
  const done = performance.now()
  const line = {
    readMs,
    worldMs: ready - began,
    evaluateMs: done - ready,
    candidates: passes.reduce((sum, { candidates }) => sum + candidates.length, 0),
    simulations: made.simulations(),
    commands: commands.map(({ decision, candidates: own }) => `${decision} ${own.length}`),
    savings: commands.reduce((sum, { savings }) => sum + savings, 0),
    peakRSSMiB: peakRSSMiB(),
  }
  console.log(JSON.stringify(line))
}

function counting(world: DisruptionWorld): { readonly world: DisruptionWorld; readonly simulations: () => number } {
  let count = 0
  const { simulator } = world
  const without = simulator.without.bind(simulator)
  simulator.without = (...args) => {
    count += 1
    return without(...args)
  }
  return { world, simulations: () => count }
}
