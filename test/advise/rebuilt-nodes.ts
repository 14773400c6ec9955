// The same nodes with the same pods, as one autoscaler or another has them.
import { azureIds } from '../../deploy/local/cluster.ts'
import type { RawObject } from '../karpenter-remains.ts'
import { claimsPath, type World } from '../world.ts'

const nodesPath = '/api/v1/nodes'
const podsPath = '/api/v1/namespaces/default/pods'
const poolsPath = '/apis/karpenter.sh/v1/nodepools'
const vmGroup = `azure:///subscriptions/${azureIds.subscriptionId}/resourceGroups/${azureIds.nodeResourceGroup}/providers/Microsoft.Compute`

/** A Node with its NodeClaim. */
interface Pair {
  readonly node: RawObject
  readonly claim: RawObject
}

/** A cluster as it was: nodes with their pods, and what they were made by. */
export interface Kept {
  readonly pairs: readonly Pair[]
  readonly pods: readonly RawObject[]
  readonly pools: readonly RawObject[]
}

async function list(world: World, path: string): Promise<readonly RawObject[]> {
  return (await world.operator.api<{ items: readonly RawObject[] }>('GET', path)).items
}

/** The cluster as it is. */
export async function kept(world: World): Promise<Kept> {
  const [nodes, claims, pods, pools] = await Promise.all(
    [nodesPath, claimsPath, podsPath, poolsPath].map((path) => list(world, path)),
  )
  const pairs = (nodes ?? []).flatMap((node) => {
    const claim = claims?.find(({ status }) => status['nodeName'] === node.metadata['name'])
    return claim === undefined ? [] : [{ node, claim }]
  })
  return { pairs, pods: pods ?? [], pools: pools ?? [] }
}

/** Leaves no node, no NodePool and no pod, as nobody is there who would do it in an orderly way. */
export async function clear(world: World): Promise<void> {
  for (const path of [nodesPath, claimsPath, poolsPath])
    for (const { metadata } of await list(world, path)) await remove(world, `${path}/${String(metadata['name'])}`)
  await world.operator.kubectl(['delete', 'pods', '--all', '--force', '--grace-period=0', '--wait=false'])
  await world.until('no pod is left', async () => (await world.list('pods')).length === 0)
}

/** The same pods on the same nodes, of nobody who would make them again. */
async function runPods(world: World, pods: readonly RawObject[]): Promise<void> {
  for (const { metadata, spec } of pods) {
    const { name, labels } = metadata
    const { nodeName, containers } = spec as {
      readonly nodeName: string
      readonly containers: readonly Record<string, unknown>[]
    }
    const own = containers.map(({ name: container, image, resources }) => ({ name: container, image, resources }))
    const bound = { nodeName, containers: own, terminationGracePeriodSeconds: 0, automountServiceAccountToken: false }
    await world.operator.api('POST', podsPath, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels },
      spec: bound,
    })
  }
  await world.until('they run', async () => (await world.running('web')) === pods.length)
}

/** Makes them nodes of an agent pool, as AKS labels these; nothing of Karpenter is there. */
export async function asAgentPool(world: World, { pairs, pods }: Kept, pool: string): Promise<void> {
  for (const [at, { node }] of pairs.entries()) {
    const ofAks = Object.entries(node.metadata.labels).filter(
      ([key]) => !key.includes('karpenter') && !key.includes('joiner'),
    )
    const labels = {
      ...Object.fromEntries(ofAks),
      agentpool: pool,
      'kubernetes.azure.com/agentpool': pool,
      'kubernetes.azure.com/mode': 'user',
      'kubernetes.azure.com/os-sku': 'Ubuntu',
    }
    const providerID = `${vmGroup}/virtualMachineScaleSets/aks-${pool}-12345678-vmss/virtualMachines/${at}`
    await makeNode(world, node, { labels, providerID })
  }
  await runPods(world, pods)
}

/** Makes them machines of AKS with their NodePools, as node auto-provisioning has them. */
export async function asMachines(world: World, { pairs, pods, pools }: Kept): Promise<void> {
  for (const { metadata, status, ...pool } of pools) {
    const { name } = metadata
    await world.operator.api('POST', poolsPath, { ...pool, metadata: { name } })
    await world.operator.api('PATCH', `${poolsPath}/${String(name)}/status`, { status })
  }
  for (const { node, claim } of pairs) {
    const name = String(claim.metadata['name'])
    const machine = `/subscriptions/${azureIds.subscriptionId}/resourceGroups/clusters/providers/Microsoft.ContainerService/managedClusters/c/agentPools/aksmanagedap/machines/${name}`
    const providerID = `${vmGroup}/virtualMachines/aks-aksmanagedap-${name}`
    const annotations = { 'karpenter.azure.com/aks-machine-resource-id': machine }
    const uid = await makeClaim(world, claim, { annotations, providerID })
    await makeNode(world, node, { labels: node.metadata.labels, providerID, owner: { name, uid } })
  }
  await runPods(world, pods)
}

async function remove({ operator }: World, path: string): Promise<void> {
  await operator.api('PATCH', path, { metadata: { finalizers: null } })
  await operator.api('DELETE', path)
}

interface ClaimChange {
  readonly annotations: Readonly<Record<string, string>>
  readonly providerID: string
}

/** Returns its UID. */
async function makeClaim(world: World, claim: RawObject, { annotations, providerID }: ClaimChange): Promise<string> {
  const { name, labels, finalizers } = claim.metadata
  const own = Object.entries(claim.metadata.annotations).filter(([key]) => !key.startsWith('joiner.sh/'))
  const made = await world.operator.api<RawObject>('POST', claimsPath, {
    ...claim,
    metadata: { name, labels, finalizers, annotations: { ...Object.fromEntries(own), ...annotations } },
    status: undefined,
  })
  await world.operator.api('PATCH', `${claimsPath}/${String(name)}/status`, { status: { ...claim.status, providerID } })
  return made.metadata.uid
}

interface NodeChange {
  readonly labels: Readonly<Record<string, string>>
  readonly providerID: string
  readonly owner?: { readonly name: string; readonly uid: string }
}

async function makeNode(world: World, node: RawObject, { labels, providerID, owner }: NodeChange): Promise<void> {
  const { name } = node.metadata
  const reference = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', blockOwnerDeletion: true, ...owner }
  await world.operator.api('POST', nodesPath, {
    ...node,
    metadata: {
      name,
      labels,
      annotations: { 'kwok.x-k8s.io/node': 'fake' },
      ...(owner === undefined ? {} : { finalizers: node.metadata['finalizers'], ownerReferences: [reference] }),
    },
    spec: { providerID },
  })
}
