import { AttributedStarts } from '../../activities/attributed-starts.ts'
import { LifecycleStarter } from '../../activities/provisioning/lifecycle-starter.ts'
import { lifecycleId } from '../../core/task-queues.ts'
import { clusterName } from '../../deploy/local/cluster.ts'
import { FakeCluster } from '../fakes/cluster.ts'
import { claimJson, condition } from '../fakes/objects.ts'
import { ranCommand } from '../fast/world/commands.ts'
import { fakeTemporal } from './fake-temporal.ts'

/** States of Temporal that commands have to say something true of. */
export const temporalStates = ['away', 'empty', 'an attribute missing', 'visibility down', 'a version apart'] as const
export type TemporalState = (typeof temporalStates)[number]

const uidOf = (name: string) => name.repeat(8)
/** The id of the lifecycle of one of the NodeClaims. */
export const lifecycleOf = (name: string) => lifecycleId(clusterName, { name, uid: uidOf(name) })

/** The pod of the bundled Temporal, whose volume is in a zone without nodes since six minutes before `now`. */
export function waitingTemporal(now: number) {
  const message = '0/3 nodes are available: 3 node(s) had volume node affinity conflict.'
  const lastTransitionTime = new Date(now - 360_000).toISOString()
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'joiner-temporal-0', namespace: 'joiner' },
    spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data-joiner-temporal-0' } }] },
    status: { conditions: [{ type: 'PodScheduled', status: 'False', lastTransitionTime, message }] },
  }
}

/**
 * Three NodeClaims with their lifecycles, of which one launches, and a process of Joiner that leads and has no workers: what commands read of a cluster
 * and of Temporal in a state. Time is real.
 */
export async function installedWorld(state?: TemporalState, more: Readonly<Record<string, string>> = {}) {
  const temporal = fakeTemporal()
  const cluster = new FakeCluster()
  for (const name of ['a', 'b']) cluster.put('nodeclaims', claimJson(name, { metadata: { uid: uidOf(name) } }))
  const metadata = { uid: uidOf('c') }
  cluster.put('nodeclaims', claimJson('c', { metadata, status: { conditions: [condition('Launched', 'Unknown')] } }))
  const renewTime = new Date().toISOString()
  for (const name of ['joiner-bridge', 'joiner-planner'])
    cluster.put('leases', {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace: 'joiner' },
      spec: { holderIdentity: 'joiner-1', renewTime },
    })
  await temporal.bootstrap(clusterName)
  const lifecycles = new LifecycleStarter(temporal.client, clusterName, new AttributedStarts(Date.now))
  for (const claim of cluster.cacheOf().nodeClaims.values()) await lifecycles.start(claim)
  if (state === 'empty') temporal.forget()
  if (state === 'an attribute missing') temporal.state.attributes.delete('NodePhase')
  temporal.state.isVisibilityDown = state === 'visibility down'
  temporal.state.isOld = state === 'a version apart'
  // Nothing listens there.
  const env = state === 'away' ? { TEMPORAL_ADDRESS: '127.0.0.1:1' } : {}
  return {
    ...temporal,
    cluster,
    joiner: (...args: readonly string[]) =>
      ranCommand({ kubernetes: cluster.client, temporal: temporal.connection }, { ...env, ...more }, args),
  }
}
