import { findClusterUid } from '../../../activities/azure/access/found-facts.ts'
import { apiVersions } from '../../../activities/azure/arm/api-versions.ts'
import { listedInstance } from '../../../activities/azure/garbage/listed-instance.ts'
import { tagKeys, tagOf } from '../../../activities/azure/launch/tags.ts'
import { providerIdOf } from '../../../activities/azure/launch/virtual-machine.ts'
import { whyElsewhere } from '../../../activities/azure/machines/machine-ownership.ts'
import { clusterPath } from '../../../activities/azure/machines/machines-api.ts'
import { napRefusal } from '../../../activities/azure/machines/nap-refusal.ts'
import { managesMachines } from '../../../api/config.ts'
import { isTrue } from '../../../core/conditions.ts'
import { doubtOf, type KnownClaim } from '../../../core/garbage.ts'
import { isAdopted, isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { printableStart } from '../../../core/values/printable.ts'
import { present } from '../../document/words.ts'
import { ArmRefusal } from '../../picture/arm-reader.ts'
import { clusterScene, nodeClaims } from '../../picture/from-cluster.ts'
import { whyOf } from '../../picture/missing.ts'
import { readWhole } from '../../picture/picture.ts'
import { type DoctorContext, type Finding, fail, groupId, ok, warn } from './check.ts'

/** Claims that are named one by one. */
const mostNamed = 5

interface VmJson {
  readonly id: string
  readonly tags?: Record<string, string>
}

type Listed = ReadonlyMap<string, VmJson>

/** Whether the VMs of registered NodeClaims are found where Joiner looks for them, which garbage collection depends on. */
export async function examineInstances(context: DoctorContext, signal: AbortSignal): Promise<Finding> {
  const { config, arm, kubernetes } = context
  const path = `${groupId(config)}/providers/Microsoft.Compute/virtualMachines?api-version=${apiVersions['Microsoft.Compute/virtualMachines']}`
  const [{ nodeClaims: claims }, vms, clusterUid] = await Promise.all([
    readWhole(clusterScene(kubernetes), { nodeClaims }),
    arm.list<VmJson>(path, signal),
    findClusterUid(kubernetes),
  ])
  const listed = new Map(vms.map((vm) => [providerIdOf(vm.id).toLowerCase(), vm]))
  const scope = {
    clusterName: config.CLUSTER_NAME,
    clusterUid,
    subscriptionId: config.ARM_SUBSCRIPTION_ID,
    nodeResourceGroup: config.AZURE_NODE_RESOURCE_GROUP,
  }
  const known = claims
    .filter((claim) => !isAksMachine(claim) && isTrue(claim.status.conditions, 'Registered'))
    .map((claim): Known => ({ ...knownClaim(claim), claim, instance: listedInstance(claim, listed, scope) }))
  return findingOf(known, listed, context)
}

interface Known extends KnownClaim {
  readonly claim: NodeClaim
}

/** Nodes are not read: whether a VM is missing is what is asked here, not whether its NodeClaim may be deleted. */
function knownClaim({ metadata: { name, uid, deletionTimestamp } }: NodeClaim): Omit<KnownClaim, 'instance'> {
  return { name, uid, isRegistered: true, isBeingDeleted: deletionTimestamp !== undefined, hasReadyNode: false }
}

function findingOf(known: readonly Known[], listed: Listed, { config }: DoctorContext): Finding {
  const group = config.AZURE_NODE_RESOURCE_GROUP
  const lost = known.filter(({ instance, isBeingDeleted }) => instance !== 'own' && !isBeingDeleted)
  if (lost.length === 0) return ok(`all ${known.length} registered NodeClaims have their VM in resource group ${group}`)
  const details = lost.slice(0, mostNamed).map((one) => detailOf(one, listed))
  const remedies = remediesOf(lost, listed)
  const doubt = doubtOf(known)
  if (doubt !== undefined) return fail(`garbage collection is withheld: ${doubt}`, remedies, details)
  return warn(
    `${lost.length} of ${known.length} registered NodeClaims have no VM of their own in ${group}`,
    remedies,
    details,
  )
}

function detailOf({ claim, instance }: Known, listed: Listed): string {
  const id = claim.status.providerId ?? ''
  const tags = listed.get(id.toLowerCase())?.tags
  const reported = {
    own: '',
    missing: 'Azure lists no such VM',
    namesake: `the VM has ${tagKeys.claimUid} "${tagOf(tags, tagKeys.claimUid) ?? ''}", of another NodeClaim of that name`,
    elsewhere: 'the VM lies outside of the configured resource group',
    unproven: `the VM has ${tagKeys.cluster} "${tagOf(tags, tagKeys.cluster) ?? ''}" and ${tagKeys.claimUid} "${tagOf(tags, tagKeys.claimUid) ?? ''}"`,
  }[instance]
  return `NodeClaim ${claim.metadata.name} (${id || 'no status.providerID'}): ${reported}`
}

function remediesOf(lost: readonly Known[], listed: Listed): readonly string[] {
  const of = (instance: Known['instance']) => lost.filter((one) => one.instance === instance)
  const groups = new Set(of('elsewhere').flatMap(({ claim }) => groupIn(claim.status.providerId) ?? []))
  const clusters = new Set(
    of('unproven').flatMap(
      ({ claim }) => tagOf(listed.get(claim.status.providerId?.toLowerCase() ?? '')?.tags, tagKeys.cluster) ?? [],
    ),
  )
  const namesakes = of('namesake').map(({ claim: { metadata, status } }) => {
    const uid = tagOf(listed.get(status.providerId?.toLowerCase() ?? '')?.tags, tagKeys.claimUid)
    return `to give NodeClaim ${metadata.name} that VM: kubectl annotate nodeclaim ${metadata.name} ${annotations.adoptedFrom}=${uid}`
  })
  const missing = of('missing').map(({ name }) => name)
  return present(
    ...[...groups].map(
      (name) => `if the nodes are in ${name}, set azure.nodeResourceGroup (AZURE_NODE_RESOURCE_GROUP) to it`,
    ),
    ...namesakes.slice(0, mostNamed),
    ...[...clusters].map((name) => `if this cluster is "${name}", set cluster.name (CLUSTER_NAME) to it`),
    missing.length !== 0 &&
      `if these VMs were deleted on purpose: kubectl delete nodeclaim ${missing.slice(0, mostNamed).join(' ')}${missing.length > mostNamed ? ' ...' : ''}`,
  )
}

function groupIn(providerId = ''): string | undefined {
  return /\/resourceGroups\/([^/]+)/i.exec(providerId)?.[1]
}

/** Claims that are named one by one. */
const mostMachines = 5

interface PoolJson {
  readonly name?: string
  readonly properties?: { readonly mode?: string }
}

interface ClusterJson {
  readonly properties?: { readonly nodeProvisioningProfile?: { readonly mode?: string } }
}

/** Whether the AKS machines of the cluster are managed as the setting says, or left alone as without it. */
export async function examineMachines(context: DoctorContext, signal: AbortSignal): Promise<Finding> {
  const { config, arm, kubernetes } = context
  const scope = {
    subscriptionId: config.ARM_SUBSCRIPTION_ID,
    clusterResourceGroup: config.ARM_RESOURCE_GROUP,
    nodeResourceGroup: config.AZURE_NODE_RESOURCE_GROUP,
    clusterName: config.CLUSTER_NAME,
    clusterUid: '',
  }
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
      .slice(0, mostMachines)
      .map((claim) => `NodeClaim ${claim.metadata.name} ${whyNot(claim) ?? 'was not adopted; its event says why'}`),
  )
}
