import type { NodeClassRef, NodePool, RequirementSpec } from '../objects.ts'
import { neverWritten } from '../requirements/claim-requirements.ts'
import { isRestrictedLabel, labels, wellKnownLabels } from '../requirements/labels.ts'
import { anyValue, operatorOf, type Requirement } from '../requirements/requirement.ts'
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

/** Returns what new NodeClaims of a pool are made from. */
export function templateOf({ metadata, template }: NodePool): TemplateInput {
  const { requirements, nodeClassRef } = template.spec
  return { nodePool: metadata.name, labels: template.labels, nodeClassRef, requirements }
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

/** Returns the requirements of a new NodeClaim of a static pool: those of its template alone (reference/karpenter-core.md 3.16). */
export function staticClaimRequirements(planned: Requirements): Requirements {
  return new Map([...planned].filter(([key]) => !neverWritten.has(key)))
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
