import { azureConfig } from '../../../activities/azure/access/azure-config.ts'
import type { Cloud } from '../../../activities/azure/arm/clouds.ts'
import { instanceTypes } from '../../../activities/azure/catalogue/instance-types.ts'
import { modelledPrices } from '../../../activities/azure/catalogue/pricing.ts'
import type { VmSize } from '../../../activities/azure/catalogue/sku.ts'
import { type NodeClassSettings, nodeClassSettings } from '../../../activities/azure/node-class/node-class-settings.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { Config } from '../../../api/config.ts'
import type { NodeClass } from '../../../api/objects.ts'
import { capacityTypeOf, compatibleOfferings, typeMatches } from '../../../core/instance-type.ts'
import { templateRequirements } from '../../../core/node-pool/node-claim-template.ts'
import type { NodePool } from '../../../core/objects.ts'
import { aksPools, clusterScene, nodeClasses } from '../../picture/from-cluster.ts'
import { readWhole } from '../../picture/picture.ts'

/** The cluster's NodePools of AKS, and their node classes. */
export interface Pools {
  readonly nodePools: readonly NodePool[]
  readonly nodeClasses: readonly NodeClass[]
}

/** Reads them. Errors: `CommandError`. */
export function readPools(kubernetes: KubernetesClient): Promise<Pools> {
  return readWhole(clusterScene(kubernetes), { nodePools: aksPools, nodeClasses })
}

interface Reader {
  readonly config: Config
  readonly cloud: Cloud
  readonly pools: () => Promise<Pools>
}

/** What a NodePool may buy on demand and as spot. */
export interface Buyable {
  readonly pool: string
  readonly onDemand: ReadonlyMap<string, VmSize>
  readonly spot: ReadonlyMap<string, VmSize>
}

/** What each NodePool may buy, by the region's sizes and its own requirements, whatever quota says. */
export async function readBuyable(context: Reader, sizes: ReadonlyMap<string, VmSize>): Promise<readonly Buyable[]> {
  const [{ nodePools, nodeClasses }, settings] = await Promise.all([
    context.pools(),
    azureConfig(context.config, context.cloud, { clusterUid: '', clusterDnsServiceIp: '' }),
  ])
  const classes = new Map(nodeClasses.map((each) => [each.metadata.name, nodeClassSettings(each, settings)]))
  return nodePools.map((pool) => {
    const nodeClass = classes.get(pool.template.spec.nodeClassRef.name)
    return buyableBy(pool, sizes, { nodeClass, settings })
  })
}

type Settings = Awaited<ReturnType<typeof azureConfig>>

function buyableBy(
  pool: NodePool,
  sizes: ReadonlyMap<string, VmSize>,
  { nodeClass, settings }: { readonly nodeClass: NodeClassSettings | undefined; readonly settings: Settings },
): Buyable {
  const onDemand = new Map<string, VmSize>()
  const spot = new Map<string, VmSize>()
  const { nodeClassRef, requirements } = pool.template.spec
  const template = { nodePool: pool.metadata.name, labels: pool.template.labels, nodeClassRef, requirements }
  const wanted = templateRequirements(template)
  const types =
    nodeClass === undefined
      ? []
      : instanceTypes({
          sizes: sizes.values(),
          region: settings.location,
          nodeClass,
          prices: modelledPrices,
          isMarked: () => false,
          hasQuota: () => true,
          memoryOverheadPercent: settings.vmMemoryOverheadPercent,
          nodeResourceGroup: settings.nodeResourceGroup,
        })
  for (const type of types) {
    const size = sizes.get(type.name)
    if (size === undefined || !typeMatches(type, wanted)) continue
    for (const offering of compatibleOfferings(type, wanted))
      if (offering.available) (capacityTypeOf(offering) === 'spot' ? spot : onDemand).set(type.name, size)
  }
  return { pool: pool.metadata.name, onDemand, spot }
}
