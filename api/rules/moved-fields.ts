import type { FieldError } from '../../core/values/field-error.ts'

type Remedies = Readonly<Record<string, string>>

const noSelectors = 'remove it: AKS has no such setting'
const consolidation = 'write spec.disruption.consolidationPolicy and spec.disruption.consolidateAfter'
const nodeClass = 'write spec.template.spec.nodeClassRef with group: karpenter.azure.com, kind: AKSNodeClass and a name'
const kubelet = 'write its settings in the AKSNodeClass, as spec.kubelet and spec.maxPods'

const newer = 'write apiVersion: karpenter.sh/v1, which has it'
const limits = 'write cpu and memory under spec.limits, without resources'

/** Fields of NodePools of v1, and of Provisioners. */
const ofOldNodePool: Remedies = {
  'template.spec.terminationGracePeriod': newer,
  'template.spec.nodeClassRef.group': newer,
  replicas: newer,
  'limits.resources': limits,
}

/** Fields of NodePools of v1beta1, and of Provisioners before them, which have another name or are elsewhere. */
const ofNodePool: Remedies = {
  'template.spec.kubelet': kubelet,
  'template.spec.kubeletConfiguration': kubelet,
  kubeletConfiguration: kubelet,
  'template.spec.resources': 'remove it: requests are those of the pods',
  'template.spec.nodeClassRef.apiVersion': 'write group, which is the part before the slash: karpenter.azure.com',
  'limits.resources': limits,
  ttlSecondsAfterEmpty: consolidation,
  ttlSecondsUntilExpired: 'write spec.template.spec.expireAfter, such as 720h',
  consolidation,
  'disruption.consolidation': consolidation,
  provider: nodeClass,
  providerRef: nodeClass,
}

/** Fields of node classes of other clouds, of other versions, and of agent pools. */
const ofNodeClass: Remedies = {
  amiFamily: 'write imageFamily: Ubuntu or AzureLinux',
  amiSelectorTerms: 'write imageFamily: Ubuntu or AzureLinux',
  osImage: 'write imageFamily: Ubuntu or AzureLinux',
  osSKU: 'write imageFamily: Ubuntu or AzureLinux',
  blockDeviceMappings: 'write osDiskSizeGB',
  subnetSelectorTerms: 'write vnetSubnetID with the ARM id of the subnet',
  securityGroupSelectorTerms: noSelectors,
  role: noSelectors,
  instanceProfile: noSelectors,
  metadataOptions: noSelectors,
  userData: 'remove it: nodes take no scripts; let a DaemonSet do it',
  customData: 'remove it: nodes take no scripts; let a DaemonSet do it',
  nodePublicIP: 'remove it: nodes have no public IP addresses',
  imageID: 'remove it: imageFamily chooses the newest image',
  imageVersion:
    'remove it: imageFamily chooses the newest image; the annotation joiner.sh/hold-images: "true" keeps it',
  vmSize: 'write it in the NodePool, as a requirement node.kubernetes.io/instance-type',
  vmSeries: 'write it in the NodePool, as a requirement karpenter.azure.com/sku-series',
  securityProfile: 'write security',
  zones: 'write them in the NodePool, as a requirement topology.kubernetes.io/zone',
}

const remedies: ReadonlyMap<string, Remedies> = new Map([
  ['karpenter.sh/v1beta1 NodePool', ofOldNodePool],
  ['karpenter.sh/v1 NodePool', ofNodePool],
  ['karpenter.azure.com/v1beta1 AKSNodeClass', ofNodeClass],
])

/** Returns what to write in place of a field of a spec; undefined where it never was one. `kind`: with its version. */
export function movedFields(kind: string, [, ...path]: FieldError['path']): string | undefined {
  const own = remedies.get(kind)
  const name = path.join('.')
  return own !== undefined && Object.hasOwn(own, name) ? own[name] : undefined
}
