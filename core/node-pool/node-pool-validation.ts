import { annotationErrors } from '../metadata-errors.ts'
import { nodeClassNameErrors, nodePoolNameErrors } from '../node-claim/node-names.ts'
import { kubeletErrors } from '../node-class/kubelet-conversion.ts'
import type { NodePool, Taint } from '../objects.ts'
import { unclaimable, unclaimableText } from '../requirements/claim-requirements.ts'
import { labelValueErrors, qualifiedNameErrors } from '../requirements/label-syntax.ts'
import { isRestrictedLabel, labels, wellKnownLabels } from '../requirements/labels.ts'
import { allows } from '../requirements/requirement.ts'
import { requirementErrors, restriction } from '../requirements/requirement-rules.ts'
import type { Requirements } from '../requirements/requirements.ts'
import { errorText, type FieldError } from '../values/field-error.ts'
import { shortened } from '../values/texts.ts'
import { fallbackPriceErrors } from './fallback-price.ts'
import { templateRequirements } from './node-claim-template.ts'

const effects: ReadonlySet<string> = new Set(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])

/** Returns errors of a NodePool that only a controller can find. `staticCapacity`: the gate StaticCapacity is on. */
export function runtimeErrors(
  pool: NodePool,
  { staticCapacity }: { readonly staticCapacity: boolean },
): readonly string[] {
  const { name, annotations } = pool.metadata
  return [
    ...templateErrors(pool.template, wellKnownLabels),
    ...nodePoolFieldErrors(name, pool.template).map(errorText),
    ...kubeletErrors(annotations),
    ...fallbackPriceErrors(pool.metadata),
    // The API forbids removing `replicas` from a pool that has it.
    ...(pool.isStatic && !staticCapacity
      ? [
          'spec.replicas: the gate StaticCapacity is off, so no nodes are kept; set settings.featureGates.staticCapacity of the chart, or make another NodePool without it',
        ]
      : []),
  ]
}

/**
 * Returns why no node can be created from a NodePool that upstream's rules accept. Names may be too long, NodeClaims may not accept its annotations
 * and requirements, and kubelet may refuse its taints. Paths start at the NodePool.
 */
export function nodePoolFieldErrors(name: string, template: NodePool['template']): readonly FieldError[] {
  const { taints, startupTaints, nodeClassRef, requirements } = template.spec
  const at = (...path: FieldError['path']) => ['spec', 'template', ...path]
  const named = [
    ...nodePoolNameErrors(name).map((message) => ({ path: ['metadata', 'name'], message })),
    ...nodeClassNameErrors(nodeClassRef.name).map((message) => ({ path: at('spec', 'nodeClassRef', 'name'), message })),
  ]
  // Both names are among the node's requirements, and an error of the template is reported by itself.
  const isKnown = named.length > 0 || templateErrors(template, wellKnownLabels).length > 0
  const required = templateRequirements({ nodePool: name, labels: template.labels, nodeClassRef, requirements })
  const why = unclaimable(required)
  return [
    ...named,
    ...annotationErrors(template.annotations, at('metadata', 'annotations')),
    ...taintValueErrors(taints).map((message) => ({ path: at('spec', 'taints'), message })),
    ...taintValueErrors(startupTaints).map((message) => ({ path: at('spec', 'startupTaints'), message })),
    ...(mayBeLinux(required) ? [] : [{ path: at('spec', 'requirements'), message: onlyLinux }]),
    ...(why === undefined || isKnown ? [] : [{ path: at('spec', 'requirements'), message: unclaimableText(why) }]),
  ]
}

const onlyLinux = `${labels.os} leaves out linux, and nodes of Joiner run Linux only; keep Windows pods to agent pools of the cluster (docs/limits.md)`

function mayBeLinux(required: Requirements): boolean {
  const os = required.get(labels.os)
  return os === undefined || allows(os, 'linux')
}

/** Returns the taint values with which kubelet does not start: it takes label values only, though the CRDs take more. */
export function taintValueErrors(taints: readonly Taint[]): readonly string[] {
  return taints.flatMap(({ key, value = '' }) =>
    labelValueErrors(value).map((error) => `of key ${key}: value ${JSON.stringify(shortened(value))}: ${error}`),
  )
}

/** The checks of a NodePool's template after admission, with upstream's texts (reference/karpenter-core.md 1.1, "Runtime validation"). */
export function templateErrors(template: NodePool['template'], wellKnown: ReadonlySet<string>): readonly string[] {
  const { taints, startupTaints, requirements } = template.spec
  const invalid = requirements.flatMap((entry) => {
    const errors = requirementErrors(entry, wellKnown)
    return errors.length === 0 ? [] : [`invalid value: ${errors.join('; ')} in requirements, restricted`]
  })
  return [
    ...Object.entries(template.labels).flatMap(([key, value]) => labelErrors(key, value, wellKnown)),
    ...taintErrors(taints, startupTaints),
    ...invalid,
    ...requirements
      .filter(({ key }) => key === labels.nodePool)
      .map(({ key }) => `invalid key: "${key}" in requirements, restricted`),
  ]
}

function labelErrors(key: string, value: string, wellKnown: ReadonlySet<string>): readonly string[] {
  const name = `invalid key name ${JSON.stringify(key)} in labels,`
  return [
    ...(key === labels.nodePool ? [`${name} restricted`] : []),
    ...qualifiedNameErrors(key).map((error) => `${name} ${JSON.stringify(error)}`),
    ...labelValueErrors(value).map((error) => `invalid value: ${value} for label[${key}], ${error}`),
    ...(isRestrictedLabel(key, wellKnown) ? [`${name} ${restriction(key, wellKnown)}`] : []),
  ]
}

/** Returns errors of taints, in upstream's words; key and effect must be unique over both lists. */
export function taintErrors(taints: readonly Taint[], startupTaints: readonly Taint[]): readonly string[] {
  const seen = new Set<string>()
  const check = (field: string) => (taint: Taint) => {
    const pair = `${taint.key}=${taint.effect}`
    const duplicate = seen.has(pair)
    seen.add(pair)
    return [
      ...qualifiedNameErrors(taint.key).map((error) => `invalid value: ${error} in ${field}`),
      ...(taint.value ? qualifiedNameErrors(taint.value) : []).map((error) => `invalid value: ${error} in ${field}`),
      ...(!taint.effect || effects.has(taint.effect) ? [] : [`invalid value: "${taint.effect}" in ${field}`]),
      ...(duplicate ? [`duplicate taint Key/Effect pair ${pair}`] : []),
    ]
  }
  return [...taints.flatMap(check('taints')), ...startupTaints.flatMap(check('startupTaints'))]
}
