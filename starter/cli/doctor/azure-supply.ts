import { azureConfig } from '../../../activities/azure/access/azure-config.ts'
import { regionalPool, spotPool, type Usages } from '../../../activities/azure/capacity/quota-accounting.ts'
import { fetchPrices } from '../../../activities/azure/catalogue/retail-prices.ts'
import type { VmSize } from '../../../activities/azure/catalogue/sku.ts'
import { imageDefinitions, resolveImageFamily } from '../../../activities/azure/node-class/images.ts'
import { nodeClassSettings } from '../../../activities/azure/node-class/node-class-settings.ts'
import { ArmRefusal } from '../../picture/arm-reader.ts'
import { sceneOf, vmSizes, vmUsages } from '../../picture/from-azure.ts'
import { whyOf } from '../../picture/missing.ts'
import { readWhole } from '../../picture/picture.ts'
import { type Buyable, readBuyable } from '../shared/buyable.ts'
import { type DoctorContext, type Finding, fail, ok, roleAssignment, warn, worst } from './check.ts'

/** Whether quota is left in the families that the NodePools may use. */
export async function examineQuota(context: DoctorContext): Promise<Finding> {
  const [{ nodePools }, { usages, sizes }] = await Promise.all([
    context.pools(),
    readWhole(sceneOf(context), { usages: vmUsages, sizes: vmSizes }),
  ])
  const buyable = await readBuyable(context, sizes)
  if (nodePools.length === 0)
    return warn('there is no NodePool, so no family is in use', ['kubectl apply -f my-nodepools.yaml'])
  const region = regional(usages, context)
  return worst([
    ...buyable.map((each) => quotaOfPool(each, usages, context)),
    ...(region === undefined ? [] : [region]),
  ])
}

/** Every family counts against the quota of its region, too. */
function regional(usages: Usages, { config }: DoctorContext): Finding | undefined {
  const usage = usages.get(regionalPool)
  if (usage === undefined || usage.limit - usage.current >= smallestVm) return undefined
  return fail(`region ${config.LOCATION}: ${usage.current} of ${usage.limit} vCPUs are used, none is left`, [
    increase(config, regionalPool),
  ])
}

const smallestVm = 2

function quotaOfPool({ pool, onDemand, spot }: Buyable, usages: Usages, { config }: DoctorContext): Finding {
  const families = smallestByFamily(onDemand)
  const short = [...families].filter(([family, vCpus]) => !hasRoom(usages, family, vCpus)).map(([family]) => family)
  const spotRoom = spot.size > 0 && hasRoom(usages, spotPool, Math.min(...[...spot.values()].map(({ vCpus }) => vCpus)))
  const reported = short.map((family) => `${family} ${used(usages, family)}`).join(', ')
  if (families.size === 0 && spot.size === 0)
    return warn(`NodePool ${pool}: no VM size of the region meets its requirements`, [
      `kubectl get nodepool ${pool} -o yaml; compare with: az vm list-skus --location ${config.LOCATION} --resource-type virtualMachines -o table`,
    ])
  const remedies = short.slice(0, 3).map((family) => increase(config, family))
  if (spot.size > 0 && !spotRoom) remedies.push(increase(config, spotPool))
  if (short.length === families.size && !spotRoom)
    return fail(`NodePool ${pool}: no family that it may use has quota (${reported || 'spot only'})`, remedies)
  if (short.length > 0) return warn(`NodePool ${pool}: no quota left in ${reported}`, remedies)
  return ok(
    `NodePool ${pool}: quota left in ${families.size === 1 ? [...families.keys()].join() : `all ${families.size} families`} that it may use`,
  )
}

function used(usages: Usages, family: string): string {
  const usage = usages.get(family.toLowerCase())
  return usage === undefined ? '' : `${usage.current}/${usage.limit}`
}

function hasRoom(usages: Usages, family: string, vCpus: number): boolean {
  const usage = usages.get(family.toLowerCase())
  return usage === undefined || usage.limit - usage.current >= vCpus
}

function smallestByFamily(sizes: ReadonlyMap<string, VmSize>): ReadonlyMap<string, number> {
  const smallest = new Map<string, number>()
  for (const { family, vCpus } of sizes.values())
    smallest.set(family, Math.min(vCpus, smallest.get(family) ?? Number.POSITIVE_INFINITY))
  return smallest
}

function increase(config: DoctorContext['config'], family: string): string {
  const scope = `/subscriptions/${config.ARM_SUBSCRIPTION_ID}/providers/Microsoft.Compute/locations/${config.LOCATION}`
  return `az quota update --resource-name ${family} --scope ${scope} --limit-object value=NEW-LIMIT --resource-type dedicated (needs: az extension add --name quota)`
}

/** Whether the images that node classes need are published in the region. */
export async function examineImages(context: DoctorContext, signal: AbortSignal): Promise<Finding> {
  const { config, arm, kubernetes } = context
  if (config.USE_SIG)
    return warn('images come from shared galleries, which are read with a token that only AKS hands out', [
      `see whether the node classes found any: kubectl get aksnodeclasses -o custom-columns=NAME:.metadata.name,IMAGES:.status.images[*].id`,
    ])
  const [{ nodeClasses }, version, settings] = await Promise.all([
    context.pools(),
    kubernetes.version(),
    azureConfig(config, context.cloud, { clusterUid: '', clusterDnsServiceIp: '' }),
  ])
  if (nodeClasses.length === 0)
    return warn('there is no AKSNodeClass, so no image is in use', ['kubectl apply -f my-nodepools.yaml'])
  const definitions = new Map(
    nodeClasses.flatMap((each) => {
      const wanted = nodeClassSettings(each, settings)
      return imageDefinitions(wanted, resolveImageFamily(wanted, version)).map((found) => [found.name, found] as const)
    }),
  )
  const findings = await Promise.all(
    [...definitions.values()].map(async ({ name, gallery }): Promise<Finding> => {
      const path = `/subscriptions/${config.ARM_SUBSCRIPTION_ID}/providers/Microsoft.Compute/locations/${config.LOCATION}/communityGalleries/${gallery.community}/images/${name}/versions?api-version=2024-03-03`
      try {
        const versions = await arm.list<{ readonly name?: string }>(path, signal)
        const newest = versions
          .map(({ name: each = '' }) => each)
          .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
          .at(-1)
        return newest === undefined
          ? warn(`${name}: no version is published in ${config.LOCATION}`, [])
          : ok(`${name} ${newest}`)
      } catch (error) {
        if (!(error instanceof ArmRefusal)) throw error
        const reported = `${name}: ${whyOf(error)}`
        if (error.status === 404)
          return warn(reported, [
            `choose another spec.imageFamily, or wait until AKS publishes it in ${config.LOCATION}`,
          ])
        return fail(reported, [await roleAssignment(context, 'Reader', `/subscriptions/${config.ARM_SUBSCRIPTION_ID}`)])
      }
    }),
  )
  if (findings.every(({ status }) => status === 'warn'))
    return fail(
      `no image of the node classes is published in ${config.LOCATION}`,
      worst(findings).remedies ?? [],
      findings.map(({ summary }) => summary),
    )
  return worst(findings)
}

/** Whether the price list of the region can be had. Without it prices are estimated. */
export async function examinePrices({ config, cloud }: DoctorContext): Promise<Finding> {
  const endpoint = cloud.pricesEndpoint
  if (endpoint === undefined) return ok(`${cloud.name} has no price list; prices are estimated from what a VM holds`)
  try {
    const { region, list } = await fetchPrices(endpoint, config.LOCATION)
    const reported = `${list.size} prices of ${region}`
    return region === config.LOCATION
      ? ok(reported)
      : warn(`the price list names nothing in ${config.LOCATION}; ${reported} take their place`, [
          `check LOCATION "${config.LOCATION}": az account list-locations --query "[].name" -o tsv`,
        ])
  } catch (error) {
    return warn(`${endpoint}: ${whyOf(error)}; prices are estimated meanwhile`, [
      `allow traffic to ${endpoint}, or set JOINER_PRICES_ENDPOINT to a mirror`,
    ])
  }
}
