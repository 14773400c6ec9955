import { apiVersions } from '../../../activities/azure/arm/api-versions.ts'
import { whyElsewhere } from '../../../activities/azure/machines/machine-ownership.ts'
import { clusterPath } from '../../../activities/azure/machines/machines-api.ts'
import { napRefusal } from '../../../activities/azure/machines/nap-refusal.ts'
import { decodeNodeClaim } from '../../../activities/kubernetes/cache/decode.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { isAdopted, isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { ArmRefusal } from './arm-reader.ts'
import { type Check, type Finding, fail, ok, reason, warn } from './check.ts'
import type { DoctorContext } from './context.ts'

/** Claims that are named one by one. */
const mostNamed = 5

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
      const { items } = await kubernetes.list(resourcePath('nodeclaims'))
      const claims = items.map((json) => decodeNodeClaim(json)).filter(isAksMachine)
      if (!config.MANAGE_EXISTING_AKS_MACHINES) return unmanaged(claims)
      const version = `api-version=${apiVersions['Microsoft.ContainerService/managedClusters']}`
      let cluster: ClusterJson
      try {
        cluster = await arm.get<ClusterJson>(`${clusterPath(scope)}?${version}`, signal)
        await arm.list(`${clusterPath(scope)}/agentPools?${version}`, signal)
      } catch (error) {
        if (!(error instanceof ArmRefusal)) throw error
        return fail(`the cluster cannot be read: ${reason(error)}`, [
          `check ARM_RESOURCE_GROUP and CLUSTER_NAME, and assign the role of deploy/azure/joiner-machines-role.json to Joiner's identity on ${clusterPath(scope)}`,
        ])
      }
      const refusal = napRefusal(cluster.properties?.nodeProvisioningProfile?.mode ?? 'Manual', scope)
      if (refusal !== undefined)
        return fail(refusal, [
          `az aks update --name ${config.CLUSTER_NAME} --resource-group ${config.ARM_RESOURCE_GROUP} --node-provisioning-mode Manual`,
        ])
      return managed(claims, (claim) => whyElsewhere(claim, scope))
    },
  }
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
