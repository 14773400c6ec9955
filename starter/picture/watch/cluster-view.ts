import type { Phase } from '../../../core/node-claim/phase.ts'
import type { WaitingClass } from '../../../core/scheduling/explain/waiting-classes.ts'
import type { Gaps } from '../gaps.ts'

/** Amounts in cores and bytes. */
export interface Amounts {
  readonly cpu: number
  readonly memory: number
}

/** A pod as a box within its node: `[namespace/name, cores, bytes, mark]`. Marks: `d` daemon, `m` mirror, `t` terminating, `h` do-not-disrupt. */
export type PodBox = readonly [name: string, cpu: number, memory: number, mark?: 'd' | 'm' | 't' | 'h']

/** A phase of a lifecycle; `Unmanaged`: a Node without a NodeClaim. */
export type ViewPhase = Phase | 'Unmanaged'

/** A Node with its NodeClaim; either may be missing. */
export interface NodeView {
  /** The NodeClaim's name, or the Node's where there is no claim. Never changes. */
  readonly key: string
  readonly node?: string
  readonly nodeClaim?: string
  readonly nodePool?: string
  readonly phase: ViewPhase
  readonly instanceType?: string
  readonly zone?: string
  readonly capacityType?: string
  /** USD an hour; absent: no list names it. */
  readonly pricePerHour?: number
  /** Epoch ms. */
  readonly createdMs: number
  readonly isReady: boolean
  readonly isCordoned: boolean
  /** Why it leaves, or who holds it, in a few words. */
  readonly note?: string
  readonly allocatable: Amounts & { readonly pods: number }
  readonly requested: Amounts
  readonly pods: readonly PodBox[]
}

/** The nodes of a NodePool. */
export interface PoolPicture {
  /** '' for Nodes without a NodePool. */
  readonly name: string
  readonly nodes: number
  /** How many are in each phase. */
  readonly phases: Partial<Readonly<Record<ViewPhase, number>>>
  /** USD an hour of those with a known price. */
  readonly pricePerHour: number
  /** Nodes without a known price. */
  readonly unpriced: number
  readonly allocatable: Amounts
  readonly requested: Amounts
}

export interface Totals extends Omit<PoolPicture, 'name'> {
  readonly pods: number
  readonly pending: number
}

/** The picture of a cluster that is kept up: at one moment. */
export interface ClusterView extends Gaps {
  readonly atMs: number
  readonly totals: Totals
  readonly pools: readonly PoolPicture[]
  readonly nodes: readonly NodeView[]
  readonly pending: readonly WaitingClass[]
  /** Sources that were never read: none of them does not mean that there are none. */
  readonly unlisted: readonly string[]
}

/** What changed since the last view: whole nodes, and the small parts each time. */
export interface ClusterChange extends Omit<ClusterView, 'nodes'> {
  readonly nodes: readonly NodeView[]
  /** Keys of nodes that are gone. */
  readonly gone: readonly string[]
}
