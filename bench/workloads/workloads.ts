import { readVectors, vectorNames } from '../../test/vectors/packs.ts'
import { azureMix, largeCluster, manyPools } from './azure-workloads.ts'
import { disruptionNamed, shapes } from './disruption.ts'
import { parityScenario } from './parity.ts'
import type { Scenario } from './scenario.ts'
import { benchmarkMix, preferences } from './upstream-mixes.ts'

export interface Workload {
  readonly name: string
  readonly make: () => Scenario
  /** How often the peer solves it; it takes a minute and more for the large ones. */
  readonly peerRounds: number
  /** Only when it is named. */
  readonly onDemand?: true
}

const mix = (pods: number, peerRounds: number): Workload => ({
  name: `mix-${pods}`,
  make: () => benchmarkMix(pods),
  peerRounds,
})

export const workloads: readonly Workload[] = [
  mix(1, 5),
  mix(100, 5),
  mix(1000, 5),
  mix(5000, 3),
  mix(10_000, 3),
  mix(20_000, 1),
  { ...mix(50_000, 1), onDemand: true },
  { name: 'preferences-1000', make: () => preferences(1000), peerRounds: 3 },
  { name: 'preferences-4000', make: () => preferences(4000), peerRounds: 1 },
  { name: 'preferences-4000-ignored', make: ignoredPreferences, peerRounds: 3 },
  { name: 'azure-mix-5000', make: () => azureMix(5000), peerRounds: 3 },
  { name: 'large-cluster', make: () => largeCluster(), peerRounds: 3 },
  { name: 'many-pools-2000', make: () => manyPools(), peerRounds: 3 },
]

function ignoredPreferences(): Scenario {
  const scenario = preferences(4000)
  return { ...scenario, options: { ...scenario.options, preferencePolicy: 'Ignore' } }
}

/** A workload as the text of a scenario: that which upstream's baseline was measured with where there is one, else made here. */
export function scenarioText({ name, make }: Workload): string {
  return JSON.stringify(vectorNames('workloads').includes(name) ? readVectors(`workloads/${name}`) : make())
}

/** The scenario of a workload, of `parity-SEED`, or of disruption, for a person or a profiler. */
export function scenarioNamed(name: string): string {
  const seed = /^parity-(\d+)$/.exec(name)?.[1]
  if (seed !== undefined) return JSON.stringify(parityScenario(Number(seed)))
  const disruption = disruptionNamed(name)
  if (disruption !== undefined) return JSON.stringify(disruption)
  const workload = workloads.find((one) => one.name === name)
  if (workload === undefined)
    throw new Error(
      `no workload "${name}"; there are ${workloads.map(({ name }) => name).join(', ')}, parity-SEED, and for disruption ` +
        `SHAPE-METHOD-NODES with ${shapes.join(', ')} as shapes, such as mixed-single-node-1000`,
    )
  return scenarioText(workload)
}
