import proto from '@temporalio/proto'
import type { Fault } from '../../starter/temporal/findings/finding.ts'
import {
  consolidateNowSignal,
  forceFinishSignal,
  forceFinishUpdate,
  holdUpdate,
  pauseUpdate,
  pokeSignal,
  releaseSignal,
  releaseUpdate,
  resumeSignal,
  resumeUpdate,
  retryNowSignal,
  retryNowUpdate,
} from '../../workflows/messages.ts'
import { searchAttributes } from '../../workflows/search-attributes.ts'
import { resetTo, stepsOf } from '../faults/reset.ts'
import { manyUnreadablePayloads, UnreadableMessages } from '../faults/unreadable-payloads.ts'
import { type Act, type Done, idOf, loops, type Stage, scheduleId } from './stage.ts'

/** That the watchdog finds one of these faults. */
const finds =
  (stage: Stage, ...faults: readonly Fault[]) =>
  async () => {
    const found = await Promise.all(faults.map((fault) => stage.found(fault)))
    return found.some((count) => count > 0)
  }

const { BATCH_OPERATION_STATE_COMPLETED } = proto.temporal.api.enums.v1.BatchOperationState
type IndexedValueType = proto.temporal.api.enums.v1.IndexedValueType
const { INDEXED_VALUE_TYPE_INT, INDEXED_VALUE_TYPE_TEXT } = proto.temporal.api.enums.v1.IndexedValueType

/** More of a run than this is not tried. */
const mostSteps = 30

/** As the UI's list does it for all that it shows. Returns how many runs were ended. */
async function terminateAll({ world }: Stage): Promise<number> {
  const { workflowService, options } = world.temporal
  const batch = { namespace: options.namespace, jobId: crypto.randomUUID() }
  await workflowService.startBatchOperation({
    ...batch,
    visibilityQuery: "ExecutionStatus = 'Running'",
    reason: 'somebody pressed a button',
    terminationOperation: {},
  })
  return world.until('all are ended', async () => {
    const { state, completeOperationCount } = await workflowService.describeBatchOperation(batch)
    return state === BATCH_OPERATION_STATE_COMPLETED && Number(completeOperationCount)
  })
}

const answersToCancel = async (stage: Stage) =>
  (await stage.events('LifecycleCancelled')) + (await stage.events('CancellationRefused'))

async function cancel(stage: Stage, count: number): Promise<Done> {
  const before = await answersToCancel(stage)
  const claims = (await stage.kept()).slice(0, count)
  await Promise.all(claims.map((claim) => stage.world.temporal.workflow.getHandle(idOf(claim)).cancel()))
  return { times: count, isNamed: async () => (await answersToCancel(stage)) >= before + count }
}

/** Resets one run that matches a query to each of its steps, one after the other. Returns to how many. */
async function resetEach({ world }: Stage, query: string): Promise<number> {
  const run = await world.until(`there is a run to reset: ${query}`, async () => {
    for await (const found of world.temporal.workflow.list({ query, pageSize: 1 })) return found
    return undefined
  })
  const steps = (await stepsOf(world.temporal, run.workflowId, run.runId)).slice(0, mostSteps)
  for (const step of steps) await resetTo(world.temporal, run, step)
  return steps.length
}

const resets: readonly Act[] = Object.entries({
  'a lifecycle at rest': "WorkflowType = 'nodeClaimLifecycle' AND ExecutionStatus = 'Running' AND NodePool = 'general'",
  'a run of a lifecycle that was terminated':
    "WorkflowType = 'nodeClaimLifecycle' AND ExecutionStatus = 'Terminated' AND NodePool = 'general'",
  'a lifecycle whose node is gone':
    "WorkflowType = 'nodeClaimLifecycle' AND ExecutionStatus = 'Completed' AND NodePool = 'probes'",
  'a command that is done': "WorkflowType = 'disruptionCommand' AND ExecutionStatus = 'Completed'",
  'the loop of provisioning': "WorkflowType = 'provisioningLoop' AND ExecutionStatus = 'Running'",
  'the loop of disruption': "WorkflowType = 'disruptionLoop' AND ExecutionStatus = 'Running'",
}).map(([what, query]) => ({
  what: `reset ${what} to each step`,
  act: async (stage) => ({ times: await resetEach(stage, query) }),
}))

const sweep: Act = {
  what: 'reset maintenance to each step',
  act: async (stage) => {
    await stage.world.maintain()
    return { times: await resetEach(stage, "WorkflowType = 'maintenance' AND ExecutionStatus = 'Completed'") }
  },
}

const removeAttributes = ({ world }: Stage, names: readonly string[]) =>
  world.temporal.connection.operatorService.removeSearchAttributes({
    namespace: world.temporal.options.namespace,
    searchAttributes: [...names],
  })

async function retype(stage: Stage, name: string, type: IndexedValueType): Promise<Done> {
  const { temporal } = stage.world
  await removeAttributes(stage, [name])
  await temporal.connection.operatorService.addSearchAttributes({
    namespace: temporal.options.namespace,
    searchAttributes: { [name]: type },
  })
  return { times: 1, isNamed: finds(stage, 'search attribute of another type') }
}

const names = Object.values(searchAttributes).map(({ name }) => name)

const attributes: readonly Act[] = [
  ...names.map((name) => ({
    what: `remove search attribute ${name}`,
    act: async (stage: Stage) => {
      await removeAttributes(stage, [name])
      return { times: 1, isNamed: finds(stage, 'search attribute missing') }
    },
  })),
  ...names.flatMap((name) =>
    Object.entries({ Text: INDEXED_VALUE_TYPE_TEXT, Int: INDEXED_VALUE_TYPE_INT }).map(([type, value]) => ({
      what: `make search attribute ${name} again as ${type}`,
      act: (stage: Stage) => retype(stage, name, value),
      undo: (stage: Stage) => removeAttributes(stage, [name]),
    })),
  ),
]

const loopMessages = { signals: [resumeSignal, consolidateNowSignal], updates: [pauseUpdate, resumeUpdate] }
const lifecycleMessages = {
  signals: [pokeSignal, releaseSignal, retryNowSignal, forceFinishSignal],
  updates: [holdUpdate, releaseUpdate, retryNowUpdate, forceFinishUpdate],
}

/** Errors: an update was not refused for what it holds, or a query not answered. */
async function sendUnreadable(stage: Stage): Promise<Done> {
  const messenger = new UnreadableMessages(stage.world)
  const [claim] = await stage.kept()
  if (claim === undefined) throw new Error('there is no NodeClaim')
  const targets = [{ id: idOf(claim), ...lifecycleMessages }, ...loops.map((id) => ({ id, ...loopMessages }))]
  let count = 0
  for (const payload of Object.values(manyUnreadablePayloads))
    for (const { id, signals, updates } of targets) {
      for (const signal of signals) await messenger.signal(id, signal, payload)
      for (const update of updates) {
        const answer = await messenger.update(id, update, payload)
        if (!/the payload cannot be read/.test(String(answer)))
          throw new Error(`${id} ${update.name}: ${String(answer)}`)
      }
      await messenger.query(id, payload)
      count += signals.length + updates.length + 1
    }
  return { times: count }
}

/** In their order: what was ended first can be reset later. */
export const acts: readonly Act[] = [
  {
    what: 'terminate all workflows that run',
    act: async (stage) => ({
      times: await terminateAll(stage),
      isNamed: finds(stage, 'lifecycle missing', 'loop not running'),
    }),
  },
  { what: 'cancel one lifecycle', act: (stage) => cancel(stage, 1), isShown: true, mayTake: 1 },
  { what: 'cancel 50 lifecycles', act: (stage) => cancel(stage, 50), isShown: true, mayTake: 3 },
  ...resets,
  sweep,
  {
    what: 'delete the Schedule',
    act: async (stage) => {
      await stage.world.temporal.schedule.getHandle(scheduleId).delete()
      return { times: 1, isNamed: finds(stage, 'schedule missing') }
    },
  },
  {
    what: 'pause the Schedule',
    act: async (stage) => {
      await stage.world.temporal.schedule.getHandle(scheduleId).pause('bob looks into drift')
      return { times: 1, isNamed: finds(stage, 'schedule paused') }
    },
    undo: ({ world }) => world.temporal.schedule.getHandle(scheduleId).unpause('done'),
  },
  ...attributes,
  { what: 'send 20 payloads that cannot be read, as signal, update and query', act: sendUnreadable },
  {
    what: 'terminate the loops while visibility is away',
    act: async (stage) => {
      stage.proxy.denied = new Set(['ListWorkflowExecutions', 'CountWorkflowExecutions'])
      for (const id of loops) await stage.world.temporal.workflow.getHandle(id).terminate('somebody pressed a button')
      return { times: loops.length, isNamed: finds(stage, 'cannot be read', 'not allowed') }
    },
    undo: async ({ world, proxy }) => {
      const run = (id: string) => world.temporal.workflow.getHandle(id).describe()
      await world.until('the loops run again', async () =>
        (await Promise.all(loops.map(run))).every(({ status }) => status.name === 'RUNNING'),
      )
      proxy.denied = new Set()
    },
  },
]
