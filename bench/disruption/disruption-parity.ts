import { disruptionDifferences } from '../../test/vectors/disruption-comparison.ts'
import { circumstances } from '../report.ts'
import { runToEnd } from '../run-to-end.ts'
import type { DisruptionScenario } from '../workloads/disruption.ts'
import { parityNodes } from '../workloads/disruption-parity-nodes.ts'
import { parityWorkload } from '../workloads/disruption-parity-pods.ts'
import { parityPools, parityTypes } from '../workloads/disruption-parity-pools.ts'
import { Random } from '../workloads/random.ts'
import { daemonSetJson, now } from '../workloads/scenario.ts'
import { disruptionPeer, joinerSimulate } from './disruption-solvers.ts'

/** So often the peer decides again, to find out what it leaves to chance: the order of pools, of equal zones, of pods in a message. */
const rounds = 64

interface Answer {
  readonly blocked: readonly { readonly reason: string }[]
}

/** Has both decide about random clusters and compares all that a result says. Sets the exit status if one differs. */
export async function disruptionParityReport(wanted: number, first: number): Promise<void> {
  const peer = await disruptionPeer()
  let equal = 0
  for (let seed = first, made = 0; made < wanted; seed += 1) {
    const scenario = disruptionParity(seed)
    const text = JSON.stringify(scenario)
    const answers = await peer.distinct(text, rounds)
    if (answers === undefined) continue
    made += 1
    const found = await differencesOf(text, anyOf(answers as readonly Answer[]))
    if (found.length === 0) equal += 1
    else console.log(`${scenario.name} (${scenario.method}) differs:\n${found.map((line) => `  ${line}`).join('\n')}`)
  }
  console.log(
    `Parity with upstream’s disruption methods, ${circumstances()}, seeds from ${first}: ${equal} of ${wanted}`,
  )
  if (equal < wanted) process.exitCode = 1
}

async function differencesOf(
  scenario: string,
  expected: Readonly<Record<string, unknown>>,
): Promise<readonly string[]> {
  const { out, err, code } = await runToEnd(process.execPath, joinerSimulate, scenario)
  if (code !== 0) return [`exit status ${code}: ${err.slice(-2000)}`]
  return disruptionDifferences(expected, JSON.parse(out)).map((line) => line.slice(0, 2000))
}

/** Each part of a result on its own: whatever upstream answered in some round will do. */
function anyOf(answers: readonly Answer[]): Readonly<Record<string, unknown>> {
  const reported = answers.map((answer) => ({ ...answer, blocked: answer.blocked.map(withoutOrder) }))
  const keys = [...new Set(reported.flatMap((answer) => Object.keys(answer)))]
  return Object.fromEntries(
    keys.map((key) => {
      const values = reported.map((answer) => (answer as Readonly<Record<string, unknown>>)[key])
      return [key, values.length === 1 ? values[0] : { $anyOf: values }]
    }),
  )
}

const pods = / => /g

/** A message about several pods names them in the order of a Go map. */
function withoutOrder<T extends { readonly reason: string }>(blocked: T) {
  const isLong = (blocked.reason.match(pods)?.length ?? 0) > 1
  return isLong ? { ...blocked, reason: { $prefix: 'Not all pods would schedule' } } : blocked
}

const methods = ['single-node', 'single-node', 'multi-node', 'multi-node', 'drift', 'emptiness'] as const

/** A small cluster of which something may be wrong in many ways. Costs and prices differ, as upstream chooses among equal ones by chance. */
function disruptionParity(seed: number): DisruptionScenario {
  const random = new Random(7000 + seed)
  const method = random.pick(methods)
  const types = parityTypes(random)
  const pools = parityPools(random, method)
  const daemons = random.chance(0.4)
    ? [daemonSetJson('logs', { cpu: '100m', memory: '64Mi' }, { tolerations: [{ operator: 'Exists' }] })]
    : []
  const nodes = parityNodes(random, { types, pools, count: random.between(2, 14), method })
  const hasDaemon = daemons.length > 0
  return {
    name: `disruption-parity-${seed}`,
    note: `${nodes.length} nodes of ${pools.length} pools, ${types.length} types`,
    now,
    method,
    options: options(random),
    instanceTypes: types,
    objects: [
      ...pools.map(({ object }) => object),
      ...daemons,
      ...nodes.flatMap(({ objects }) => objects),
      ...parityWorkload(random, nodes, hasDaemon),
    ],
  }
}

function options(random: Random): DisruptionScenario['options'] {
  return {
    ...(random.chance(0.4) ? { spotToSpotConsolidation: true } : {}),
    ...(random.chance(0.2) ? { preferencePolicy: 'Ignore' } : {}),
    ...(random.chance(0.1) ? { reconcileConditions: true } : {}),
    ...(random.chance(0.1) ? { nominated: ['n01'] } : {}),
    ...(random.chance(0.15) ? { markedForDeletion: ['n00'] } : {}),
  }
}
