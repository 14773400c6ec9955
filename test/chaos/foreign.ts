import { clusterName } from '../../deploy/local/cluster.ts'
import { metaOf } from '../fast/kubernetes/api/objects.ts'
import { picked, type Scene, wait } from './scene.ts'
import type { ForeignKind } from './troubles.ts'

/** How others make what is theirs. Errors: there is nothing of ours that it could be about. */
export const foreignMakers = {
  nodes: (scene) => addNode(scene, { labels: {}, providerID: `azure:///foreign/${scene.foreign.nodes.size}` }),
  vms: (scene) => addVm(scene, { 'karpenter.azure.com_cluster': 'other' }),
  namesakes: (scene) =>
    addVm(scene, {
      'karpenter.azure.com_cluster': clusterName,
      'joiner.sh_cluster-uid': 'of-a-namesake',
      'karpenter.sh_nodepool': scene.plan.pools[0]?.name ?? '',
    }),
  impostors: async (scene, draw) => {
    const node = ownNode(scene, draw)
    const { providerID = '' } = node['spec'] as { readonly providerID?: string }
    const name = await addNode(scene, { labels: { 'karpenter.sh/nodepool': poolOf(node) }, providerID, isNew: true })
    scene.foreign.impostors.add(name)
  },
  finalizers: async (scene, draw) => {
    const { name, finalizers = [] } = metaOf(ownNode(scene, draw))
    scene.foreign.held.add(name)
    const held = { metadata: { finalizers: [...finalizers, 'example.com/inventory'] } }
    await scene.world.operator.api('PATCH', `/api/v1/nodes/${name}`, held)
  },
} satisfies Readonly<Record<ForeignKind, (scene: Scene, draw: number) => Promise<unknown>>>

/** Whoever posed with a provider id of ours takes these Nodes away. */
export async function removeImpostors({ foreign, world }: Scene): Promise<void> {
  for (const name of foreign.impostors) {
    foreign.nodes.delete(name)
    await world.operator.kubectl(['delete', 'nodes', name, '--wait=false', '--ignore-not-found'])
  }
  foreign.impostors.clear()
}

const poolOf = (node: Parameters<typeof metaOf>[0]) => metaOf(node).labels?.['karpenter.sh/nodepool'] ?? ''

function ownNode({ fast, foreign }: Scene, draw: number) {
  const own = fast.cluster.server.objects.of('nodes').filter((node) => {
    const { name, deletionTimestamp } = metaOf(node)
    return !foreign.nodes.has(name) && !foreign.held.has(name) && deletionTimestamp === undefined
  })
  const node = picked(own, draw)
  if (node === undefined) throw new Error('there is no Node of ours')
  return node
}

interface ForeignNode {
  readonly labels: Readonly<Record<string, string>>
  readonly providerID: string
  /** Whether it has the taint of a Node that waits for its registration. */
  readonly isNew?: boolean
}

/** A Node that nothing of Joiner's made, with a kubelet, on which pods may run. Returns its name. */
async function addNode({ world, foreign }: Scene, { labels, providerID, isNew = false }: ForeignNode): Promise<string> {
  const name = `foreign-${foreign.nodes.size + foreign.gone}`
  foreign.nodes.add(name)
  const platform = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' }
  await world.operator.api('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, annotations: { 'kwok.x-k8s.io/node': 'fake' }, labels: { ...platform, ...labels } },
    spec: {
      providerID,
      ...(isNew ? { taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }] } : {}),
    },
  })
  const room = { cpu: '2', memory: '8Gi', pods: '30' }
  await world.operator.api('PATCH', `/api/v1/nodes/${name}/status`, { status: { capacity: room, allocatable: room } })
  await wait(0)
  return name
}

/** A VM that is not this cluster's. */
async function addVm({ world, foreign }: Scene, tags: Readonly<Record<string, string>>): Promise<void> {
  const name = `aks-foreign-${foreign.vms.size}`
  foreign.vms.add(name)
  const arm = await world.arm()
  // Faults of Azure hit it as well: one that was refused never exists, and one whose answer is lost does.
  await arm.plantVm(name, { ...tags, 'joiner.sh_nodeclaim-uid': `of-${name}` })
  await arm.close()
}
