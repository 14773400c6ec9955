import type * as core from '../core/objects.ts'
import type { nodeClaimSpec, nodeClaimStatus } from './node-claim.ts'
import type { nodeClassSpec, nodeClassStatus } from './node-class.ts'
import type { nodePoolSpec, nodePoolStatus } from './node-pool.ts'
import type { Given, Served } from './served.ts'

// Karpenter's objects as they stand in the API server and in manifests. `core` has types of its own, of what it decides on;
// `core-agreement.ts` holds the two together.

/** `spec` of an AKSNodeClass with the schema's defaults. */
export type NodeClassSpec = Served<typeof nodeClassSpec>

/** An AKSNodeClass with all of its spec, as stored. Its drift hash is of the stored spec, in which a default may be missing. */
export interface NodeClass extends core.NodeClass {
  readonly spec: Given<typeof nodeClassSpec>
}

export type NodeClassStatusJson = Given<typeof nodeClassStatus>
export type NodeClaimSpecJson = Given<typeof nodeClaimSpec>
export type NodeClaimStatusJson = Given<typeof nodeClaimStatus>
export type NodePoolSpecJson = Given<typeof nodePoolSpec>
export type NodePoolStatusJson = Given<typeof nodePoolStatus>
