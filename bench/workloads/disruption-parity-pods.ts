import type { ParityNode } from './disruption-parity-nodes.ts'
import { batchTaint, zones } from './disruption-parity-pools.ts'
import type { Random } from './random.ts'
import {
  apartBy,
  capacityTypeKey,
  hostnameKey,
  isOneOf,
  type Labels,
  type ObjectJson,
  podJson,
  spreadOver,
  togetherBy,
  zoneKey,
} from './scenario.ts'

interface App {
  readonly labels: Labels
  readonly spec: Readonly<Record<string, unknown>>
  readonly owner: string
}

/** The pods of a cluster, bound and pending, those of its DaemonSet, and their budgets. */
export function parityWorkload(
  random: Random,
  nodes: readonly ParityNode[],
  hasDaemon: boolean,
): readonly ObjectJson[] {
  const apps = Array.from({ length: random.between(2, 8) }, (_, index) => newApp(random, index))
  const daemons = hasDaemon ? nodes.map((node) => daemonPod(node)) : []
  const emptyShare = random.pick([0, 0.1, 0.3, 0.6])
  const fullest = random.pick([30, 60, 95, 100])
  const bound = nodes.flatMap((node) =>
    random.chance(emptyShare) ? [] : podsOn(random, node, apps, random.between(fullest / 2, fullest) / 100),
  )
  const pending = Array.from({ length: random.chance(0.3) ? random.between(1, 4) : 0 }, (_, index) =>
    pendingPod(random, random.pick(apps), index),
  )
  return [...daemons, ...bound, ...pending, ...apps.flatMap((app) => budget(random, app))]
}

function newApp(random: Random, index: number): App {
  const labels = { app: `app-${index}` }
  const preferred = [{ weight: 10, preference: { matchExpressions: [isOneOf(zoneKey, random.pick(zones))] } }]
  const loosely = spreadOver(zoneKey, labels).topologySpreadConstraints.map((one) => ({
    ...one,
    whenUnsatisfiable: 'ScheduleAnyway',
  }))
  const term = { weight: 1, podAffinityTerm: { labelSelector: { matchLabels: labels }, topologyKey: hostnameKey } }
  const kinds: readonly Readonly<Record<string, unknown>>[] = [
    {},
    {},
    {},
    {},
    {},
    { nodeSelector: { [zoneKey]: random.pick(zones) } },
    { nodeSelector: { [capacityTypeKey]: random.pick(['spot', 'on-demand']) } },
    { nodeSelector: { team: `team-${random.below(2)}` } },
    { tolerations: [{ key: batchTaint.key, operator: 'Exists' }] },
    { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } } },
    { affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [term] } } },
    apartBy(hostnameKey, labels),
    spreadOver(hostnameKey, labels, random.between(1, 2)),
    spreadOver(zoneKey, labels, random.between(1, 2)),
    { topologySpreadConstraints: loosely },
    togetherBy(zoneKey, labels),
    { nodeSelector: { 'example.com/absent': 'here' } },
  ]
  const owner = random.pick(['ReplicaSet', 'ReplicaSet', 'ReplicaSet', 'StatefulSet', 'none'])
  return { labels, spec: random.pick(kinds), owner }
}

function podsOn(random: Random, node: ParityNode, apps: readonly App[], fill: number): readonly ObjectJson[] {
  const least = node.freeCpu * (1 - fill)
  const pods: ObjectJson[] = []
  while (node.freeCpu > least && pods.length < 12) {
    const cpu = random.between(20, 1500)
    const memory = random.between(16, 3000)
    if (cpu > node.freeCpu || memory > node.freeMemory) break
    node.freeCpu -= cpu
    node.freeMemory -= memory
    const app = random.pick(apps)
    const pod = podJson({
      name: `${app.labels['app']}-${node.name}-${pods.length}`,
      uid: random.uid(),
      labels: app.labels,
      requests: { cpu: `${cpu}m`, memory: `${memory}Mi` },
      spec: {
        ...app.spec,
        // A pod may have come before its service said what it says now; what taints forbid it may not.
        ...(node.isTainted ? { tolerations: [{ key: batchTaint.key, operator: 'Exists' }] } : {}),
        nodeName: node.name,
        ...(random.chance(0.3) ? { priority: random.between(-1000, 100_000_000) } : {}),
      },
    })
    pods.push(peculiar(random, settled(pod, app.owner)))
  }
  return pods
}

function settled(pod: ObjectJson, owner: string): ObjectJson {
  const references = [{ apiVersion: 'apps/v1', kind: owner, name: 'owner', uid: `${owner}-owner`, controller: true }]
  return {
    ...pod,
    metadata: { ...pod.metadata, ...(owner === 'none' ? {} : { ownerReferences: references }) },
    status: {
      phase: 'Running',
      startTime: '2025-12-31T23:00:00Z',
      conditions: [
        { type: 'PodScheduled', status: 'True' },
        { type: 'Ready', status: 'True' },
      ],
    },
  }
}

/** Some pods cost more or less than others, must stay, have ended or are going. */
function peculiar(random: Random, pod: ObjectJson): ObjectJson {
  const annotate = (annotations: Labels) => ({ ...pod, metadata: { ...pod.metadata, annotations } })
  const at = random.below(1000)
  if (at < 15) return annotate({ 'karpenter.sh/do-not-disrupt': 'true' })
  if (at < 25) return annotate({ 'karpenter.sh/do-not-disrupt': random.pick(['30m', '2h', 'soon', 'false']) })
  if (at < 45) return { ...pod, status: { ...pod.status, phase: random.pick(['Succeeded', 'Failed']) } }
  if (at < 60) return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2025-12-31T23:59:30Z' } }
  if (at < 75) {
    const conditions = [{ type: 'Ready', status: 'False' }]
    return { ...pod, status: { ...pod.status, conditions } }
  }
  const cost = random.chance(0.06) ? -2_000_000_000 : random.between(-50_000_000, 50_000_000)
  return annotate({ 'controller.kubernetes.io/pod-deletion-cost': String(cost) })
}

function pendingPod(random: Random, app: App, index: number): ObjectJson {
  const pod = podJson({
    name: `pending-${index}`,
    uid: random.uid(),
    labels: app.labels,
    requests: { cpu: `${random.between(50, 4000)}m`, memory: `${random.between(64, 4000)}Mi` },
    spec: app.spec,
  })
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }]
  return { ...pod, status: { phase: 'Pending', conditions } }
}

function daemonPod({ name }: ParityNode): ObjectJson {
  const pod = podJson({
    name: `logs-${name}`,
    uid: `logs-${name}`,
    labels: { daemon: 'logs' },
    requests: { cpu: '100m', memory: '64Mi' },
    spec: { nodeName: name, tolerations: [{ operator: 'Exists' }] },
  })
  const owned = settled(pod, 'DaemonSet')
  return { ...owned, metadata: { ...owned.metadata, namespace: 'kube-system' } }
}

function budget(random: Random, { labels }: App): readonly ObjectJson[] {
  if (!random.chance(0.3)) return []
  const name = labels['app'] ?? ''
  const allowed = random.pick([0, 1, 1, 1, 2])
  const limit = random.pick([{ maxUnavailable: allowed }, { minAvailable: '50%' }, { maxUnavailable: '0%' }])
  return [
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name, namespace: 'default', uid: `pdb-${name}` },
      spec: {
        selector: { matchLabels: labels },
        ...limit,
        ...(random.chance(0.2) ? { unhealthyPodEvictionPolicy: 'AlwaysAllow' } : {}),
      },
      status: { disruptionsAllowed: allowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
    },
  ]
}
