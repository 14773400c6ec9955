// The rules that commands must obey, by reading reference/karpenter-core.md 4.2, 4.10 and 3.4 again: nothing here calls what Joiner decides with.
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { type ResourceName, resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import type { DisruptionMethod } from '../../../core/disruption/command.ts'
import type { FakeCluster } from '../cluster.ts'
import { replacementKey, stampKey } from '../commit-world.ts'
import { olderCommand } from './cluster.ts'

/** An object as it is stored. The rules look at each write of each case, so they copy nothing. */
export interface Stored {
  readonly metadata: {
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
  }
  readonly spec: Json & { readonly taints?: readonly { readonly key: string }[] }
  readonly status?: Json & { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}

export const storedAll = ({ server }: FakeCluster, resource: ResourceName) =>
  server.objects.of(resource) as unknown as readonly Stored[]

export const storedNode = ({ server }: FakeCluster, claim: string) =>
  server.objects.find(resourcePath('nodes', `aks-${claim}`)) as unknown as Stored | undefined

type Amounts = Readonly<Record<string, number>>

interface Budget {
  readonly nodes: string
  readonly reasons?: readonly string[]
}

/** A NodePool, and what its budgets and limits count. */
export interface PoolState {
  readonly budgets: readonly Budget[]
  /** Nodes of which a percentage is taken. */
  readonly nodes: number
  /** Nodes that use up budgets although no command of this case has them. */
  readonly lost: number
  readonly limits: Amounts
  readonly isStatic: boolean
  readonly usage: Amounts
}

export function poolStates(cluster: FakeCluster): ReadonlyMap<string, PoolState> {
  const claims = storedAll(cluster, 'nodeclaims')
  return new Map(
    storedAll(cluster, 'nodepools').map(({ metadata: { name }, spec }) => {
      const {
        disruption,
        limits = {},
        replicas,
      } = spec as unknown as {
        disruption: { budgets: readonly Budget[] }
        limits?: Readonly<Record<string, string>>
        replicas?: number
      }
      // Replacements have no Nodes while proposals are committed.
      const own = claims.filter((claim) => poolOf(claim) === name && isInitialized(cluster, claim))
      return [
        name,
        {
          budgets: disruption.budgets,
          nodes: own.length,
          lost: own.filter((claim) => isLost(cluster, claim)).length,
          limits: Object.fromEntries(Object.entries(limits).map(([key, text]) => [key, Number(text)])),
          isStatic: replicas !== undefined,
          usage: usageOf(cluster, { pool: name, isStatic: replicas !== undefined, going: new Set() }),
        },
      ]
    }),
  )
}

/** How many nodes may be disrupted at once for a reason: the least of the budgets for it, percentages rounded up. */
export function allowedOf({ budgets, nodes }: PoolState, reason: string): number {
  const amounts = budgets
    .filter(({ reasons }) => reasons === undefined || reasons.includes(reason))
    .map(({ nodes: text }) =>
      text.endsWith('%') ? Math.ceil((Number(text.slice(0, -1)) * nodes) / 100) : Number(text),
    )
  return Math.min(Number.POSITIVE_INFINITY, ...amounts)
}

/** Why a method may not take a node now; undefined: nothing forbids it. */
export function isProtected(cluster: FakeCluster, name: string, method: DisruptionMethod): string | undefined {
  const pods = storedAll(cluster, 'pods').filter(({ spec }) => spec['nodeName'] === `aks-${name}`)
  if (method === 'emptiness' && pods.length > 0) return `${pods[0]?.metadata.name} runs there`
  const claim = storedAll(cluster, 'nodeclaims').find(({ metadata }) => metadata.name === name)
  if (!isGraceful(method) && claim?.spec['terminationGracePeriod'] !== undefined) return undefined
  const exhausted = storedAll(cluster, 'poddisruptionbudgets')
    .filter(({ status }) => status?.['disruptionsAllowed'] === 0)
    .map(({ metadata }) => metadata.name)
  const guarded = pods.find(
    ({ metadata: { annotations, labels } }) =>
      annotations?.['karpenter.sh/do-not-disrupt'] === 'true' || exhausted.includes(labels?.['app'] ?? ''),
  )
  return guarded && `${guarded.metadata.name} must not be disrupted`
}

/** By its time limit a drifted node goes with all its pods. */
const isGraceful = (method: DisruptionMethod) => method !== 'drift' && method !== 'static-drift'

/** What a NodePool uses of its limits. A node that leaves does not count but in a static pool; `going`: NodeClaims that are about to leave. */
export function usageOf(
  cluster: FakeCluster,
  { pool, isStatic, going }: { readonly pool: string; readonly isStatic: boolean; readonly going: ReadonlySet<string> },
): Amounts {
  const own = storedAll(cluster, 'nodeclaims').filter(
    (claim) => poolOf(claim) === pool && (isStatic || !(isLeaving(claim) || going.has(claim.metadata.name))),
  )
  return { nodes: own.length, cpu: own.reduce((sum, claim) => sum + cpuOf(cluster, claim), 0) }
}

/** Texts of what is above its limit; what was above it before may stay there. */
export function within(usage: Amounts, limits: Amounts, before: Amounts): readonly string[] {
  return Object.entries(limits).flatMap(([key, limit]) => {
    const used = usage[key] ?? 0
    return used > Math.max(limit, before[key] ?? 0) + 1e-6 ? [`${used} of ${limit} ${key}`] : []
  })
}

const poolOf = ({ metadata }: Stored) => metadata.labels?.['karpenter.sh/nodepool']
const nodeOf = (cluster: FakeCluster, { metadata }: Stored) => storedNode(cluster, metadata.name)

function isInitialized(cluster: FakeCluster, claim: Stored): boolean {
  const node = nodeOf(cluster, claim)
  return claim.metadata.annotations?.[replacementKey] === undefined && node !== undefined
}

function isLost(cluster: FakeCluster, claim: Stored): boolean {
  const { deletionTimestamp, annotations } = claim.metadata
  if (deletionTimestamp !== undefined || annotations?.[stampKey] === olderCommand) return true
  // A node that is not ready counts once, also when a command takes it.
  if (annotations?.[stampKey] !== undefined) return false
  const ready = nodeOf(cluster, claim)?.status?.conditions?.find(({ type }) => type === 'Ready')
  return ready?.status !== 'True'
}

function isLeaving({ metadata: { deletionTimestamp, annotations } }: Stored): boolean {
  return deletionTimestamp !== undefined || annotations?.[stampKey] !== undefined
}

/** Cores of a node; before its launch what its pods ask for. */
function cpuOf(cluster: FakeCluster, claim: Stored): number {
  const node = nodeOf(cluster, claim)
  const amounts = (node?.status?.['capacity'] ?? requestsOf(claim)) as { readonly cpu?: string }
  const text = amounts.cpu ?? '0'
  return text.endsWith('m') ? Number(text.slice(0, -1)) / 1000 : Number(text)
}

const requestsOf = ({ spec }: Stored) => (spec['resources'] as { requests?: object } | undefined)?.requests ?? {}
