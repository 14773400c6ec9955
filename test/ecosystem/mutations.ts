// Brings about the conditions of alerts, one after the other, and waits until each alert fires and, once its cause is gone, ends.
import { deployment, nodePool } from '../applied-objects.ts'
import { type LivingCluster, limitedPool } from './life.ts'
import type { Prometheus } from './prometheus.ts'
import type { Recorder } from './report.ts'

interface Mutation {
  readonly alerts: readonly string[]
  readonly what: string
  readonly bring: (cluster: LivingCluster) => Promise<unknown>
  readonly undo: (cluster: LivingCluster) => Promise<unknown>
}

/** The only size of the NodePool `single`, and its zone: a single refusal leaves it with nothing. */
const single = nodePool({
  name: 'single',
  requirements: [
    { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D4s_v5'] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
  ],
})
const hungry = deployment({ name: 'hungry', replicas: 1, nodeSelector: { 'karpenter.sh/nodepool': 'single' } })
const homeless = deployment({ name: 'homeless', replicas: 1, nodeSelector: { 'example.com/nowhere': 'true' } })

const mutations: readonly Mutation[] = [
  {
    alerts: ['JoinerPodsPending'],
    what: 'a pod selects a label that no node has',
    bring: ({ world }) => world.apply(homeless),
    undo: ({ world }) => world.operator.kubectl(['delete', 'deployment', 'homeless']),
  },
  {
    alerts: ['JoinerNodePoolAtLimit'],
    what: 'a NodePool has as many nodes as it may',
    bring: async ({ world }) => {
      await world.apply(limitedPool({ nodes: '1' }))
      await world.scale('inflate', 1)
      await world.untilRunning(1)
    },
    undo: ({ world }) => world.apply(limitedPool({ nodes: '10' })),
  },
  {
    alerts: ['JoinerNodePoolWithoutOfferings'],
    what: 'Azure refuses the only size of a NodePool',
    bring: async ({ world }) => {
      await world.fault({ kind: 'failSync', code: 'SkuNotAvailable', count: 20 })
      await world.apply(single, hungry)
    },
    undo: ({ world }) => world.operator.kubectl(['delete', 'deployment/hungry', 'nodepool/single']),
  },
  {
    alerts: ['JoinerReplicaDown', 'JoinerRoleMissing'],
    what: 'the planner is killed and stays away',
    bring: ({ world }) => world.crash('planner'),
    undo: async ({ start }) => start('planner'),
  },
  {
    alerts: ['JoinerTemporalUnreachable'],
    what: 'Temporal is stopped',
    bring: async ({ world }) => {
      stoppedTemporal = await world.cluster.supervisor.stop('temporal')
    },
    undo: async ({ world }) => {
      if (stoppedTemporal !== undefined) world.cluster.supervisor.start(stoppedTemporal)
    },
  },
]

let stoppedTemporal: Awaited<ReturnType<LivingCluster['world']['cluster']['supervisor']['stop']>>

/** Runs all mutations. The rules count seconds in place of minutes. */
export async function mutate(cluster: LivingCluster, prometheus: Prometheus, { say, record }: Recorder): Promise<void> {
  for (const mutation of mutations) {
    const what = `${mutation.alerts.join(' and ')}: ${mutation.what}`
    say(what)
    const outcome = await tried(mutation, cluster, prometheus).then(
      (text) => ({ outcome: text, isOk: true }),
      (error: unknown) => ({ outcome: String(error).slice(0, 300), isOk: false }),
    )
    say(`  ${outcome.outcome}`)
    record({ part: 'mutations', what, ...outcome })
  }
}

/** Brings about and undoes one condition. Returns what happened. Errors: an alert fired before, does not fire, or does not end. */
async function tried(
  { alerts, bring, undo }: Mutation,
  cluster: LivingCluster,
  prometheus: Prometheus,
): Promise<string> {
  const firing = async () => {
    const states = await Promise.all(alerts.map(async (alert) => (await prometheus.firing(alert)).length > 0))
    return states.filter(Boolean).length
  }
  if ((await firing()) > 0) throw new Error('fires before its condition')
  await bring(cluster)
  const fired = await waitFor('it fires', async () => (await firing()) === alerts.length)
  await undo(cluster)
  const ended = await waitFor('it ends', async () => (await firing()) === 0)
  return `fires after ${seconds(fired)}, ends ${seconds(ended)} after its cause`
}

const seconds = (ms: number) => `${Math.round(ms / 1000)} s`
const patienceMs = 150_000

/** Waits until something is so. Returns how long it took. Errors: it took too long. */
async function waitFor(what: string, isSo: () => Promise<boolean>): Promise<number> {
  const startedAtMs = Date.now()
  while (!(await isSo())) {
    if (Date.now() - startedAtMs > patienceMs) throw new Error(`not within ${seconds(patienceMs)}: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  return Date.now() - startedAtMs
}
