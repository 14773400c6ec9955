import { isRestrictedLabel, labels, normalizedLabel, wellKnownLabels } from '../labels.ts'
import type { Pod } from '../objects.ts'
import { operatorOf } from '../requirement.ts'
import { podRequirements } from '../requirements.ts'

/**
 * Why a pod is not placed at all; undefined when it can be tried. Fields that the scheduler does not take into account are refused,
 * rather than placing the pod where it could not run.
 */
export function refusal(pod: Pod): string | undefined {
  return invalidSelection(pod) ?? unsupportedField(pod)
}

function invalidSelection(pod: Pod): string | undefined {
  const { nodeAffinity } = pod.affinity ?? {}
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const preferred = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  const terms = [...required, ...preferred.map(({ preference }) => preference)]
  if (terms.some(({ matchFields }) => (matchFields ?? []).length > 0)) {
    return 'ignoring pod, node selector term with matchFields is not supported'
  }
  const keys = [
    ...Object.keys(pod.nodeSelector),
    ...terms.flatMap(({ matchExpressions }) => (matchExpressions ?? []).map(({ key }) => key)),
  ].map(normalizedLabel)
  const nodePool = podRequirements(pod, { strict: true }).get(labels.nodePool)
  if (nodePool !== undefined && operatorOf(nodePool) === 'DoesNotExist') {
    return `ignoring pod, configured to not run on a Karpenter provisioned node (requirement=${labels.nodePool} DoesNotExist)`
  }
  const restricted = keys.find((key) => isRestrictedLabel(key, wellKnownLabels))
  return restricted === undefined ? undefined : restrictedLabelMessage(restricted)
}

function restrictedLabelMessage(key: string): string {
  const known = [...wellKnownLabels].sort().join(' ')
  return (
    `ignoring pod, using label ${key} is not allowed as it might interfere with the internal provisioning logic; ` +
    `specify a well known label: [${known}], or a custom label that does not use a restricted domain: [karpenter.sh]`
  )
}

function unsupportedField(pod: Pod): string | undefined {
  if ((pod.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0) {
    return 'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution is not supported yet'
  }
  if (pod.resourceClaims.length > 0) {
    return `spec.resourceClaims is not supported (claims ${pod.resourceClaims.join(', ')}); no instance type says which devices it has`
  }
  if (pod.persistentVolumeClaims.length > 0) {
    return `spec.volumes.persistentVolumeClaim is not supported yet (claims ${pod.persistentVolumeClaims.join(', ')})`
  }
  return undefined
}
