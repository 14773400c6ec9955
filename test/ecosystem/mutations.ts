// Brings about the conditions of alerts, one after the other, and waits until each alert fires and, once its cause is gone, ends.
import { deployment, nodePool } from '../applied-objects.ts'
import { type LivingCluster, limitedPool } from './life.ts'
import type { Prometheus } from './prometheus.ts'
import type { Recorder } from './report.ts'

interface Mutation {
  readonly alert: string
  readonly what: string
  readonly bring: (cluster: LivingCluster) => Promise<unknown>
  /** Unset where its cause does not go within the test. */
  readonly undo?: (cluster: LivingCluster) => Promise<unknown>
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
    alert: 'JoinerPodsPending',
    what: 'a pod selects a label that no node has',
    bring: ({ world }) => world.apply(homeless),
    undo: ({ world }) => world.operator.kubectl(['delete', 'deployment', 'homeless']),
  },
  {
    alert: 'JoinerNodePoolAtLimit',
    what: 'a NodePool has as many nodes as it may',
    bring: async ({ world }) => {
      await world.apply(limitedPool({ nodes: '1' }))
      await world.scale('inflate', 1)
      await world.untilRunning(1)
    },
    undo: ({ world }) => world.apply(limitedPool({ nodes: '10' })),
  },
  {
    alert: 'JoinerNodePoolWithoutOfferings',
    what: 'Azure refuses the only size of a NodePool',
    bring: async ({ world }) => {
      await world.fault({ kind: 'failSync', code: 'SkuNotAvailable', count: 20 })
      await world.apply(single, hungry)
    },
    undo: ({ world }) => world.operator.kubectl(['delete', 'deployment/hungry', 'nodepool/single']),
  },
  {
    alert: 'JoinerReplicaDown',
    what: 'the planner is killed',
    bring: ({ world }) => world.crash('planner'),
  },
  {
    alert: 'JoinerRoleMissing',
    what: 'the planner stays away',
    bring: () => Promise.resolve(),
    undo: async ({ start }) => start('planner'),
  },
  {
    alert: 'JoinerTemporalUnreachable',
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
  for (const { alert, what, bring, undo } of mutations) {
    say(`${alert}: ${what}`)
    const fires = async () => (await prometheus.firing(alert)).length > 0
    const before = await fires()
    await bring(cluster)
    const startedAtMs = Date.now()
    const outcome = await waitFor(fires)
      .then(
        async (ms) => `fires after ${seconds(ms)}${await ends(undo === undefined ? undefined : () => undo(cluster))}`,
      )
      .catch((error: unknown) => `does not fire: ${String(error)}`)
    async function ends(undoing: (() => Promise<unknown>) | undefined): Promise<string> {
      if (undoing === undefined) return ''
      await undoing()
      return waitFor(async () => !(await fires())).then(
        (ms) => `, ends ${seconds(ms)} after its cause`,
        () => ', and DOES NOT END',
      )
    }
    say(`${alert} ${outcome} (${seconds(Date.now() - startedAtMs)})`)
    const isOk = !before && outcome.startsWith('fires') && !outcome.includes('DOES NOT')
    record({
      part: 'mutations',
      what: `${alert}: ${what}`,
      outcome: before ? `fired before; ${outcome}` : outcome,
      isOk,
    })
  }
}

const seconds = (ms: number) => `${Math.round(ms / 1000)} s`
const patienceMs = 150_000

/** Waits until something is so. Returns how long it took. Errors: it took too long. */
async function waitFor(isSo: () => Promise<boolean>): Promise<number> {
  const startedAtMs = Date.now()
  while (!(await isSo())) {
    if (Date.now() - startedAtMs > patienceMs) throw new Error(`not within ${seconds(patienceMs)}`)
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  return Date.now() - startedAtMs
}
