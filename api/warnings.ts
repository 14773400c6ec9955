import { maxNodeClassName, maxPoolName } from '../core/node-claim/node-names.ts'
import { kubeletAnnotation } from '../core/node-class/kubelet-conversion.ts'

/**
 * Warnings for objects that Karpenter's API accepts and that cannot work here, or have no effect. One table for `kubectl apply` (the chart's
 * admission policies are generated from it) and for `joiner validate`. Nothing is refused.
 */
export interface WarningPolicy {
  readonly name: string
  readonly about: readonly WarnedKind[]
  /** CEL over `object`: the policy applies only where all of them hold. */
  readonly matchConditions?: Named
  /** CEL by the name under `variables` that the warnings use. */
  readonly variables?: Named
  readonly warnings: readonly Warning[]
}

interface WarnedKind {
  readonly apiGroup: string
  /** `*`: any version. */
  readonly apiVersions: readonly string[]
  readonly kind: string
}

type Named = Readonly<Record<string, string>>

interface Warning {
  /** CEL over `object` and `variables`: true where there is nothing to warn of. One that fails gives no warning. */
  readonly holds: string
  /** CEL: the text, with field, value and remedy. */
  readonly message: string
  /** `noEffect`: nodes are the same without the field; `notReady`: no node is created. Tests compare the first with the inputs of nodes. */
  readonly because: 'noEffect' | 'notReady'
  /** A value of the chart for which the warning does not apply. */
  readonly unlessChartValue?: string
}

/** Returns a CEL text literal. */
const text = (value: string) => `'${value.replaceAll(/[\\']/g, (character) => `\\${character}`)}'`

const nodePools: WarningPolicy = {
  name: 'joiner-nodepools',
  about: [{ apiGroup: 'karpenter.sh', apiVersions: ['v1'], kind: 'NodePool' }],
  matchConditions: { 'of-aks': "object.spec.template.spec.nodeClassRef.group == 'karpenter.azure.com'" },
  variables: {
    requirements:
      "object.spec.template.spec.requirements.map(r, {'key': r.key, 'operator': r.operator, 'values': has(r.values) ? r.values : []})",
    taints:
      "(has(object.spec.template.spec.taints) ? object.spec.template.spec.taints.map(t, t.key + ':' + t.effect) : []) + (has(object.spec.template.spec.startupTaints) ? object.spec.template.spec.startupTaints.map(t, t.key + ':' + t.effect) : [])",
    twiceTainted: 'variables.taints.filter(t, variables.taints.filter(other, other == t).size() > 1)',
    // Keys whose requirements admit no value.
    conflicts:
      "variables.requirements.filter(a, a.operator == 'In' && variables.requirements.exists(b, b.key == a.key && ((b.operator == 'In' && !a.values.exists(v, v in b.values)) || (b.operator == 'NotIn' && a.values.all(v, v in b.values)) || b.operator == 'DoesNotExist')))",
    // Of the keys that only Azure or Kubernetes set, those that no node has.
    unknown:
      "variables.requirements.filter(r, r.operator == 'In' && ((r.key == 'karpenter.sh/capacity-type' && r.values.exists(v, !(v in ['on-demand', 'spot', 'reserved']))) || (r.key == 'kubernetes.io/os' && r.values.exists(v, v != 'linux')) || (r.key == 'kubernetes.io/arch' && r.values.exists(v, !(v in ['amd64', 'arm64']))) || (r.key == 'karpenter.azure.com/sku-family' && r.values.exists(v, !v.matches('^[A-Z]+$'))) || (r.key == 'node.kubernetes.io/instance-type' && r.values.exists(v, !v.matches('^(Standard|Basic)_')))))",
    kubelet: `has(object.metadata.annotations) && ${text(kubeletAnnotation)} in object.metadata.annotations ? object.metadata.annotations[${text(kubeletAnnotation)}] : '{}'`,
  },
  warnings: [
    {
      because: 'notReady',
      holds: '!has(object.spec.replicas)',
      message:
        "'spec.replicas ' + string(object.spec.replicas) + ': the gate StaticCapacity is off, so the NodePool will not become ready; set settings.featureGates.staticCapacity of the chart'",
      unlessChartValue: '(include "joiner.hasGate" (list . "StaticCapacity"))',
    },
    {
      because: 'notReady',
      holds: `!has(object.metadata.name) || object.metadata.name.size() <= ${maxPoolName}`,
      message: `'metadata.name has ' + string(object.metadata.name.size()) + ' characters, so no node can be named after it, and the NodePool will not become ready; use at most ${maxPoolName}'`,
    },
    {
      because: 'notReady',
      holds: `object.spec.template.spec.nodeClassRef.name.size() <= ${maxNodeClassName}`,
      message: `'spec.template.spec.nodeClassRef.name has ' + string(object.spec.template.spec.nodeClassRef.name.size()) + ' characters, which no label can have as its value, so the NodePool will not become ready; use at most ${maxNodeClassName}'`,
    },
    {
      because: 'notReady',
      holds: 'variables.conflicts.size() == 0',
      message:
        "'spec.template.spec.requirements: no value of ' + variables.conflicts[0].key + ' meets all requirements (one asks for ' + variables.conflicts[0].values.join(', ') + '), so no node can be created; remove one of them'",
    },
    {
      because: 'notReady',
      holds: 'variables.unknown.size() == 0',
      message:
        "'spec.template.spec.requirements: ' + variables.unknown[0].key + ' In ' + variables.unknown[0].values.join(', ') + ': not every value is one that a node can have; use ' + (variables.unknown[0].key == 'karpenter.sh/capacity-type' ? 'on-demand, spot or reserved' : variables.unknown[0].key == 'kubernetes.io/os' ? 'linux' : variables.unknown[0].key == 'kubernetes.io/arch' ? 'amd64 or arm64' : variables.unknown[0].key == 'karpenter.azure.com/sku-family' ? 'capital letters, such as D' : 'names such as Standard_D4s_v5')",
    },
    {
      because: 'notReady',
      holds: 'variables.twiceTainted.size() == 0',
      message:
        "'spec.template.spec.taints and startupTaints: ' + variables.twiceTainted[0] + ' is there more than once, so the NodePool will not become ready; keep one'",
    },
    {
      because: 'notReady',
      holds: String.raw`variables.kubelet.matches('^\\s*[{]')`,
      message: `${text(`metadata.annotations[${kubeletAnnotation}] "`)} + (variables.kubelet.size() > 40 ? variables.kubelet.substring(0, 40) : variables.kubelet) + '" is not a JSON object, so the NodePool will not become ready; write the kubelet object that v1beta1 had, or remove the annotation'`,
    },
  ],
}

const nodeClasses: WarningPolicy = {
  name: 'joiner-aksnodeclasses',
  about: [{ apiGroup: 'karpenter.azure.com', apiVersions: ['v1beta1', 'v1alpha2'], kind: 'AKSNodeClass' }],
  warnings: [
    {
      because: 'notReady',
      holds: `!has(object.metadata.name) || object.metadata.name.size() <= ${maxNodeClassName}`,
      message: `'metadata.name has ' + string(object.metadata.name.size()) + ' characters, which no label can have as its value, so the AKSNodeClass will not become ready; use at most ${maxNodeClassName}'`,
    },
    {
      because: 'notReady',
      holds: "!has(object.spec) || !has(object.spec.fipsMode) || object.spec.fipsMode != 'FIPS'",
      message:
        "'spec.fipsMode FIPS: its images are in shared galleries only, so the AKSNodeClass will not become ready without USE_SIG; set azure.sharedGallery of the chart'",
      unlessChartValue: '.Values.azure.sharedGallery.enabled',
    },
  ],
}

const unread: WarningPolicy = {
  name: 'joiner-unread',
  about: [
    { apiGroup: 'karpenter.sh', apiVersions: ['*'], kind: 'NodeOverlay' },
    { apiGroup: 'autoscaling.x-k8s.io', apiVersions: ['*'], kind: 'CapacityBuffer' },
  ],
  warnings: [
    {
      because: 'noEffect',
      holds: "object.kind != 'NodeOverlay'",
      message:
        "'kind NodeOverlay, metadata.name ' + object.metadata.name + ': the gate NodeOverlay is off, so it has no effect; set settings.featureGates.nodeOverlay of the chart'",
      unlessChartValue: '(include "joiner.hasGate" (list . "NodeOverlay"))',
    },
    {
      because: 'noEffect',
      holds: "object.kind != 'CapacityBuffer'",
      message:
        "'kind CapacityBuffer, metadata.name ' + object.metadata.name + ': the gate CapacityBuffer is off, so it has no effect; set settings.featureGates.capacityBuffer of the chart'",
      unlessChartValue: '(include "joiner.hasGate" (list . "CapacityBuffer"))',
    },
  ],
}

export const warningPolicies: readonly WarningPolicy[] = [nodePools, nodeClasses, unread]
