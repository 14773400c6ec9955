import type { WorkerOptions } from '@temporalio/worker'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createAzureActivities, createMaintenanceActivities } from '../activities/azure/activities.ts'
import { createDisruptionActivities } from '../activities/disruption/activities.ts'
import { createKubernetesActivities } from '../activities/kubernetes/activities.ts'
import { ReconcileMetrics } from '../activities/telemetry/reconcile-metrics.ts'
import { keptVersions } from '../test/bundles/kept.ts'
import type { ProcessDeps } from './dependencies.ts'
import { createTaskWorkers } from './task-workers.ts'

interface History {
  readonly events: readonly {
    readonly activityTaskScheduledEventAttributes?: {
      readonly activityType: { readonly name: string }
      readonly taskQueue: { readonly name: string }
    }
  }[]
}

const none = { registry: new Registry() } as ProcessDeps
const offered: Readonly<Record<string, object>> = {
  core: createKubernetesActivities(none),
  wait: createKubernetesActivities(none),
  azure: createAzureActivities(none),
  maintenance: createMaintenanceActivities(undefined as never),
  plan: createDisruptionActivities(none),
}

/** What a history asked for that no worker offers on that queue any more. */
function missing(text: string): readonly string[] {
  return (JSON.parse(text) as History).events.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
    if (scheduled === undefined) return []
    const [, role = ''] = scheduled.taskQueue.name.split('-')
    const { name } = scheduled.activityType
    return name in (offered[role] ?? {}) ? [] : [`${name} on ${role}`]
  })
}

test.each(await keptVersions())(
  'lifecycles and loops of version $version find every activity that they ask for',
  (kept) => {
    expect(kept.histories.length).toBeGreaterThan(5)
    expect(kept.histories.flatMap(({ text }) => missing(text))).toEqual([])
  },
)

test('an activity that is gone is missed', async () => {
  const [kept] = await keptVersions()
  const lifecycle = kept?.histories.find(({ name }) => name === 'nodeClaimLifecycle.plain')?.text ?? ''
  expect(missing(lifecycle.replaceAll('"name":"drain"', '"name":"drainSlowly"'))).toEqual(['drainSlowly on wait'])
})

test('while a process is cut off from the API server it takes no step, but for those whose attempts are counted', async () => {
  const workers: WorkerOptions[] = []
  const throwIfUntold = () => {
    throw new Error('cut off')
  }
  await createTaskWorkers({
    link: { createWorker: async (options) => workers.push(options) as never },
    namespace: 'default',
    settings: {},
    roles: new Set(['core', 'azure']),
    deps: { ...none, cluster: 'a', cache: { throwIfUntold } as never },
    gone: { identity: 'a', interceptor: () => ({}) },
    workflowBundle: { code: '' },
    version: undefined,
    metrics: new ReconcileMetrics(none.registry),
  })
  expect(workers.map(({ taskQueue }) => taskQueue)).toEqual(['joiner-core-a', 'joiner-wait-a', 'joiner-azure-a'])
  for (const { interceptors } of workers) {
    const step = (info: object) =>
      interceptors?.activity
        ?.at(-1)?.({ info } as never)
        .inbound?.execute?.({ args: [], headers: {} }, async () => 'done')
    await expect(step({})).rejects.toThrow('cut off')
    expect(await step({ retryPolicy: { maximumAttempts: 35 } })).toBe('done')
  }
})
