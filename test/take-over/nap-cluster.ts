// A cluster as node auto-provisioning leaves it when it is turned off: AKS machines with their Nodes and NodeClaims, by the example of a node of Joiner.
import { azureIds, clusterName } from '../../deploy/local/cluster.ts'
import type { ArmSession } from '../arm/arm-session.ts'
import type { RawObject } from '../karpenter-remains.ts'
import { claimsPath, isTrue, type World } from '../world.ts'

/** The agent pool of node auto-provisioning. */
export const napPool = 'aksmanagedap'

/** Settings with which Joiner manages AKS machines. */
export const managing = {
  MANAGE_EXISTING_AKS_MACHINES: 'true',
  ARM_RESOURCE_GROUP: `${clusterName}-group`,
  JOINER_RESYNC_INTERVAL: '3s',
} as const

/** An older image than the newest, so that machines have drifted. */
const oldImage = '202604.10.0'

interface AksMachineState {
  readonly name: string
  readonly vm: string
  readonly isDeleting: boolean
}

/** The machines that the simulator has. */
export async function machinesOf(world: World): Promise<readonly AksMachineState[]> {
  const state = await world.operator.simulator<{ readonly aksMachines: readonly AksMachineState[] }>('GET', '/state')
  return state.aksMachines
}

/** Turns node auto-provisioning on or off. */
export function setNap(world: World, mode: 'Auto' | 'Manual'): Promise<void> {
  const cluster = { name: clusterName, properties: { nodeProvisioningProfile: { mode } } }
  return world.operator.simulator('POST', '/settings', { managedClusters: [cluster] })
}

/** Lets Joiner make a node of the pool `general` for the Deployment `inflate`, takes it as an example, and stops Joiner once all is gone. */
export async function exampleOf(world: World): Promise<{ readonly claim: RawObject; readonly node: RawObject }> {
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const seen = await world.until('the example is ready', async () =>
    (await world.list('nodeclaims')).find((claim) => isTrue(claim, 'Initialized')),
  )
  const { name } = seen.metadata
  const claim = await world.operator.api<RawObject>('GET', `${claimsPath}/${name}`)
  const node = await world.operator.api<RawObject>('GET', `/api/v1/nodes/aks-${name}`)
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaim', name, '--wait=false'])
  await world.untilNothingLeft()
  await world.crash()
  return { claim, node }
}

interface Wanted {
  readonly name: string
  readonly example: Awaited<ReturnType<typeof exampleOf>>
  /** Tag of the cluster on machine and VM. Default: this cluster's. */
  readonly cluster?: string
}

/** Makes a machine with its VM, Node and NodeClaim as node auto-provisioning does. */
export async function leaveMachine(
  world: World,
  arm: ArmSession,
  { name, example, cluster = clusterName }: Wanted,
): Promise<void> {
  const { claim, node } = example
  const { labels } = claim.metadata
  const image = imageOf(claim)
  const { zone, taints } = { zone: labels['topology.kubernetes.io/zone']?.split('-').at(-1), taints: [] }
  const nodeLabels = Object.fromEntries(
    Object.entries(node.metadata.labels).filter(([key]) => /^(karpenter\.|kubernetes\.azure\.com)/.test(key)),
  )
  await arm.putAks(`${napPool}/machines/${name}`, {
    ...(zone === undefined ? {} : { zones: [zone] }),
    properties: {
      hardware: { vmSize: labels['node.kubernetes.io/instance-type'] },
      kubernetes: { nodeLabels, nodeInitializationTaints: taints },
      nodeImageVersion: image,
      tags: {
        'karpenter.azure.com_cluster': cluster,
        'karpenter.sh_nodepool': labels['karpenter.sh/nodepool'],
        'karpenter.azure.com_aksmachine_nodeclaim': name,
      },
    },
  })
  const vm = await world.until(`machine ${name} has a Node`, async () => {
    const machine = (await machinesOf(world)).find((one) => one.name === name)
    const nodes = await world.list('nodes')
    return nodes.some(({ metadata }) => metadata.name === machine?.vm) && machine?.vm
  })
  await leaveClaim(world, { name, vm, image }, example)
}

/** The node image of the example's kind, of an older version. */
function imageOf({ status }: RawObject): string {
  const [, gallery = '', definition = ''] =
    /\/(?:communityGalleries|galleries)\/([^/-]+)[^/]*\/images\/([^/]+)\//i.exec(String(status['imageID'])) ?? []
  return `${gallery}-${definition}-${oldImage}`
}

async function leaveClaim(
  world: World,
  { name, vm, image }: { readonly name: string; readonly vm: string; readonly image: string },
  { claim }: Wanted['example'],
): Promise<void> {
  const { operator } = world
  const notJoiners = Object.entries(claim.metadata.annotations).filter(([key]) => !key.startsWith('joiner.sh/'))
  const { ownerReferences, labels, finalizers } = claim.metadata
  const machine = `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${clusterName}-group/providers/Microsoft.ContainerService/managedClusters/${clusterName}/agentPools/${napPool}/machines/${name}`
  const annotations = {
    ...Object.fromEntries(notJoiners),
    'karpenter.azure.com/aks-machine-resource-id': machine,
  }
  const metadata = { name, ownerReferences, labels, finalizers, annotations }
  const made = await operator.api<RawObject>('POST', claimsPath, { ...claim, metadata, status: undefined })
  const providerID = String(claim.status['providerID']).replace(/[^/]+$/, vm)
  await operator.api('PATCH', `${claimsPath}/${name}/status`, {
    status: { ...claim.status, providerID, nodeName: vm, imageID: image },
  })
  const owner = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name, uid: made.metadata.uid }
  await operator.api('PATCH', `/api/v1/nodes/${vm}`, {
    metadata: {
      finalizers,
      ownerReferences: [{ ...owner, blockOwnerDeletion: true }],
      labels: { 'karpenter.sh/registered': 'true', 'karpenter.sh/initialized': 'true' },
    },
  })
}
