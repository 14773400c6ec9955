import { kubeletErrors } from '../node-class/kubelet-conversion.ts'
import { taintErrors, taintValueErrors } from '../node-pool/node-pool-validation.ts'
import type { NodeClaim, RequirementSpec } from '../objects.ts'
import { normalizedLabel, wellKnownLabels } from '../requirements/labels.ts'
import { requirementErrors, syntaxErrors } from '../requirements/requirement-rules.ts'
import type { FieldError } from '../values/field-error.ts'
import { refusedKey } from './claim-keys.ts'
import { claimNameErrors, nodeClassNameErrors } from './node-names.ts'

/** Parts of a NodeClaim that reach its node as values. */
export interface ClaimValues {
  readonly metadata: Pick<NodeClaim['metadata'], 'name'> & Partial<Pick<NodeClaim['metadata'], 'annotations'>>
  readonly spec: Pick<NodeClaim['spec'], 'requirements' | 'taints' | 'startupTaints' | 'nodeClassRef'>
}

/**
 * Returns why a NodeClaim cannot become a node: a value that no label, taint or name on a node can have. The CRD refuses only some of them and
 * accepts any values of requirements. A claim made by hand passes no other check.
 */
export function claimValueErrors({ metadata, spec }: ClaimValues): readonly FieldError[] {
  const at = (...path: FieldError['path']) => ['spec', ...path]
  return [
    // Each of them names the annotation itself.
    ...kubeletErrors(metadata.annotations ?? {}).map((message) => ({ path: [], message })),
    ...claimNameErrors(metadata.name).map((message) => ({ path: ['metadata', 'name'], message })),
    ...nodeClassNameErrors(spec.nodeClassRef.name).map((message) => ({ path: at('nodeClassRef', 'name'), message })),
    ...taintErrors(spec.taints, spec.startupTaints).map((message) => ({ path: at('taints'), message })),
    ...taintValueErrors(spec.taints).map((message) => ({ path: at('taints'), message })),
    ...taintValueErrors(spec.startupTaints).map((message) => ({ path: at('startupTaints'), message })),
    ...spec.requirements.flatMap((entry, index) =>
      entryErrors(entry).map((message) => ({ path: at('requirements', index), message })),
    ),
  ]
}

function entryErrors(entry: RequirementSpec): readonly string[] {
  const refused = refusedKey(normalizedLabel(entry.key))
  if (refused === undefined) return requirementErrors(entry, wellKnownLabels)
  return [`${refused}; remove the requirement`, ...syntaxErrors(entry)]
}
