import type { AccessState } from '../access/access-state.ts'
import type { Faults } from '../admin/faults.ts'
import type { AgentPools } from '../agent-pools/agent-pools.ts'
import type { AksOperations } from '../agent-pools/aks-operations.ts'
import type { CapacityPools } from '../catalogue/capacity-pools.ts'
import type { Quotas } from '../catalogue/quota.ts'
import type { SkuCatalogue } from '../catalogue/sku-catalogue.ts'
import type { GalleryToken } from '../images/gallery-token.ts'
import type { ImageVersions } from '../images/image-versions.ts'
import type { NetworkResources } from '../network/network-resources.ts'
import type { CapacityGroups } from '../reservations/capacity-groups.ts'
import type { GraphRows } from '../resource-graph/graph-rows.ts'
import type { Resources } from '../resources.ts'
import type { Throttling } from '../throttling/throttling.ts'
import type { Bill } from '../virtual-machines/bill.ts'
import type { MachineLifecycle } from '../virtual-machines/lifecycle.ts'
import type { Machines } from '../virtual-machines/machines.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { CallCounts } from './call-counts.ts'
import type { SimulatorConfig } from './config.ts'
import type { Operations } from './operations.ts'

/** What the parts of the simulated Resource Manager work with. */
export interface ArmDeps {
  readonly config: SimulatorConfig
  /** Returns an id that has not been used: a UUID. */
  readonly newId: () => string
  readonly machines: Machines
  readonly operations: Operations
  readonly resources: Resources
  /** What each VM cost. */
  readonly bill: Bill
  readonly network: NetworkResources
  readonly graph: GraphRows
  readonly lifecycle: MachineLifecycle
  /** Of AKS clusters, with the machines that AKS makes. */
  readonly agentPools: AgentPools
  readonly aksOperations: AksOperations
  readonly faults: Faults
  readonly tokens: AccessTokens
  readonly access: AccessState
  /** Replaced whole when its setting changes. */
  throttling: Throttling
  readonly catalogue: SkuCatalogue
  readonly images: ImageVersions
  readonly galleryToken: GalleryToken
  readonly quotas: Quotas
  readonly pools: CapacityPools
  readonly capacityGroups: CapacityGroups
  /** For tests that count ARM's load. */
  readonly calls: CallCounts
  /** Every request that changes a VM, in order. */
  readonly journal: JournalEntry[]
  /** What PUTs of VMs would have given to nodes and must not. */
  readonly violations: Violation[]
}

/** A place in the custom data of a PUT that breaks the grammar of `boot/violations.ts`. */
interface Violation {
  readonly vm: string
  readonly path: string
}

/** A request that asks for a change, refused ones included. */
export interface JournalEntry {
  readonly atMs: number
  readonly method: string
  /** Name of the VM, or of the AKS machine that it was asked for as. */
  readonly name: string
  /** When its answer was handed to the connection, and with which status; absent while it is worked on, and when the answer is lost. */
  answer?: { readonly atMs: number; readonly status: number }
}
