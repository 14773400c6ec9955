import { compatibleOfferings, type InstanceType, isLaunchable, orderByPrice } from '../instance-type.ts'
import type { NodeClassRef, RequirementSpec } from '../objects.ts'
import { neverWritten } from '../requirements/claim-requirements.ts'
import { isRestrictedLabel, labels, wellKnownLabels } from '../requirements/labels.ts'
import { anyValue, inValues, operatorOf, type Requirement } from '../requirements/requirement.ts'
import { merge, type Requirements, requirements, requirementsOfLabels } from '../requirements/requirements.ts'
import { emptyRecord } from '../values/records.ts'

/** Most instance types in a NodeClaim, cheapest first. */
export const maxInstanceTypes = 600

export interface TemplateInput {
  readonly nodePool: string
  readonly labels: Readonly<Record<string, string>>
  readonly nodeClassRef: NodeClassRef
  readonly requirements: readonly RequirementSpec[]
}

/** The label that names a claim's node class: `<group>/<lower-case kind>`. */
function nodeClassLabel(ref: NodeClassRef): string {
  return `${ref.group}/${ref.kind.toLowerCase()}`
}

/** Returns the requirements that every node of a pool meets: the pool's requirements, its labels, its own name and that of its node class. */
export function templateRequirements(template: TemplateInput): Requirements {
  const own = {
    ...template.labels,
    [labels.nodePool]: template.nodePool,
    [nodeClassLabel(template.nodeClassRef)]: template.nodeClassRef.name,
  }
  return merge(requirements(template.requirements), requirementsOfLabels(own).values())
}

/**
 * Returns the requirements of a new NodeClaim: those planned, the types it may become (cheapest first, at most 600) and the capacity types that can
 * be launched (reference/karpenter-core.md 3.14).
 */
export function claimRequirements(
  planned: Requirements,
  types: readonly InstanceType[],
  wellKnown: ReadonlySet<string> = wellKnownLabels,
): Requirements {
  const ordered = orderByPrice(types, planned, wellKnown).slice(0, maxInstanceTypes)
  const named = inValues(
    labels.instanceType,
    ordered.map((type) => type.name),
  )
  const capacityTypes = launchableCapacityTypes(ordered, planned, wellKnown)
  return merge(staticClaimRequirements(planned), [
    named,
    ...(capacityTypes.size === 0 ? [] : [inValues(labels.capacityType, capacityTypes)]),
  ])
}

/** Returns the requirements of a new NodeClaim of a static pool: those of its template alone (reference/karpenter-core.md 3.16). */
export function staticClaimRequirements(planned: Requirements): Requirements {
  return new Map([...planned].filter(([key]) => !neverWritten.has(key)))
}

function launchableCapacityTypes(
  types: readonly InstanceType[],
  planned: Requirements,
  wellKnown: ReadonlySet<string>,
): ReadonlySet<string> {
  const found = new Set<string>()
  for (const type of types) {
    for (const offering of compatibleOfferings(type, planned, wellKnown)) {
      if (!isLaunchable(offering)) continue
      for (const value of offering.requirements.get(labels.capacityType)?.values ?? []) found.add(value)
    }
  }
  return found
}

/** Returns the labels of a new NodeClaim: the template's, and one value of each custom requirement. */
export function claimLabels(
  template: TemplateInput,
  planned: Requirements,
  wellKnown: ReadonlySet<string> = wellKnownLabels,
): Record<string, string> {
  const result = emptyRecord<string>()
  for (const [key, set] of planned) {
    const isCustom = !wellKnown.has(key) && !isRestrictedLabel(key, wellKnown)
    const value = isCustom ? valueFor(set) : ''
    if (value !== '') result[key] = value
  }
  return {
    ...result,
    ...template.labels,
    [labels.nodePool]: template.nodePool,
    [nodeClassLabel(template.nodeClassRef)]: template.nodeClassRef.name,
  }
}

/** A label that must be absent stays absent. */
function valueFor(set: Requirement): string {
  return operatorOf(set) === 'DoesNotExist' ? '' : anyValue(set)
}
