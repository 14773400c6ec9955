import type { Fault } from '../../deploy/local/azure/admin/faults.ts'
import { deployment, nodeClass, nodePool } from '../../test/applied-objects.ts'
import { type RefusalCase, refusalCases } from '../../test/refusals/cases.ts'
import { type Seen, World } from '../../test/world.ts'
import { circumstances, seconds, table } from '../report.ts'
import { percentile } from '../statistics.ts'

/** How long a pod may wait for another offering, in milliseconds, for 95 % of the cases. */
const goalMs = 60_000
/** A case has failed after this long. */
const patienceMs = 180_000
/** How long nothing must be marked after a cause was named. */
const quietMs = 3000

/** The size that is refused, and the one that is left. They are of two families, so that a refused family leaves one. */
const refusedSize = 'Standard_D2s_v5'
const otherSizes = ['Standard_D2s_v6', 'Standard_E2s_v5', 'Standard_E2s_v6']

interface Result {
  readonly refusal: RefusalCase
  /** Until the pod ran, or until the cause was named. */
  readonly tookMs: number
  /** What was not as expected; empty: nothing. */
  readonly problem: string
}

/**
 * Every refusal of reference/real-aks.md 1, one after another: what Joiner does about it on real servers. A case passes with its own reaction alone. Exits
 * with 1 when one does not pass.
 */
export async function refusals(only?: string): Promise<void> {
  const cases = refusalCases.filter(({ name }) => only === undefined || name.includes(only))
  const world = await World.start()
  const results: Result[] = []
  try {
    world.startJoiner()
    await world.apply(...cases.flatMap((refusal, at) => [nodeClass(`case-${at}`), pool(refusal, at)]))
    for (const [at] of cases.entries()) await world.untilReady(`case-${at}`)
    for (const [at, refusal] of cases.entries()) {
      const result = await run(world, refusal, at)
      console.error(`${at + 1} of ${cases.length} ${refusal.name}: ${result.problem || seconds(result.tookMs)}`)
      results.push(result)
    }
  } finally {
    await world.stop()
  }
  console.log(report(results))
  if (results.some(({ problem }) => problem !== '')) process.exitCode = 1
}

function pool({ spot }: RefusalCase, at: number) {
  return nodePool({
    name: `case-${at}`,
    nodeClass: `case-${at}`,
    consolidateAfter: 'Never',
    requirements: [
      { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [refusedSize, ...otherSizes] },
      // Of spot alone another size is no help where all of spot is refused.
      {
        key: 'karpenter.sh/capacity-type',
        operator: 'In',
        values: spot === true ? ['spot', 'on-demand'] : ['on-demand'],
      },
    ],
  })
}

async function run(world: World, refusal: RefusalCase, at: number): Promise<Result> {
  const name = `case-${at}`
  for (const fault of faultsOf(refusal)) await world.fault(fault)
  const startedAt = Date.now()
  await world.apply(deployment({ name, replicas: 1, nodeSelector: { 'karpenter.sh/nodepool': name } }))
  let problem = ''
  let tookMs = 0
  try {
    problem = await react(world, refusal, { name, reached: () => (tookMs = Date.now() - startedAt) })
  } catch (error) {
    problem = error instanceof Error ? error.message.slice(0, 300) : String(error)
  }
  await world.operator.simulator('DELETE', '/faults')
  await cleanUp(world, name)
  return { refusal, tookMs: tookMs || Date.now() - startedAt, problem }
}

/** A fault for each zone, since Azure's words may name it. */
function faultsOf({ status, code, message, isCommon, spot }: RefusalCase): readonly Fault[] {
  return ['1', '2', '3', '0'].map((zone) => {
    const match = {
      zone,
      ...(isCommon === true ? {} : { sku: refusedSize }),
      ...(spot === true ? { capacityType: 'spot' as const } : {}),
    }
    const fault = { match, code, message: message({ size: refusedSize, zone }), count: 1000 }
    return status === undefined ? { kind: 'failAsync', ...fault } : { kind: 'failSync', status, ...fault }
  })
}

interface Step {
  readonly name: string
  readonly reached: () => void
}

/** Returns what was not as expected. */
async function react(world: World, { reaction }: RefusalCase, { name, reached }: Step): Promise<string> {
  if (reaction.kind === 'another') {
    await world.until(`the pod of ${name} runs`, async () => (await world.running(name)) === 1, patienceMs)
    reached()
    const reasons = [...new Set((await marks(world)).map(({ reason }) => reason))]
    return reasons.join() === reaction.reason ? '' : `marked for ${reasons.join(', ') || 'nothing'}`
  }
  await world.until(
    `${name} says ${reaction.reason}`,
    async () => (await said(world, name)).includes(`${reaction.reason}: `),
    patienceMs,
  )
  reached()
  const text = await said(world, name)
  if (reaction.kind === 'named' && !reaction.words.test(text)) return `said: ${text}`
  await new Promise((resolve) => setTimeout(resolve, quietMs))
  const marked = await marks(world)
  if (marked.length > 0) return `marked ${marked.map(({ reason }) => reason).join(', ')}`
  if (reaction.kind === 'named') return ''
  await world.operator.simulator('DELETE', '/faults')
  await world.until(`the pod of ${name} runs after all`, async () => (await world.running(name)) === 1, patienceMs)
  return ''
}

/** What the NodeClaims of a pool say of their launch. */
async function said(world: World, pool: string): Promise<string> {
  const claims = await claimsOf(world, pool)
  return claims
    .flatMap(({ status }) => status?.conditions ?? [])
    .filter(({ type }) => type === 'Launched')
    .map(({ message }) => message)
    .join(' | ')
}

const claimsOf = async (world: World, pool: string): Promise<readonly Seen[]> =>
  (await world.list('nodeclaims')).filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === pool)

async function marks(world: World): Promise<readonly { readonly reason: string }[]> {
  return JSON.parse(await world.joiner('capacity', 'list', '--output', 'json')) as readonly {
    readonly reason: string
  }[]
}

/** The next case begins without pods, NodeClaims and marks of this one. */
async function cleanUp(world: World, name: string): Promise<void> {
  await world.operator.kubectl(['delete', 'deployment', name, '--wait=true'])
  for (const { metadata } of await claimsOf(world, name))
    await world.operator.kubectl(['delete', 'nodeclaim', metadata.name, '--wait=false'])
  await world.until(`nothing of ${name} is left`, async () => (await claimsOf(world, name)).length === 0, patienceMs)
  await world.joiner('capacity', 'clear', '--all')
}

function report(results: readonly Result[]): string {
  const passed = results.filter(({ problem }) => problem === '')
  const others = passed.filter(({ refusal }) => refusal.reaction.kind === 'another').map(({ tookMs }) => tookMs)
  const rows = results.map(({ refusal: { name, status, code, reaction }, tookMs, problem }) => [
    name,
    `${status ?? 'later'} ${code}`,
    `${reaction.kind} (${reaction.reason})`,
    seconds(tookMs),
    problem === '' ? 'as expected' : problem,
  ])
  const summary = `${passed.length} of ${results.length} refusals had their own reaction. Another offering after ${seconds(percentile(others, 50))} (median), ${seconds(percentile(others, 95))} (95th percentile; goal: under ${seconds(goalMs)}).`
  return `### Refusals, ${circumstances()}\n\n${table(['refusal', 'answer', 'expected', 'after', 'found'], rows)}\n\n${summary}\n`
}
