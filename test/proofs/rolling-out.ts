import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import type { World } from '../world.ts'
import {
  commandsOver,
  type Health,
  healthSince,
  isTrue,
  type RolloutFacts,
  type RolloutMoment,
  rolloutFacts,
  rolloutOver,
  type SeenCommand,
} from './disruption-proofs.ts'
import { Witness } from './witness.ts'

export interface RolloutOptions {
  readonly nodes: number
  /** Percent of the nodes that may be disrupted at once. */
  readonly percent: number
  /** As many nodes should be disrupted at once, at least, while old ones are left to begin with. */
  readonly least: number
  readonly limitMs: number
  /** What else is done once all nodes are there, before they drift. */
  readonly begin?: () => Promise<void>
}

export interface RolloutReport {
  /** From the change of the NodePool until every old NodeClaim and Node was gone. */
  readonly tookMs: number
  /** From the change until the first node was stamped. */
  readonly firstMs: number
  readonly facts: RolloutFacts
  readonly over: readonly RolloutMoment[]
  readonly commands: readonly SeenCommand[]
  readonly health: Health
  readonly startMs: number
}

const poolLabel = 'karpenter.sh/nodepool'

/** A NodePool of the smallest D sizes whose nodes drift when its release changes. */
export function releasedPool(release: string, percent: number, name = 'general', more: readonly Requirement[] = small) {
  const plain = nodePool({
    name,
    budget: `${percent}%`,
    consolidateAfter: 'Never',
    requirements: [...more, { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }],
  })
  const template = { metadata: { labels: { 'example.com/release': release } }, ...plain.spec.template }
  return { ...plain, spec: { ...plain.spec, template } }
}

export interface Requirement {
  readonly key: string
  readonly operator: string
  readonly values: readonly string[]
}

const small: readonly Requirement[] = [
  { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
  { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['2'] },
]

/** Pods that each have a node of their own, and a PodDisruptionBudget as wide as the NodePool's. */
function spreadOut(replicas: number, percent: number) {
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'inflate', namespace: 'default' },
    spec: { selector: { matchLabels: { app: 'inflate' } }, maxUnavailable: `${percent}%` },
  }
  return [deployment({ replicas, apart: true, nodeSelector: { [poolLabel]: 'general' } }), budget]
}

/**
 * Gives all nodes of a NodePool a new release and watches them being replaced. Errors: the nodes do not come about, or are not all replaced
 * within the limit.
 */
export async function rollOut(world: World, options: RolloutOptions): Promise<RolloutReport> {
  const { nodes, percent, least, limitMs, begin } = options
  await world.apply(releasedPool('1', percent), nodeClass(), ...spreadOut(nodes, percent))
  await world.untilReady('general')
  const witness = await Witness.start(world)
  const claims = () => witness.now('nodeClaim').filter(({ metadata }) => metadata.labels?.[poolLabel] === 'general')
  const podsRun = () => {
    const pods = witness.now('pod').filter(({ metadata }) => metadata.labels?.['app'] === 'inflate')
    return pods.length === nodes && pods.every((pod) => isTrue(pod, 'Ready'))
  }
  try {
    await world.until(
      `${nodes} pods run on initialized nodes`,
      async () => podsRun() && claims().length === nodes && claims().every((claim) => isTrue(claim, 'Initialized')),
      limitMs,
    )
    await begin?.()
    const old = new Set(claims().map(({ metadata }) => metadata.name))
    const since = witness.moments().at(-1)?.revision ?? 0
    const startMs = Date.now()
    await world.apply(releasedPool('2', percent))
    await world.until(
      'every old node is gone and all pods run',
      async () => {
        const names = new Set([...claims(), ...witness.now('node')].map(({ metadata }) => metadata.name))
        return podsRun() && ![...old].some((name) => names.has(name) || names.has(`aks-${name}`))
      },
      limitMs,
    )
    const moments = witness.moments()
    const ofPool = moments.filter(({ kind, name }) => kind === 'pod' || name.replace('aks-', '').startsWith('general-'))
    const over = rolloutOver(ofPool, since, old)
    const demand = { app: 'inflate', healthy: nodes - Math.ceil((nodes * percent) / 100) }
    const commands = commandsOver(ofPool)
    return {
      tookMs: (over.findLast(({ busy }) => busy > 0)?.atMs ?? startMs) - startMs,
      firstMs: Math.min(...commands.map(({ stampedAtMs }) => stampedAtMs)) - startMs,
      facts: rolloutFacts(over, Math.ceil((nodes * percent) / 100), least),
      over,
      commands,
      health: healthSince(moments, since, [demand])[0] as Health,
      startMs,
    }
  } finally {
    await witness.stop()
  }
}
