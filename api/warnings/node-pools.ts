import { maxNodeClassName, maxPoolName } from '../../core/node-claim/node-names.ts'
import { kubeletAnnotation } from '../../core/node-class/kubelet-conversion.ts'
import { labelVariables, labelWarnings } from './label-values.ts'
import { foreignKeys, foreignKeyWarning } from './other-providers.ts'
import { text, type Warning, type WarningPolicy } from './policy.ts'

const ofReason = '(!has(b.reasons) || reason in b.reasons)'
/** A budget that begins each day and lasts a day always holds. */
const isAlways =
  "(!has(b.schedule) || (has(b.duration) && b.schedule.matches('^(@daily|@midnight|[0-9]+ [0-9]+ [*] [*] [*])$') && b.duration.matches('^(2[4-9]|[3-9][0-9]|[1-9][0-9]{2,})h')))"

/** Reasons whose budgets all have a schedule, outside of which nothing limits them. */
const unlimitedReasons = `has(object.spec.disruption) && has(object.spec.disruption.budgets) ? ['Drifted', 'Empty', 'Underutilized'].filter(reason, object.spec.disruption.budgets.exists(b, ${ofReason}) && !object.spec.disruption.budgets.exists(b, ${isAlways} && ${ofReason})) : []`

const unlimitedWarning: Warning = {
  because: 'unlimited',
  holds: 'variables.unlimitedReasons.size() == 0',
  message:
    "'spec.disruption.budgets: each entry for ' + variables.unlimitedReasons.join(', ') + ' has a schedule, so outside of the schedules any number of nodes may be disrupted at once; add an entry without a schedule, such as nodes: \"10%\"'",
}

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
