import type { Parts } from '../kubernetes/parts.ts'
import type { CloudProviderMetrics } from '../telemetry/cloud-provider-metrics.ts'
import type { ArmBudget } from './arm/arm-budget.ts'
import type { AzureClient } from './arm/client.ts'
import type { VmList } from './arm/vm-list.ts'
import type { AzureConfig } from './azure-config.ts'
import type { LaunchHealth } from './capacity/launch-health.ts'
import type { Quota } from './capacity/quota.ts'
import type { RefusedAttempts } from './capacity/refused-attempts.ts'
import type { UnavailableOfferings } from './capacity/unavailable-offerings.ts'
import type { Catalogue } from './catalogue/catalogue.ts'
import type { NetworkFacts } from './launch/network-facts.ts'
import type { VmCreateMetrics } from './launch/vm-create-metrics.ts'
import type { CapacityReservations } from './reservations/capacity-reservations.ts'

/** What a process works with that knows Azure. */
export interface AzureParts extends Parts {
  readonly azure: AzureClient
  /** Tokens for requests of `azure`, which takes them by itself. */
  readonly budget: ArmBudget
  readonly config: AzureConfig
  readonly cloudProvider: CloudProviderMetrics
  readonly vms: VmList
  readonly network: NetworkFacts
  readonly catalogue: Catalogue
  readonly unavailable: UnavailableOfferings
  readonly quota: Quota
  readonly reservations: CapacityReservations
  readonly launchHealth: LaunchHealth
  readonly refusedAttempts: RefusedAttempts
  readonly vmCreates: VmCreateMetrics
}
