import { BufferRoom } from '../../activities/capacity-buffers/buffer-room.ts'
import type { DisruptDeps } from '../../activities/disruption/disrupt.ts'
import type { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import { claimNode } from '../../activities/kubernetes/lifecycle/claim-nodes.ts'
import { Findings } from '../../activities/provisioning/findings/findings.ts'
import { PlanningMetrics } from '../../activities/provisioning/metrics.ts'
import type { NextProvisioningDeps } from '../../activities/provisioning/next-provisioning.ts'
import { NodeRefusals } from '../../activities/provisioning/node-refusals/node-refusals.ts'
import { Nominations } from '../../activities/provisioning/nominations.ts'
import { RefusedClaims } from '../../activities/provisioning/refused-claims.ts'
import type { Candidate } from '../../core/disruption/candidates.ts'
import type { CommandRepair } from '../../core/disruption/command.ts'
import type { Proposed, Validation } from '../../core/disruption/validate.ts'
import type { NodeClaim, Pod } from '../../core/objects.ts'
import { isReschedulable } from '../../core/pods/pod-rules.ts'
import { requirements } from '../../core/requirements/requirements.ts'
import { parseResources } from '../../core/resources.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import type { FakeCluster } from './cluster.ts'
import { kubernetesDeps } from './deps.ts'

/** A claim of the pool `default` that a plan wants, for these pods. */
export function plannedClaim(change: Partial<PlannedNodeClaim> = {}): PlannedNodeClaim {
  const wanted = [{ key: 'node.kubernetes.io/instance-type', operator: 'In' as const, values: ['Standard_D4s_v5'] }]
  return {
    nodePool: 'default',
    requirements: wanted,
    wanted: requirements(wanted),
    labels: { 'karpenter.sh/nodepool': 'default' },
    instanceTypes: ['Standard_D4s_v5'],
    requests: parseResources({ cpu: '1', memory: '1Gi', pods: '3' }),
    pods: [],
    price: 0.1,
    ...change,
  }
}

/** What a look finds of a proposal; undefined: that it holds as it was proposed. */
type Look = (proposed: Proposed) => Validation | undefined

/** What planning activities work with, over a cluster in memory. Whether a proposal holds is what `look` says. */
export async function planningDeps(cluster: FakeCluster, look: Look = () => undefined) {
  const known = kubernetesDeps(cluster)
  const { deps: kubernetes, registry } = known
  const { cache, now } = kubernetes
  await cache.catchUp(cache.unsynced)
  /** Names of the claims whose lifecycles were started, and ids of commands that run. */
  const lifecycles = { started: [] as string[], running: new Set<string>() }
  const plan = { replacements: [] as PlannedNodeClaim[], looks: 0, repair: undefined as CommandRepair | undefined }
  const holds = (proposed: Proposed): Validation => ({
    kind: 'valid',
    command: {
      method: proposed.method,
      decision: proposed.decision,
      candidates: proposed.candidates.flatMap((uid) => candidateOf(kubernetes.cache, uid)),
      replacements: plan.replacements,
      savings: 0.25,
      ...(plan.repair && { repair: plan.repair }),
    },
  })
  const deps = {
    ...kubernetes,
    lifecycles: {
      start: async (claim: NodeClaim) => void lifecycles.started.push(claim.metadata.name),
      hasStarted: () => false,
    },
    commands: {
      isRunning: async (id: string) => lifecycles.running.has(id),
      listed: async (): Promise<ReadonlySet<string>> => lifecycles.running,
    },
    nominations: new Nominations(10_000),
    refusedClaims: new RefusedClaims(),
    nodeRefusals: new NodeRefusals(registry),
    unavailable: { marks: new Map(), onCleared: () => () => {} },
    heavyPods: { isWaiting: () => false },
    quarantine: {
      holds: () => false,
      refresh: async () => {},
      report: () => {},
      crashed: async () => {},
      trial: (pods: readonly Pod[]) => pods,
    },
    metrics: new PlanningMetrics({ cache, now }, registry),
    findings: new Findings(now, registry),
    buffers: new BufferRoom(kubernetes),
    catalogue: { instanceTypesFor: () => [] },
    scheduling: { preferencePolicy: 'Respect', minValuesPolicy: 'Strict', reservedCapacity: true, defaultSpread: [] },
    evaluator: {
      validateTogether: async (_: unknown, proposals: readonly Proposed[]) => {
        plan.looks += 1
        return proposals.map((proposed) => look(proposed) ?? holds(proposed))
      },
    },
    spotToSpotConsolidation: false,
    staticCapacity: true,
    batchIdleMs: 1000,
    batchMaxMs: 10_000,
  } as unknown as DisruptDeps & NextProvisioningDeps
  return { ...known, deps, lifecycles, plan }
}

/** A node that may be disrupted, as the cache has it; none when it is gone. */
function candidateOf(cache: ClusterCache, uid: string): readonly Candidate[] {
  const nodeClaim = [...cache.nodeClaims.values()].find(({ metadata }) => metadata.uid === uid)
  const node = nodeClaim && claimNode({ cache }, nodeClaim)
  const nodePool = cache.nodePools.get(nodeClaim?.metadata.labels['karpenter.sh/nodepool'] ?? '')
  if (nodeClaim === undefined || node === undefined || nodePool === undefined) return []
  const pods = cache.pods.by('byNode', node.metadata.name)
  const reschedulable = pods.filter(isReschedulable)
  return [{ nodeClaim, node, nodePool, pods, reschedulable, instanceType: undefined, price: 0.2, disruptionCost: 1 }]
}
