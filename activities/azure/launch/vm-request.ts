import type { VirtualMachine } from '@azure/arm-compute'
import type { NodeClass } from '../../../api/objects.ts'
import { kubeletConversion } from '../../../core/node-class/kubelet-conversion.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { requirements } from '../../../core/requirements/requirements.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { VmSize } from '../catalogue/sku.ts'
import { type ResolvedImage, resolveImageFamily } from '../node-class/images.ts'
import { type NodeClassSettings, nodeClassSettings } from '../node-class/node-class-settings.ts'
import { aksNodeConfig } from '../node-config/bootstrap.ts'
import { customData } from '../node-config/custom-data.ts'
import { kubeletFlags } from '../node-config/kubelet-flags.ts'
import { type Chosen, kubeletLabels, labelsBeforeLaunch } from '../node-config/node-labels.ts'
import type { ClassLaunch } from '../refusals/launch-turn.ts'
import type { BootstrapToken } from './bootstrap-token.ts'
import type { NodeNetwork } from './network-facts.ts'
import { virtualMachine } from './virtual-machine.ts'

/** What is made for a claim. */
export interface MakeInput {
  readonly claim: NodeClaim
  readonly chosen: Chosen
  readonly size: VmSize
  readonly image: ResolvedImage
  readonly attempt: number
  readonly nodeClass: NodeClass
  readonly inClass: ClassLaunch
}

/** What the node of a claim is made of, as a VM or as a machine of AKS. */
export interface NodeRequestInput {
  readonly config: AzureConfig
  readonly nodeClass: NodeClassSettings
  readonly claim: Pick<NodeClaim, 'metadata' | 'spec'>
  readonly chosen: Chosen
  readonly size: VmSize
  readonly imageId: string
  readonly kubernetesVersion: string
  readonly attempt: number
}

export interface VmRequestInput extends NodeRequestInput {
  readonly network: NodeNetwork
  readonly bootstrapToken: BootstrapToken
}

/** Returns what the PUT of a VM or a machine says about the node. */
export function nodeRequest(
  config: AzureConfig,
  { claim, chosen, image, size, attempt, nodeClass }: Omit<MakeInput, 'inClass'>,
): NodeRequestInput {
  return {
    config,
    nodeClass: nodeClassSettings(nodeClass, config, kubeletConversion(claim.metadata.annotations)),
    claim,
    chosen,
    size,
    imageId: image.id,
    kubernetesVersion: nodeClass.status.kubernetesVersion ?? '',
    attempt,
  }
}

/** Returns the body of the PUT that makes a claim's node: the VM and, in its custom data, all that the node needs to join. */
export function vmRequest(input: VmRequestInput): VirtualMachine {
  const { config, nodeClass, network, claim, chosen, size, attempt, imageId } = input
  const { name, uid } = claim.metadata
  const nodePool = claim.metadata.labels[labels.nodePool]
  return virtualMachine({
    config,
    nodeClass,
    network,
    claim: { name, uid, ...(nodePool === undefined ? {} : { nodePool }) },
    size,
    zone: chosen.zone,
    capacityType: chosen.capacityType,
    imageId,
    customData: nodeCustomData(input),
    bootstrapTokenUid: input.bootstrapToken.secretUid,
    attempt,
    ultraSsd: chosen.ultraSsd,
    reservationGroupId: chosen.reservation?.groupId,
  })
}

function nodeCustomData({
  config,
  nodeClass,
  network,
  claim,
  chosen,
  size,
  kubernetesVersion,
  bootstrapToken,
}: VmRequestInput): string {
  const overhead = chosen.instanceType?.overhead
  return customData(
    aksNodeConfig({
      config,
      nodeClass,
      network,
      vmSize: chosen.typeName,
      arch: size.arch,
      gpuVendor: size.gpu?.vendor,
      kubernetesVersion,
      bootstrapToken: bootstrapToken.token,
      nodeLabels: kubeletLabels({
        config,
        nodeClass,
        kubernetesVersion,
        imageFamilyResolved: resolveImageFamily(nodeClass, kubernetesVersion),
        claimLabels: labelsBeforeLaunch(claim.metadata.labels),
        wanted: requirements(claim.spec.requirements),
        chosen,
      }),
      kubeletFlags: kubeletFlags({
        kubernetesVersion,
        maxPods: nodeClass.maxPods,
        clusterDnsServiceIp: config.clusterDnsServiceIp,
        kubelet: nodeClass.kubelet,
        v1beta1Kubelet: nodeClass.v1beta1Kubelet,
        taints: claim.spec.taints,
        startupTaints: claim.spec.startupTaints,
        kubeReserved: overhead?.kubeReserved ?? {},
        systemReserved: overhead?.systemReserved ?? {},
      }),
    }),
  )
}
