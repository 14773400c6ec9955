import { defaultPayloadConverter } from '@temporalio/common'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { CommandResult, DisruptionCommandInput, disruptionCommand } from '../workflows/disruption-command.ts'
import { commandStatusQuery, loopStatusQuery, pauseSignal, resumeSignal } from '../workflows/messages.ts'
import { ApiProxy, type Hold } from './api-proxy.ts'
import { type Old, traceKeys, type Write, writes } from './command-writes.ts'
import { deployment, nodeClass, nodePool, type Seen, World } from './world.ts'

const poolLabel = 'karpenter.sh/nodepool'
const doNotDisrupt = 'karpenter.sh/do-not-disrupt'
const revision = 'revision'
const { taint, condition, stamp, replacementFor } = traceKeys

interface SeenClaim extends Seen {
  readonly status?: Seen['status'] & { readonly nodeName?: string }
}

/** Each step of a commit, and what stands of it when Joiner dies there. */
const commits = [
  { at: 'after the condition, before the taint', held: ['taint', 'condition'], done: 'condition', left: ['condition'] },
  { at: 'after the taint, before the condition', held: ['taint', 'condition'], done: 'taint', left: ['taint'] },
  { at: 'before the replacement is created', held: ['create'], left: ['condition', 'taint'] },
  {
    at: 'after the replacement is created, before its lifecycle starts',
    held: ['create'],
    done: 'create',
    left: ['condition', replacementFor, 'taint'],
  },
  {
    at: 'after the lifecycle of the replacement has started, before the stamp',
    held: ['stamp'],
    left: ['condition', replacementFor, 'taint'],
  },
  {
    at: 'after the stamp, before the command starts',
    held: ['stamp'],
    done: 'stamp',
    left: ['condition', stamp, replacementFor, 'taint'],
  },
] satisfies readonly { at: string; held: readonly Write[]; done?: Write; left: readonly string[] }[]

const commitPools = ['alder', 'birch', 'cedar', 'ebony', 'fir', 'gum']

/** Where commands that run at the same time stand when Joiner dies. `done`: the write is carried out, and its answer is lost. */
const running = {
  hazel: { held: 'initialize' },
  iroko: { held: 'remove' },
  juniper: { held: 'remove', done: true },
  kauri: { held: 'letGo' },
  larch: { held: 'letGo', done: true },
} satisfies Readonly<Record<string, { held: Write; done?: boolean }>>

const undone = {
  maple: { held: 'untaint' },
  nutmeg: { held: 'uncondition' },
  oak: { held: 'unstamp' },
  pine: { held: 'discard' },
  rowan: { held: 'discard', done: true },
} satisfies Readonly<Record<string, { held: Write; done?: boolean }>>

/** Undone with nobody in its way. */
const plain = 'spruce'
const others = { throttled: 'teak', temporal: 'umbra', late: 'viburnum', paused: 'willow' }
const pools = [...commitPools, ...Object.keys(running), ...Object.keys(undone), plain, ...Object.values(others)]

let world: World
let proxy: ApiProxy
let kubeconfig: string

const startJoiner = () => world.startJoiner('joiner', { JOINER_RESYNC_INTERVAL: '5s', KUBECONFIG: kubeconfig })

beforeAll(async () => {
  world = await World.start()
  ;({ proxy, kubeconfig } = await ApiProxy.start(world))
  startJoiner()
  await world.apply(
    nodeClass(),
    ...pools.map((name) => nodePool({ name, consolidateAfter: '0s' })),
    ...pools.map((name) => deployment({ name, replicas: 1, nodeSelector: { [poolLabel]: name } })),
  )
  await world.until(
    'each pool has a node with its pod',
    async () => {
      const seen = await look()
      return pools.every((pool) => seen.state(pool) === 'whole')
    },
    100_000,
  )
})

afterAll(async () => {
  proxy?.stop()
  await world?.stop()
})

// What belongs to a test that failed must not stand in the way of the next one.
afterEach(async () => {
  proxy.forget()
  if (world.cluster.supervisor.pids['joiner'] === undefined) startJoiner()
})

/** All that there is at one moment, by pool. */
async function look() {
  const [allClaims, allNodes, allPods, { virtualMachines }] = await Promise.all([
    world.list('nodeclaims') as Promise<readonly SeenClaim[]>,
    world.list('nodes'),
    world.list('pods'),
    world.azure(),
  ])
  const claimsOf = (pool: string) => allClaims.filter(({ metadata }) => metadata.labels?.[poolLabel] === pool)
  const nodesOf = (pool: string) => allNodes.filter(({ metadata }) => metadata.labels?.[poolLabel] === pool)
  const podsOf = (pool: string) => allPods.filter(({ metadata }) => metadata.labels?.['app'] === pool)
  /** What a command leaves on a pool's objects while it runs. */
  const traces = (pool: string) =>
    [
      ...claimsOf(pool).flatMap(({ metadata: { annotations = {} }, status }) => [
        ...[stamp, replacementFor].filter((key) => key in annotations),
        ...(status?.conditions ?? []).filter(({ type }) => type === condition).map(() => 'condition'),
      ]),
      ...nodesOf(pool)
        .filter(({ spec }) => spec.taints?.some(({ key }) => key === taint))
        .map(() => 'taint'),
    ].sort()
  /** `whole`: one claim, its node and its VM with the running pod, and no trace of a command. */
  const state = (pool: string): string => {
    const [own, nodes, pods] = [claimsOf(pool), nodesOf(pool), podsOf(pool)]
    const vms = virtualMachines.filter(({ name }) => name.startsWith(`aks-${pool}-`))
    const [claim] = own
    const counts = [own, nodes, vms, pods].map(({ length }) => length)
    if (counts.some((count) => count !== 1)) return `${counts.join('/')} claims/nodes/VMs/pods`
    const isSound =
      claim?.metadata.deletionTimestamp === undefined &&
      claim?.status?.conditions?.some(({ type, status }) => type === 'Initialized' && status === 'True') &&
      vms[0]?.name === nodes[0]?.metadata.name &&
      pods[0]?.status?.phase === 'Running' &&
      pods[0].metadata.deletionTimestamp === undefined
    if (!isSound) return 'not sound'
    return traces(pool).join(', ') || 'whole'
  }
  const olds = (pool: string): Old => {
    const [[claim], [pod]] = [claimsOf(pool), podsOf(pool)]
    const { name = '', uid = '' } = claim?.metadata ?? {}
    return { pool, claim: name, uid, node: claim?.status?.nodeName ?? '', pod: pod?.metadata.name ?? '' }
  }
  return { claimsOf, traces, state, olds }
}

async function oldOf(pool: string): Promise<Old> {
  return (await look()).olds(pool)
}

async function untilWhole(...names: readonly string[]): Promise<void> {
  let last = ''
  await world
    .until(`${names.join(', ')} whole`, async () => {
      const seen = await look()
      const states = names.map((pool) => `${pool}: ${seen.state(pool)}`)
      last = states.join('; ')
      return states.every((state) => state.endsWith(': whole'))
    })
    .catch((error: Error) => {
      throw new Error(`${last}\n${error.message}`)
    })
}

/** Makes the nodes of pools drift. */
async function renew(...names: readonly string[]): Promise<void> {
  const spec = { template: { metadata: { labels: { [revision]: '2' } } } }
  await Promise.all(
    names.map((pool) => world.operator.api('PATCH', `/apis/karpenter.sh/v1/nodepools/${pool}`, { spec })),
  )
}

const hold = (old: Old, write: Write): Hold => proxy.hold((call) => writes[write](old, call))

async function untilReached(holds: readonly Hold[]): Promise<void> {
  await world.until('the held writes', async () => holds.every(({ isReached }) => isReached))
}

/** Kills Joiner, and starts it again with nothing in its way. */
async function crashAndRestart(): Promise<void> {
  await world.crash()
  proxy.forget()
  startJoiner()
}

test.each(commits.map((commit, at) => ({ ...commit, pool: commitPools[at] ?? '' })))(
  'kill -9 $at',
  async ({ pool, held, left, ...rest }) => {
    const old = await oldOf(pool)
    const holds = held.map((write) => ({ write, hold: hold(old, write) }))
    await renew(pool)
    await untilReached(holds.map((each) => each.hold))
    await holds.find(({ write }) => 'done' in rest && write === rest.done)?.hold.carryOut()
    await world.crash()
    expect((await look()).traces(pool)).toEqual([...left].sort())
    await crashAndRestart()
    await untilWhole(pool)
  },
)

test('kill -9 while commands wait, before and after they delete their nodes, and before and after they let their replacements go', async () => {
  const seen = await look()
  const steps = Object.entries(running).map(([pool, step]) => ({ pool, step, hold: hold(seen.olds(pool), step.held) }))
  await renew(...Object.keys(running))
  await untilReached(steps.map((each) => each.hold))
  for (const { step, hold: one } of steps) if ('done' in step) await one.carryOut()
  await crashAndRestart()
  await untilWhole(...Object.keys(running))
  // None of these was undone: the replacements that were there already are in use.
  const after = await look()
  for (const pool of Object.keys(running)) {
    expect(after.olds(pool).uid).not.toBe(seen.olds(pool).uid)
    expect(after.claimsOf(pool)[0]?.metadata.labels?.[revision]).toBe('2')
  }
})

test('do-not-disrupt on a pod while the replacement starts: undone, also with kill -9 at every step of the undo', async () => {
  const names = [plain, ...Object.keys(undone)]
  const before = await look()
  const olds = names.map((pool) => before.olds(pool))
  const starting = olds.map((old) => hold(old, 'initialize'))
  await renew(...names)
  await untilReached(starting)
  const pods = olds.map(({ pod }) => pod)
  await world.operator.kubectl(['annotate', 'pod', ...pods, `${doNotDisrupt}=true`])
  const steps = Object.entries(undone).map(([pool, step]) => ({
    step,
    hold: hold(before.olds(pool), step.held),
  }))
  for (const one of starting) one.release()
  await untilReached(steps.map((each) => each.hold))
  await untilWhole(plain)
  for (const { step, hold: one } of steps) if ('done' in step) await one.carryOut()
  await crashAndRestart()
  await untilWhole(...names)
  const after = await look()
  expect(names.map((pool) => after.olds(pool))).toEqual(olds)
  await world.operator.kubectl(['annotate', 'pod', ...pods, `${doNotDisrupt}-`])
})

test('the API server throttles in the middle of a commit', async () => {
  const pool = others.throttled
  const old = await oldOf(pool)
  const [tainting, marking] = [hold(old, 'taint'), hold(old, 'condition')]
  await renew(pool)
  await untilReached([tainting, marking])
  await tainting.carryOut()
  const until = Date.now() + 10_000
  proxy.throttle(10_000)
  marking.release()
  tainting.release()
  await world.until('the API server is itself again', async () => Date.now() > until)
  expect(proxy.refused).toBeGreaterThan(3)
  await untilWhole(pool)
})

test('the Temporal server is restarted between commit and deletion', async () => {
  const pool = others.temporal
  const old = await oldOf(pool)
  const starting = hold(old, 'initialize')
  await renew(pool)
  await untilReached([starting])
  await world.cluster.supervisor.restart('temporal', 'SIGKILL')
  starting.release()
  await world.until('the old node is gone', async () => (await oldOf(pool)).uid !== old.uid)
  await untilWhole(pool)
})

test('a replacement that never joins: undone when its time is over, and tried again', async () => {
  const pool = others.late
  const old = await oldOf(pool)
  await world.fault({ kind: 'neverJoins' })
  await renew(pool)
  const waiting = await world.until('the command waits', async () => {
    const [id] = await commandsOf(pool)
    if (id === undefined) return undefined
    const { doing, replacements } = await world.temporal.workflow.getHandle(id).query(commandStatusQuery)
    return doing.startsWith('waiting') && { id, replacement: replacements[0] ?? '' }
  })
  await world.until('its VM exists', async () =>
    (await world.azure()).virtualMachines.some(({ name }) => name === `aks-${waiting.replacement}`),
  )
  const { outcome, message } = await shortened(waiting.id, 2000)
  expect({ outcome, message }).toEqual({
    outcome: 'undone',
    message: `not initialized in time: ${waiting.replacement}`,
  })
  await untilWhole(pool)
  expect(await oldOf(pool)).toEqual(old)
})

/** Gives a command that runs another time limit: the very same starts again in its place. Returns its result. */
async function shortened(id: string, ms: number): Promise<CommandResult> {
  const running = world.temporal.workflow.getHandle(id)
  const { taskQueue } = await running.describe()
  const { events } = await running.fetchHistory()
  const payload = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]
  if (!payload) throw new Error(`the history of ${id} does not begin with its input`)
  const input = defaultPayloadConverter.fromPayload<DisruptionCommandInput>(payload)
  const again = await world.temporal.workflow.start<typeof disruptionCommand>('disruptionCommand', {
    workflowId: id,
    taskQueue,
    workflowIdConflictPolicy: 'TERMINATE_EXISTING',
    args: [{ ...input, readyByMs: Date.now() + ms }],
  })
  return again.result()
}

test('a pause while a commit is under way: undone, and nothing happens until resumed', async () => {
  const pool = others.paused
  const old = await oldOf(pool)
  const tainting = hold(old, 'taint')
  await renew(pool)
  await untilReached([tainting])
  await world.loop('disruption').signal(pauseSignal, { reason: 'audit' })
  await world.until(
    'the pause is in force',
    async () => (await world.loop('disruption').query(loopStatusQuery)).pause?.reason === 'audit',
  )
  tainting.release()
  await world.until('the loop rests', async () =>
    (await world.loop('disruption').query(loopStatusQuery)).doing.startsWith('paused'),
  )
  await untilWhole(pool)
  expect(await oldOf(pool)).toEqual(old)
  await world.loop('disruption').signal(resumeSignal)
})

test('in the end all nodes are new, and nothing leaks', async () => {
  await world.until(
    'all nodes are new',
    async () => {
      const seen = await look()
      return pools.every(
        (pool) => seen.state(pool) === 'whole' && seen.claimsOf(pool)[0]?.metadata.labels?.[revision] === '2',
      )
    },
    90_000,
  )
  await world.until('no command runs', async () => (await commandsOf()).length === 0)
  for (const pool of pools) await world.scale(pool, 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()
}, 180_000)

/** Ids of the commands that run. */
async function commandsOf(pool?: string): Promise<readonly string[]> {
  const query = `WorkflowType = 'disruptionCommand' AND ExecutionStatus = 'Running'${pool === undefined ? '' : ` AND NodePool = '${pool}'`}`
  const found: string[] = []
  for await (const { workflowId } of world.temporal.workflow.list({ query })) found.push(workflowId)
  return found
}
