// Workflows that say nothing of Joiner: each does one thing that Temporal promises, for the comparison of the simulated server with a real one.

import type { ActivityOptions } from '@temporalio/common'
import {
  ActivityCancellationType,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  executeChild,
  type ParentClosePolicy,
  patched,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  sleep,
  startChild,
  upsertMemo,
} from '@temporalio/workflow'
import type { Activities } from './activities.ts'

const nudge = defineSignal<[string?]>('nudge')

/** Calls an activity with options. Returns its result, or the failures it ended with. */
export async function call(name: keyof Activities, options: ActivityOptions, arg: unknown): Promise<unknown> {
  const activities = proxyActivities<Activities>({ retry: { maximumAttempts: 1 }, ...options })
  try {
    return await activities[name](arg as never)
  } catch (error) {
    return failuresOf(error)
  }
}

export async function callLocally(name: keyof Activities, options: object, arg: unknown): Promise<unknown> {
  const activities = proxyLocalActivities<Activities>({ retry: { maximumAttempts: 1 }, ...options })
  try {
    return await activities[name](arg as never)
  } catch (error) {
    return failuresOf(error)
  }
}

function failuresOf(error: unknown): readonly string[] {
  const texts: string[] = []
  for (let one = error; one instanceof Error; one = one.cause) texts.push(`${one.constructor.name}: ${one.message}`)
  return texts
}

/** Cancels an activity once a signal says so. Returns whether the workflow went on before the activity had ended. */
export async function cancelCall(cancellationType: ActivityCancellationType, name: keyof Activities): Promise<unknown> {
  let isNudged = false
  setHandler(nudge, () => {
    isNudged = true
  })
  const activities = proxyActivities<Activities>({
    startToCloseTimeout: '20s',
    heartbeatTimeout: '1s',
    cancellationType,
    retry: { maximumAttempts: 1 },
  })
  const scope = new CancellationScope()
  const outcome = scope.run(() => activities[name](undefined as never)).then(String, failuresOf)
  await condition(() => isNudged)
  scope.cancel()
  return outcome
}

/** Cancels a local activity in the task that runs it. */
export async function cancelLocalCall(cancellationType: ActivityCancellationType): Promise<unknown> {
  const { obey, nap } = proxyLocalActivities<Activities>({
    startToCloseTimeout: '5s',
    cancellationType,
    retry: { maximumAttempts: 1 },
  })
  const scope = new CancellationScope()
  const outcome = scope.run(() => obey()).then(String, failuresOf)
  await nap(300)
  scope.cancel()
  return outcome
}

/** Two activities for a worker that does one at a time. */
export async function callTwice(options: ActivityOptions): Promise<unknown> {
  const { nap } = proxyActivities<Activities>({ taskQueue: 'parity-narrow', retry: { maximumAttempts: 1 }, ...options })
  const outcomes = await Promise.all([1, 2].map(() => nap(2000).catch((error: unknown) => failuresOf(error).join())))
  return outcomes.sort()
}

export async function timers(): Promise<string> {
  const first = await condition(() => false, 300)
  const scope = new CancellationScope()
  const second = scope.run(() => sleep(60_000)).catch((error: unknown) => failuresOf(error).join())
  await sleep(100)
  scope.cancel()
  return `${first} ${String(await second)}`
}

/** A timer that is started and cancelled in one task leaves no event. */
export async function elidedTimer(): Promise<string> {
  const scope = new CancellationScope()
  const timer = scope.run(() => sleep(60_000)).catch(() => 'cancelled')
  scope.cancel()
  return String(await timer)
}

const seenSoFar = defineQuery<readonly string[]>('seen')

export async function collectSignals(count: number): Promise<readonly string[]> {
  const seen: string[] = []
  setHandler(seenSoFar, () => seen)
  setHandler(nudge, (text = '') => {
    seen.push(text)
  })
  await condition(() => seen.length >= count)
  return seen
}

export async function fails(): Promise<void> {
  throw ApplicationFailure.nonRetryable('the workflow fails', 'Bad')
}

export const change = defineUpdate<string, [string]>('change')

export async function updatable(): Promise<string> {
  let last = 'none'
  setHandler(
    change,
    async (text) => {
      if (text === 'fail') throw ApplicationFailure.nonRetryable('it failed')
      if (text === 'slow') await sleep(200)
      last = text
      return `changed to ${text}`
    },
    {
      validator: (text) => {
        if (text === 'refuse') throw new Error('it is refused')
      },
    },
  )
  await condition(() => last === 'end')
  return last
}

/** Continues as new after a signal, so that signals that came in the same moment are not lost. */
export async function chain(runs: number, seen: readonly string[]): Promise<readonly string[]> {
  const own = [...seen]
  setHandler(nudge, (text = '') => {
    own.push(text)
  })
  await condition(() => own.length > seen.length)
  if (runs > 1) await continueAsNew<typeof chain>(runs - 1, own)
  return own
}

/** Ends its run in a task that takes a while: what comes in between has to be seen first. */
export async function endsSlowly(how: 'returns' | 'continues', seen: readonly string[]): Promise<readonly string[]> {
  const own = [...seen]
  setHandler(nudge, (text = '') => {
    own.push(text)
  })
  if (seen.length > 0) return own
  await proxyLocalActivities<Activities>({ startToCloseTimeout: '5s' }).nap(1500)
  if (how === 'continues') await continueAsNew<typeof endsSlowly>(how, own)
  return own
}

/** Ends before its child does. */
export async function endsFirst(parentClosePolicy: ParentClosePolicy, id: string): Promise<string> {
  await startChild(blockedChild, { workflowId: `${id}/child`, parentClosePolicy, args: [] })
  return 'gone'
}

export async function parent(kind: 'completes' | 'fails' | 'exists', id: string): Promise<unknown> {
  const options = { workflowId: `${id}/child`, args: [kind === 'fails' ? 'fail' : 'x'] as [string] }
  if (kind !== 'exists') return executeChild(child, options).then(String, failuresOf)
  const first = await startChild(blockedChild, { workflowId: `${id}/child`, args: [] })
  const second = await startChild(blockedChild, { workflowId: `${id}/child`, args: [] }).then(
    () => 'started',
    failuresOf,
  )
  await first.signal(nudge)
  await first.result()
  return second
}

export async function child(text: string): Promise<string> {
  if (text === 'fail') throw ApplicationFailure.nonRetryable('the child fails', 'Bad')
  return `child of ${text}`
}

export async function blockedChild(): Promise<void> {
  let isNudged = false
  setHandler(nudge, () => {
    isNudged = true
  })
  await condition(() => isNudged)
}

export async function decorated(): Promise<string> {
  upsertMemo({ note: 'first' })
  await sleep(50)
  upsertMemo({ note: 'second' })
  return patched('a-change') ? 'new' : 'old'
}

export async function untilCancelled(): Promise<string> {
  try {
    await sleep(60_000)
    return 'slept'
  } catch (error) {
    await CancellationScope.nonCancellable(() => sleep(50))
    throw error
  }
}
