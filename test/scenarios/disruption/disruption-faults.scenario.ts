import { commandStatusQuery, loopStatusQuery, pauseSignal, resumeSignal } from '../../../workflows/messages.ts'
import { deployment, nodePool } from '../../applied-objects.ts'
import { traceKeys, type Write } from '../../command-writes.ts'
import type { Hold } from '../../faults/gate.ts'
import { FaultyWorld } from '../../faulty-world.ts'
import type { World } from '../../world.ts'
import { dated } from '../dated.ts'
import { afterAll, afterEach, beforeAll, expect, test } from '../scenario.ts'

const doNotDisrupt = 'karpenter.sh/do-not-disrupt'
const revision = 'revision'
const { taint, condition, stamp, replacementFor } = traceKeys

interface Step {
  readonly at: string
  readonly held: readonly Write[]
  /** What of it is carried out, and its answer lost. */
  readonly done?: Write
  /** What stands when Joiner dies there. */
  readonly left: readonly string[]
}

/** Each step of a commit. */
const commits: readonly Step[] = [
  { at: 'after the condition, before the taint', held: ['taint', 'condition'], done: 'condition', left: [condition] },
  { at: 'after the taint, before the condition', held: ['taint', 'condition'], done: 'taint', left: [taint] },
  { at: 'before the replacement is created', held: ['create'], left: [condition, taint] },
  {
    at: 'after the replacement is created, before its lifecycle starts',
    held: ['create'],
    done: 'create',
    left: [condition, replacementFor, taint],
  },
  {
    at: 'after the lifecycle of the replacement has started, before the stamp',
    held: ['stamp'],
    left: [condition, replacementFor, taint],
  },
  {
    at: 'after the stamp, before the command starts',
    held: ['stamp'],
    done: 'stamp',
    left: [condition, stamp, replacementFor, taint],
  },
]

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
const others = {
  throttled: 'teak',
  temporal: 'umbra',
  late: 'viburnum',
  paused: 'willow',
  cancelled: 'yew',
  cancelledLate: 'zelkova',
}
const pools = [...commitPools, ...Object.keys(running), ...Object.keys(undone), plain, ...Object.values(others)]

let faulty: FaultyWorld
let world: World

beforeAll(async () => {
  faulty = await FaultyWorld.start()
  world = faulty.world
  await world.apply(
    ...pools.map((name) => nodePool({ name, consolidateAfter: '0s' })),
    ...pools.map((name) => deployment({ name, replicas: 1, nodeSelector: { 'karpenter.sh/nodepool': name } })),
  )
  await faulty.untilWhole(pools, 1, 90_000)
})

afterAll(() => faulty?.stop())

afterEach(() => faulty.reset())

/** Makes the nodes of pools drift. */
async function renew(...names: readonly string[]): Promise<void> {
  const spec = { template: { metadata: { labels: { [revision]: '2' } } } }
  await Promise.all(
    names.map((pool) => world.operator.api('PATCH', `/apis/karpenter.sh/v1/nodepools/${pool}`, { spec })),
  )
}

const keep = (pods: readonly string[]) => world.operator.kubectl(['annotate', 'pod', ...pods, `${doNotDisrupt}=true`])
const free = (pods: readonly string[]) => world.operator.kubectl(['annotate', 'pod', ...pods, `${doNotDisrupt}-`])

/** Writes of processes that died before they reached the API server. */
const unsent: { readonly pool: string; readonly hold: Hold }[] = []

test.each(commits.map((commit, at) => ({ ...commit, pool: commitPools[at] ?? '' })))(
  'kill -9 $at',
  async ({ pool, held, done: doneWrite, left }) => {
    const old = (await faulty.look()).old(pool)
    const holds = held.map((write) => ({ write, hold: faulty.hold(old, write) }))
    const done = holds.find(({ write }) => write === doneWrite)
    await renew(pool)
    await faulty.untilReached(...holds.map(({ hold }) => hold))
    await done?.hold.carryOut()
    await world.crash()
    expect((await faulty.look()).traces(pool)).toEqual([...left].sort())
    if (left.includes(stamp)) {
      // Nothing was missing but the command itself, so it goes on.
      await faulty.restart()
      const seen = await faulty.untilWhole([pool])
      expect(seen.labels(pool)[0]?.[revision]).toBe('2')
      return
    }
    if (holds.length === 1 && done === undefined) unsent.push({ pool, hold: holds[0]?.hold as Hold })
    // Lest the next attempt begins before what this one left has been looked at.
    await keep(old.pods)
    await faulty.restart()
    expect((await faulty.untilWhole([pool])).old(pool)).toEqual(old)
    if (holds.length > 1 || done !== undefined) await free(old.pods)
  },
)

test('what dead processes had sent arrives long after their commits were undone: a replacement, and a stamp, which is refused', async () => {
  const names = unsent.map(({ pool }) => pool)
  const before = await faulty.look()
  const [replacement, stamped] = unsent.map(({ hold }) => hold)
  await replacement?.carryOut()
  // The NodeClaim has changed since, and might be another command's.
  await expect(stamped?.carryOut(1000)).rejects.toThrow('after 1 optimistic locks were lost')
  const late = await faulty.look()
  expect(names.map((pool) => late.traces(pool))).toEqual([[replacementFor], []])
  const after = await faulty.untilWhole(names)
  expect(names.map((pool) => after.old(pool))).toEqual(names.map((pool) => before.old(pool)))
  await free(names.flatMap((pool) => after.old(pool).pods))
})

test('kill -9 while commands wait, before and after they delete their nodes, and before and after they let their replacements go', async () => {
  const seen = await faulty.look()
  const steps = Object.entries(running).map(([pool, step]) => ({ step, hold: faulty.hold(seen.old(pool), step.held) }))
  await renew(...Object.keys(running))
  await faulty.untilReached(...steps.map((each) => each.hold))
  for (const { step, hold: one } of steps) if ('done' in step) await one.carryOut()
  await faulty.restart()
  const after = await faulty.untilWhole(Object.keys(running))
  // None of these was undone: the replacements that were there already are in use.
  for (const pool of Object.keys(running)) {
    expect(after.old(pool).claim).not.toBe(seen.old(pool).claim)
    expect(after.labels(pool)[0]?.[revision]).toBe('2')
  }
})

test('do-not-disrupt on a pod while the replacement starts: undone, also with kill -9 at every step of the undo', async () => {
  const names = [plain, ...Object.keys(undone)]
  const before = await faulty.look()
  const olds = names.map((pool) => before.old(pool))
  const starting = olds.map((old) => faulty.hold(old, 'initialize'))
  await renew(...names)
  await faulty.untilReached(...starting)
  const pods = olds.flatMap((old) => old.pods)
  await keep(pods)
  const steps = Object.entries(undone).map(([pool, step]) => ({ step, hold: faulty.hold(before.old(pool), step.held) }))
  for (const one of starting) one.release()
  await faulty.untilReached(...steps.map((each) => each.hold))
  await faulty.untilWhole([plain])
  for (const { step, hold: one } of steps) if ('done' in step) await one.carryOut()
  await faulty.restart()
  const after = await faulty.untilWhole(names)
  expect(names.map((pool) => after.old(pool))).toEqual(olds)
  await free(pods)
})

test('the API server throttles in the middle of a commit', async () => {
  const pool = others.throttled
  const old = (await faulty.look()).old(pool)
  const [tainting, marking] = [faulty.hold(old, 'taint'), faulty.hold(old, 'condition')]
  await renew(pool)
  await faulty.untilReached(tainting, marking)
  await tainting.carryOut()
  const until = Date.now() + 10_000
  faulty.proxy.throttle(10_000)
  marking.release()
  tainting.release()
  await world.until('the API server is itself again', async () => Date.now() > until)
  expect(faulty.proxy.refused).toBeGreaterThan(3)
  await faulty.untilWhole([pool])
})

test('the Temporal server is restarted between commit and deletion', async () => {
  const pool = others.temporal
  const old = (await faulty.look()).old(pool)
  const starting = faulty.hold(old, 'initialize')
  await renew(pool)
  await faulty.untilReached(starting)
  await world.restartServer('temporal')
  starting.release()
  const isGone = async () => !(await faulty.look()).olds(pool).some(({ uid }) => uid === old.uid)
  await world.until('the old node is gone', isGone)
  await faulty.untilWhole([pool])
})

test('a replacement that never joins: undone when its time is over, and tried again', async () => {
  const pool = others.late
  const old = (await faulty.look()).old(pool)
  await world.fault({ kind: 'neverJoins' })
  await renew(pool)
  const waiting = await world.until('the command waits', async () => {
    const [id] = await commandsOf(pool)
    if (id === undefined) return undefined
    const { doing, replacements } = await world.temporal.workflow.getHandle(id).query(commandStatusQuery)
    return doing.startsWith('waiting until') && { id, replacement: replacements[0] ?? '' }
  })
  await world.until('its VM exists', async () =>
    (await world.azure()).virtualMachines.some(({ name }) => name === `aks-${waiting.replacement}`),
  )
  expect(await world.temporal.workflow.getHandle(waiting.id).result()).toEqual({
    outcome: 'undone',
    why: `not initialized in time: ${waiting.replacement}`,
    savings: 0,
  })
  expect((await faulty.untilWhole([pool])).old(pool)).toEqual(old)
})

test('a pause while a commit is under way: undone, and nothing happens until resumed', async () => {
  const pool = others.paused
  const old = (await faulty.look()).old(pool)
  const tainting = faulty.hold(old, 'taint')
  await renew(pool)
  await faulty.untilReached(tainting)
  await world.loop('disruption').signal(pauseSignal, { reason: 'audit' })
  await world.until(
    'the pause is in force',
    async () => (await world.loop('disruption').query(loopStatusQuery)).pause?.reason === 'audit',
  )
  tainting.release()
  await world.until('the loop rests', async () =>
    (await world.loop('disruption').query(loopStatusQuery)).doing.startsWith('paused'),
  )
  expect((await faulty.untilWhole([pool])).old(pool)).toEqual(old)
  await world.loop('disruption').signal(resumeSignal, dated())
})

test('a command that is cancelled in Temporal is undone; where its node goes already, the lifecycles finish it', async () => {
  const { cancelled, cancelledLate } = others
  const before = await faulty.look()
  const [waits, goes] = [before.old(cancelled), before.old(cancelledLate)]
  const [starting, removing] = [faulty.hold(waits, 'initialize'), faulty.hold(goes, 'remove')]
  await renew(cancelled, cancelledLate)
  await faulty.untilReached(starting, removing)
  // The pods keep the one node, and hold up the drain of the other.
  await keep([...waits.pods, ...goes.pods])
  removing.release()
  await world.until('the other node is about to go', async () =>
    (await world.list('nodeclaims')).some(
      ({ metadata }) => metadata.uid === goes.uid && metadata.deletionTimestamp !== undefined,
    ),
  )
  for (const pool of [cancelled, cancelledLate]) {
    const id = await world.until('its command is listed', async () => (await commandsOf(pool))[0])
    const command = world.temporal.workflow.getHandle(id)
    await command.cancel()
    await expect(command.result()).rejects.toThrow('cancelled')
    expect((await command.describe()).status.name).toBe('CANCELLED')
  }
  starting.release()
  expect((await faulty.untilWhole([cancelled])).old(cancelled)).toEqual(waits)
  await free([...waits.pods, ...goes.pods])
  const after = await faulty.untilWhole([cancelledLate])
  expect(after.labels(cancelledLate)[0]?.[revision]).toBe('2')
})

test('in the end all nodes are new, and nothing leaks', async () => {
  const isNew = async () => {
    const seen = await faulty.look()
    return pools.every((pool) => seen.labels(pool).every((labels) => labels[revision] === '2'))
  }
  await world.until('all nodes are new', isNew, 90_000)
  await faulty.untilWhole(pools)
  await world.until('no command runs', async () => (await commandsOf()).length === 0)
  for (const pool of pools) await world.scale(pool, 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.untilNothingLeft()
})

/** Ids of the commands that run. */
async function commandsOf(pool?: string): Promise<readonly string[]> {
  const query = `WorkflowType = 'disruptionCommand' AND ExecutionStatus = 'Running'${pool === undefined ? '' : ` AND NodePool = '${pool}'`}`
  const found: string[] = []
  for await (const { workflowId } of world.temporal.workflow.list({ query })) found.push(workflowId)
  return found
}
