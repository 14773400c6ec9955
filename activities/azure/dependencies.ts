import type { KubernetesDeps } from '../kubernetes/dependencies.ts'
import type { ArmBudget } from './arm-budget.ts'
import type { AzureConfig } from './azure-config.ts'
import type { Catalogue } from './catalogue.ts'
import type { AzureClient } from './client.ts'
import type { NetworkFacts } from './network-facts.ts'
import type { Quota } from './quota.ts'
import type { RefusedAttempts } from './refused-attempts.ts'
import type { UnavailableOfferings } from './unavailable-offerings.ts'
import type { VmList } from './vm-list.ts'

/** What every Azure activity works with; made once per process. */
export interface AzureDeps extends KubernetesDeps {
  readonly azure: AzureClient
  /** Tokens for requests of `azure`, which takes them by itself. */
  readonly budget: ArmBudget
  readonly config: AzureConfig
  readonly catalogue: Catalogue
  readonly unavailable: UnavailableOfferings
  readonly quota: Quota
  readonly vms: VmList
  readonly network: NetworkFacts
  readonly refusedAttempts: RefusedAttempts
}
