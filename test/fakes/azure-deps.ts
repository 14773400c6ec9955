import { Registry } from 'prom-client'
import { onTestFinished } from 'vitest'
import type { AzureActivityDeps } from '../../activities/azure/activities.ts'
import { LateList } from '../../activities/azure/answers/late-list.ts'
import { ArmBudget } from '../../activities/azure/arm/arm-budget.ts'
import { paceWithin, VmList } from '../../activities/azure/arm/vm-list.ts'
import { offeringUse } from '../../activities/azure/capacity/blocking-mark.ts'
import { LaunchHealth } from '../../activities/azure/capacity/launch-health.ts'
import { Quota } from '../../activities/azure/capacity/quota.ts'
import type { Usages } from '../../activities/azure/capacity/quota-accounting.ts'
import { RefusedAttempts } from '../../activities/azure/capacity/refused-attempts.ts'
import { UnavailableOfferings } from '../../activities/azure/capacity/unavailable-offerings.ts'
import { reservedSale } from '../../activities/azure/catalogue/catalogue.ts'
import type { KeptAnswer } from '../../activities/azure/catalogue/durable-document.ts'
import { instanceTypes } from '../../activities/azure/catalogue/instance-types.ts'
import type { VmSize } from '../../activities/azure/catalogue/sku.ts'
import { NetworkFacts } from '../../activities/azure/launch/network-facts.ts'
import { vmCreateMetrics } from '../../activities/azure/launch/vm-create-metrics.ts'
import { machineDeps } from '../../activities/azure/machines/launch-machine.ts'
import type { MaintenanceDeps } from '../../activities/azure/maintenance/maintenance.ts'
import { nodeClassSettings } from '../../activities/azure/node-class/node-class-settings.ts'
import { CapacityReservations } from '../../activities/azure/reservations/capacity-reservations.ts'
import { CloudProviderMetrics } from '../../activities/telemetry/cloud-provider-metrics.ts'
import type { NodeClass } from '../../api/objects.ts'
import type { KubeletConversion } from '../../core/node-class/kubelet-conversion.ts'
import { FakeAzure } from './azure.ts'
import { azureConfig } from './azure-config.ts'
import type { FakeCluster } from './cluster.ts'
import { kubernetesDeps } from './deps.ts'

/** A size of the family Dsv5 in three zones, by its vCPUs. */
function size(vCpus: number): VmSize {
  return {
    name: `Standard_D${vCpus}s_v5`,
    family: 'standardDSv5Family',
    series: 'Dsv5',
    seriesFamily: 'D',
    version: '5',
    vCpus,
    memoryGib: 4 * vCpus,
    arch: 'amd64',
    gpus: 0,
    hyperVGenerations: ['1', '2'],
    acceleratedNetworking: true,
    premiumStorage: true,
    encryptionAtHost: true,
    trustedLaunch: true,
    spotCapable: true,
    ultraSsdZones: new Set(['1', '2', '3']),
    ultraSsdRegional: false,
    zones: ['1', '2', '3'],
  }
}

const usualSizes: readonly VmSize[] = [2, 4, 8].map(size)

/** A size of another family, which costs more than all others. */
export const otherSize: VmSize = {
  ...size(16),
  name: 'Standard_E16s_v5',
  family: 'standardESv5Family',
  series: 'Esv5',
  seriesFamily: 'E',
}

/** What Azure activities work with, over a cluster and a resource group in memory. To be called in a test.
 * `usages`: Azure's count of vCPUs; without any there is room for all. */
export function azureDeps(cluster: FakeCluster, azure = new FakeAzure(), usages: Usages = new Map()) {
  const known = kubernetesDeps(cluster)
  const { client, cache, log, now } = known.deps
  const { nodeResourceGroup } = azureConfig
  const unavailable = new UnavailableOfferings({ client, namespace: 'joiner', now, log })
  unavailable.start()
  onTestFinished(() => unavailable.stop())
  const sizes = new Map(usualSizes.map((one) => [one.name, one]))
  const sizeOf = (name: string) => sizes.get(name)
  /** USD an hour by vCPUs; spot costs a third. */
  const prices = {
    priceOf: ({ name }: { readonly name: string }, capacityType: string) =>
      (sizeOf(name)?.vCpus ?? 0) * (capacityType === 'spot' ? 0.017 : 0.05),
  }
  const follow = (take: (stored: KeptAnswer<Usages>) => void) => {
    take({ value: usages, readAtMs: now() })
    return () => {}
  }
  const document = { write: async () => {}, follow }
  const quota = new Quota({ azure: undefined, document, location: azureConfig.location, cache, sizeOf, log, now })
  quota.start()
  const reservations = new CapacityReservations({
    azure: azure.client,
    document: { write: async () => {}, follow: () => () => {} },
    config: azureConfig,
    cache,
    isEnabled: true,
    log,
    now,
  })
  const { compute, network } = azure.client
  const catalogue = {
    whenLoaded: async () => {},
    size: sizeOf,
    price: (size: VmSize, capacityType: string) => ({
      pricePerHour: prices.priceOf(size, capacityType === 'spot' ? 'spot' : 'on-demand'),
    }),
    instanceTypesFor: (nodeClass: NodeClass, kubelet?: KubeletConversion) =>
      instanceTypes({
        region: azureConfig.location,
        nodeClass: nodeClassSettings(nodeClass, azureConfig, kubelet),
        memoryOverheadPercent: azureConfig.vmMemoryOverheadPercent,
        nodeResourceGroup,
        sizes: sizes.values(),
        prices,
        isMarked: (offering) => unavailable.isMarked(offering, offeringUse(nodeClass)),
        hasQuota: (family, vCpus) => quota.hasRoom({ family, vCpus, capacityType: 'on-demand' }),
        hasSpotQuota: (family, vCpus) => quota.hasRoom({ family, vCpus, capacityType: 'spot' }),
        hasReservations: reservations.named(nodeClass).groups.length > 0,
        reserved: reservedSale(reservations.offeredTo(nodeClass), (one) =>
          unavailable.markOf(one, offeringUse(nodeClass)),
        ),
      }),
  }
  const registry = new Registry()
  const deps: AzureActivityDeps & Omit<MaintenanceDeps, 'reconciles' | 'onUndecided'> = {
    ...known.deps,
    azure: azure.client,
    budget: new ArmBudget({ share: 1, now }),
    config: azureConfig,
    catalogue: catalogue as never,
    unavailable,
    quota,
    reservations,
    vms: new VmList(
      () => compute.virtualMachines.list(nodeResourceGroup).byPage(),
      new LateList('VMs', { log, now }),
      paceWithin(1),
    ),
    ...machineDeps({ azure: azure.client, config: azureConfig, log }, new LateList('AKS machines', { log, now })),
    network: new NetworkFacts(
      {
        securityGroups: () => network.networkSecurityGroups.list(nodeResourceGroup),
        loadBalancers: () => network.loadBalancers.list(nodeResourceGroup),
      },
      { nodeResourceGroup, log, now },
    ),
    launchHealth: new LaunchHealth(now),
    refusedAttempts: new RefusedAttempts(now),
    vmCreates: vmCreateMetrics(registry),
    cloudProvider: new CloudProviderMetrics(registry),
    staticCapacity: false,
    registry,
  }
  return { ...known, deps, azure, registry, sizes }
}
