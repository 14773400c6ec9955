// NodeClaims, Nodes and VMs as Karpenter for Azure leaves them when it is stopped.
import { clusterName, subnetId } from '../deploy/local/cluster.ts'
import type { ArmSession } from './arm/arm-session.ts'
import { claimsPath, type World } from './world.ts'

/** An object of the API server, as it is. */
export interface RawObject {
  readonly metadata: Record<string, unknown> & {
    readonly labels: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
    readonly uid: string
  }
  readonly spec: Record<string, unknown>
  readonly status: Record<string, unknown>
}

/** A node that Karpenter is to have left, by the example of one that is there. */
interface Left {
  readonly name: string
  readonly claim: RawObject
  readonly node: RawObject
  /** False: it ended between the PUT of the VM and the write of the NodeClaim's status. */
  readonly isWhole?: boolean
}

/** A VM as Karpenter makes them: nothing names its claim but its own name, which its NIC and disk share. */
export function karpentersVm(name: string, size: string, nicStays = false) {
  const tags = { 'karpenter.azure.com_cluster': clusterName, 'karpenter.sh_nodepool': 'general' }
  const ipConfigurations = [{ name, properties: { subnet: { id: subnetId } } }]
  const properties = { primary: true, deleteOption: nicStays ? 'Detach' : 'Delete', ipConfigurations }
  return {
    location: 'westus2',
    tags,
    properties: {
      hardwareProfile: { vmSize: size },
      storageProfile: { osDisk: { name, createOption: 'FromImage', deleteOption: 'Delete', diskSizeGB: 128 } },
      networkProfile: {
        networkApiVersion: '2022-11-01',
        networkInterfaceConfigurations: [{ name, tags, properties }],
      },
      osProfile: { adminUsername: 'azureuser', computerName: name },
    },
  }
}

/** Leaves nodes behind as Karpenter would have. */
export class KarpenterRemains {
  readonly #world: World
  readonly #arm: ArmSession

  constructor(world: World, arm: ArmSession) {
    this.#world = world
    this.#arm = arm
  }

  /** Makes NodeClaim, Node and VM. */
  async leave({ name, claim, node, isWhole = true }: Left): Promise<void> {
    const { operator } = this.#world
    const vm = `aks-${name}`
    await this.#arm.putVm(vm, karpentersVm(vm, claim.metadata.labels['node.kubernetes.io/instance-type'] ?? ''))
    const notJoiners = Object.entries(claim.metadata.annotations).filter(([key]) => !key.startsWith('joiner.sh/'))
    const { ownerReferences, labels, finalizers } = claim.metadata
    const metadata = { name, ownerReferences, labels, finalizers, annotations: Object.fromEntries(notJoiners) }
    const made = await operator.api<RawObject>('POST', claimsPath, { ...claim, metadata, status: undefined })
    const providerID = String(claim.status['providerID']).replace(/[^/]+$/, vm)
    if (isWhole)
      await operator.api('PATCH', `${claimsPath}/${name}/status`, {
        status: { ...claim.status, providerID, nodeName: vm },
      })
    const owner = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      name,
      uid: made.metadata.uid,
      blockOwnerDeletion: true,
    }
    const {
      'karpenter.sh/registered': registered,
      'karpenter.sh/initialized': initialized,
      ...others
    } = node.metadata.labels
    const done = { 'karpenter.sh/registered': registered, 'karpenter.sh/initialized': initialized }
    await operator.api('POST', '/api/v1/nodes', {
      ...node,
      metadata: {
        name: vm,
        annotations: { 'kwok.x-k8s.io/node': 'fake' },
        labels: { ...others, 'kubernetes.io/hostname': vm, ...(isWhole ? done : {}) },
        ...(isWhole ? { finalizers, ownerReferences: [owner] } : {}),
      },
      spec: { providerID, taints: isWhole ? [] : [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }] },
    })
  }
}
