import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { drain } from '../../activities/kubernetes/draining/drain.ts'
import { type DrainReported, nothingReported } from '../../core/node-claim/drain-waits.ts'
import { FakeCluster } from './cluster.ts'
import { kubernetesDeps } from './deps.ts'
import { condition, goingClaim, nodeJson } from './objects.ts'

/** What a lifecycle knows that was reported so often that it hears of nothing for 15 minutes. */
export const deaf: DrainReported = { ...nothingReported, reports: 100, vmLooks: 100 }

export const ref = { name: 'a', uid: 'uid-a' }

export const criticalPod = { priorityClassName: 'system-cluster-critical' }

export const guarded = { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }

/** A claim whose pods have all gone by then, so many seconds from its deletion. */
export const graced = (seconds: number) => goingClaim('a', { spec: { terminationGracePeriod: `${seconds}s` } })

/** Tainted long ago: no pod binds late. */
export const tainted = { conditions: [condition('Launched'), condition('Drained', 'Unknown', -60)] }

export interface Given {
  readonly claim?: Json
  readonly nodes?: readonly Json[]
  readonly pods?: readonly Json[]
  readonly budgets?: readonly Json[]
  readonly attachments?: readonly Json[]
  readonly reported?: DrainReported | undefined
}

export function world({
  claim = goingClaim('a'),
  nodes = [nodeJson('a')],
  pods = [],
  budgets = [],
  attachments = [],
}: Given) {
  const cluster = new FakeCluster()
  cluster.put('nodeclaims', claim)
  for (const node of nodes) cluster.put('nodes', node)
  for (const pod of pods) cluster.put('pods', pod)
  for (const budget of budgets) cluster.put('poddisruptionbudgets', budget)
  for (const attachment of attachments) cluster.put('volumeattachments', attachment)
  const { deps, reported, registry, logged } = kubernetesDeps(cluster)
  const stop = new AbortController()
  return {
    cluster,
    deps,
    reported,
    registry,
    logged,
    stop,
    drain: (knows = deaf) => drain(deps, { claim: ref, reported: knows }, stop.signal),
    conditions: () => conditionsOf(cluster),
    taints: (node = 'aks-a') => (cluster.object('nodes', node)?.spec.taints ?? []).map(({ key }) => key),
  }
}

/** Conditions of the claim about its drain, as `TYPE=STATUS`. */
function conditionsOf(cluster: FakeCluster): readonly string[] {
  return (cluster.object('nodeclaims', 'a')?.status.conditions ?? [])
    .filter(({ type }) => ['Drained', 'VolumesDetached'].includes(type))
    .map(({ type, status: is }) => `${type}=${is}`)
}

export const metadataOf = (cluster: FakeCluster) => cluster.object('nodeclaims', 'a')?.metadata

/** A drain by another process. */
export const drainAgain = (deps: Parameters<typeof drain>[0]) =>
  drain(deps, { claim: ref, reported: deaf }, new AbortController().signal)
