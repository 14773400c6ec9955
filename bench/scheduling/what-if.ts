import { performance } from 'node:perf_hooks'
import type { SchedulingPlan } from '../../core/scheduling/snapshot.ts'
import { SolverMemory } from '../../core/scheduling/solver/memory.ts'
import { type Removal, WhatIf } from '../../core/scheduling/what-if.ts'
import { readScenario } from '../../starter/cli/simulate/scenario.ts'
import { circumstances, table } from '../report.ts'
import { runningCluster } from '../workloads/running-cluster.ts'
import type { Scenario } from '../workloads/scenario.ts'

/** What a pass over all nodes of a cluster costs that asks what would be without each, and without half of them at once. */
export function whatIf(sizes: readonly number[]): void {
  const rows = sizes.flatMap((nodes) => [false, true].map((isFull) => measure(runningCluster(nodes, isFull))))
  console.log(`### What-ifs, ${circumstances()}\n`)
  console.log(
    table(
      ['cluster', 'first answer', 'each node in turn', 'per node', 'half of the nodes', 'deletable', 'replaceable'],
      rows,
    ),
  )
  console.log(
    '\nThe first answer prepares the others. Every question is about one snapshot, in a process that has done nothing before.',
  )
}

function measure(scenario: Scenario): readonly string[] {
  const { snapshot, options } = readScenario(scenario)
  const removals: readonly Removal[] = snapshot.nodes.map((place) => ({ place, moving: place.pods }))
  const startedAt = performance.now()
  const all = new WhatIf(snapshot, { ...options, reservedOfferings: 'Fallback' }, new SolverMemory())
  const plans: SchedulingPlan[] = [all.without(removals.slice(0, 1), { maxNewClaims: 1 })]
  const firstMs = performance.now() - startedAt
  for (const removal of removals.slice(1)) plans.push(all.without([removal], { maxNewClaims: 1 }))
  const singleMs = performance.now() - startedAt
  const halfAt = performance.now()
  const half = removals.filter((_, index) => index % 2 === 0)
  const without = all.without(half)
  const halfMs = performance.now() - halfAt
  const count = (claims: number) =>
    plans.filter(
      ({ newNodeClaims, unschedulable, stopped }) =>
        newNodeClaims.length === claims && unschedulable.length === 0 && !stopped,
    ).length
  const moved = half.reduce((sum, { moving }) => sum + moving.length, 0)
  return [
    scenario.description,
    `${firstMs.toFixed(0)} ms`,
    `${(singleMs / 1000).toFixed(2)} s`,
    `${(singleMs / removals.length).toFixed(2)} ms`,
    `${halfMs.toFixed(0)} ms (${moved} pods, ${without.newNodeClaims.length} claims)`,
    String(count(0)),
    String(count(1)),
  ]
}
