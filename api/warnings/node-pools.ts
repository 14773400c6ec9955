import { maxNodeClassName, maxPoolName } from '../../core/node-claim/node-names.ts'
import { kubeletAnnotation } from '../../core/node-class/kubelet-conversion.ts'
import { unlimitedReasons, unlimitedWarning } from './budgets.ts'
import { labelVariables, labelWarnings } from './label-values.ts'
import { foreignKeys, foreignKeyWarning } from './other-providers.ts'
import { text, type WarningPolicy } from './policy.ts'

export const nodePools: WarningPolicy = {
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
      "variables.requirements.filter(a, a.operator == 'In' && a.values.size() > 0 && variables.requirements.exists(b, b.key == a.key && ((b.operator == 'In' && !a.values.exists(v, v in b.values)) || (b.operator == 'NotIn' && a.values.all(v, v in b.values)) || b.operator == 'DoesNotExist')))",
    foreignKeys,
    unlimitedReasons,
    ...labelVariables,
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
    ...labelWarnings,
    foreignKeyWarning,
    unlimitedWarning,
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
