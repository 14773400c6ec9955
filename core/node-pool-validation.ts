import { isRestrictedLabel, labels, normalizedLabel, wellKnownLabels } from './labels.ts'
import type { NodePool, RequirementSpec, Taint } from './objects.ts'

const capacityTypes: ReadonlySet<string> = new Set(['spot', 'on-demand', 'reserved'])

/** What of a NodePool only a controller can see to be wrong; each text names the field and the value (reference/karpenter-core.md 1.1). */
export function runtimeErrors(pool: NodePool): readonly string[] {
  const { template } = pool
  return [
    ...Object.keys(template.labels)
      .filter((key) => key === labels.nodePool || isRestrictedLabel(key, wellKnownLabels))
      .map((key) => `spec.template.metadata.labels: label "${key}" is set by Karpenter alone; remove it`),
    ...duplicateTaints([...template.spec.taints, ...template.spec.startupTaints]),
    ...template.spec.requirements.flatMap(requirementErrors),
    ...(pool.isStatic ? ['spec.replicas: static NodePools are not supported yet; remove it'] : []),
  ]
}

function duplicateTaints(taints: readonly Taint[]): readonly string[] {
  const seen = new Set<string>()
  return taints.flatMap(({ key, effect }) => {
    const pair = `${key}=${effect}`
    if (!seen.has(pair)) {
      seen.add(pair)
      return []
    }
    return [`spec.template.spec.taints and startupTaints: duplicate taint Key/Effect pair ${pair}; remove one`]
  })
}

function requirementErrors({ key: written, operator, values = [], minValues }: RequirementSpec): readonly string[] {
  const key = normalizedLabel(written)
  const field = `spec.template.spec.requirements: key "${written}"`
  if (key === labels.nodePool) return [`${field} is set by Karpenter alone; remove it`]
  if (isRestrictedLabel(key, wellKnownLabels)) return [`${field} is restricted; remove it`]
  if (key !== labels.capacityType || operator !== 'In') return []
  const valid = values.filter((value) => capacityTypes.has(value)).length
  if (valid > 0 && valid >= (minValues ?? 0)) return []
  return [`${field} has values [${values.join(', ')}], of which ${valid} are known; use spot, on-demand or reserved`]
}
