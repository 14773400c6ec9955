import { apiVersions } from '../../../activities/azure/arm/api-versions.ts'
import { whyElsewhere } from '../../../activities/azure/machines/machine-ownership.ts'
import { clusterPath } from '../../../activities/azure/machines/machines-api.ts'
import { napRefusal } from '../../../activities/azure/machines/nap-refusal.ts'
import { managesMachines } from '../../../api/config.ts'
import { isAdopted, isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { printableStart } from '../../../core/values/printable.ts'
import { ArmRefusal } from '../../picture/arm-reader.ts'
import { clusterScene, nodeClaims } from '../../picture/from-cluster.ts'
import { whyOf } from '../../picture/missing.ts'
import { readWhole } from '../../picture/picture.ts'
import { type Check, type Finding, fail, ok, warn } from './check.ts'
import { type DoctorContext } from './context.ts'

/** Claims that are named one by one. */
const mostNamed = 5

interface PoolJson {
  readonly name?: string
  readonly properties?: { readonly mode?: string }
}

interface ClusterJson {
  readonly properties?: { readonly nodeProvisioningProfile?: { readonly mode?: string } }
}

/** Whether the AKS machines of the cluster are managed as the setting says, or left alone as without it. */
export function machinesCheck(context: DoctorContext): Check {
  const { config, arm, kubernetes } = context
  const scope = {
    subscriptionId: config.ARM_SUBSCRIPTION_ID,
    clusterResourceGroup: config.ARM_RESOURCE_GROUP,
    nodeResourceGroup: config.AZURE_NODE_RESOURCE_GROUP,
    clusterName: config.CLUSTER_NAME,
    clusterUid: '',
  }
  return {
    name: 'aks machines',
    remedy: `look at the cluster: az aks show --name ${config.CLUSTER_NAME} --resource-group ${config.ARM_RESOURCE_GROUP || 'GROUP-OF-THE-CLUSTER'}`,
    run: async (signal) => {
      const claims = (await readWhole(clusterScene(kubernetes), { nodeClaims })).nodeClaims.filter(isAksMachine)
      if (!managesMachines(config)) return unmanaged(claims)
      const version = `api-version=${apiVersions['Microsoft.ContainerService/managedClusters']}`
      let cluster: ClusterJson
      let pools: readonly PoolJson[]
      try {
        cluster = await arm.get<ClusterJson>(`${clusterPath(scope)}?${version}`, signal)
        pools = await arm.list<PoolJson>(`${clusterPath(scope)}/agentPools?${version}`, signal)
      } catch (error) {
        if (!(error instanceof ArmRefusal)) throw error
        return fail(`the cluster cannot be read: ${whyOf(error)}`, [
          `check ARM_RESOURCE_GROUP and CLUSTER_NAME, and assign the role of deploy/azure/joiner-machines-role.json to Joiner's identity on ${clusterPath(scope)}`,
        ])
      }
      const refusal = napRefusal(cluster.properties?.nodeProvisioningProfile?.mode ?? 'Manual', scope)
      if (refusal !== undefined)
        return fail(refusal, [
          `az aks update --name ${config.CLUSTER_NAME} --resource-group ${config.ARM_RESOURCE_GROUP} --node-provisioning-mode Manual`,
        ])
      const poolless = config.PROVISION_MODE === 'aksscriptless' ? undefined : whyNoPool(pools, config)
      if (poolless !== undefined) return poolless
      return managed(claims, (claim) => whyElsewhere(claim, scope))
    },
  }
}

/** Nodes that are made as machines need a pool of machines. */
function whyNoPool(
  pools: readonly PoolJson[],
  { AKS_MACHINES_POOL_NAME: name, CLUSTER_NAME: cluster, ARM_RESOURCE_GROUP: group }: DoctorContext['config'],
): Finding | undefined {
  const mode = pools.find((pool) => pool.name?.toLowerCase() === name)?.properties?.mode
  if (mode === 'Machines') return undefined
  const what = mode === undefined ? 'does not exist' : `has the mode "${printableStart(mode, 30)}"`
  return fail(`AKS_MACHINES_POOL_NAME "${name}": the agent pool ${what}, so no node can be made in it`, [
    `make it: az aks nodepool add --cluster-name ${cluster} --resource-group ${group} --name ${name} --mode Machines; or name another one (chart: azure.aksMachinesPoolName)`,
  ])
}

function unmanaged(claims: readonly NodeClaim[]): Finding {
  if (claims.length === 0) return ok('no NodeClaim is an AKS machine')
  return warn(`${claims.length} NodeClaims are AKS machines, which Joiner leaves alone`, [
    'to have Joiner manage them, set azure.manageExistingAKSMachines (MANAGE_EXISTING_AKS_MACHINES) to true: docs/from-nap.md',
  ])
}

function managed(claims: readonly NodeClaim[], whyNot: (claim: NodeClaim) => string | undefined): Finding {
  const left = claims.filter((claim) => !isAdopted(claim))
  if (left.length === 0) return ok(`all ${claims.length} NodeClaims of AKS machines are managed`)
  return warn(
    `${left.length} of ${claims.length} NodeClaims of AKS machines are not managed`,
    ["look at their events; Joiner's next pass comes within three minutes: kubectl events --types=Warning"],
    left
      .slice(0, mostNamed)
      .map((claim) => `NodeClaim ${claim.metadata.name} ${whyNot(claim) ?? 'was not adopted; its event says why'}`),
  )
}
