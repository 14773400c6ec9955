import { isObject } from '../../core/values/json.ts'
import { annotationsOf, mapList, mapObject, newNodeSpec, oldNodeSpec, withAnnotations } from './fields.ts'
import { type Json, without } from './residue.ts'

/** A v1beta1 NodePool as v1 has it, without what v1 has no field for. */
export function newNodePool(pool: Json): Json {
  const { template, disruption } = isObject(pool['spec']) ? pool['spec'] : {}
  const node = isObject(template) && isObject(template['spec']) ? template['spec'] : {}
  const { spec, annotations } = newNodeSpec(without(node, 'resources'), annotationsOf(pool))
  const expireAfter = isObject(disruption) ? disruption['expireAfter'] : undefined
  const converted = mapObject(pool, 'spec', (outer) =>
    mapObject(
      mapObject(outer, 'template', (inner) => ({
        ...inner,
        spec: { ...spec, ...(expireAfter === undefined ? {} : { expireAfter }) },
      })),
      'disruption',
      newDisruption,
    ),
  )
  return withAnnotations(converted, annotations)
}

/**
 * `WhenUnderutilized` consolidated at once. `Never` switched consolidation off there too and keeps doing so, as does a `WhenEmpty` that
 * says no time, which the API server of v1beta1 refused.
 */
function newDisruption(disruption: Json): Json {
  const { consolidationPolicy: policy, consolidateAfter: after, ...rest } = without(disruption, 'expireAfter')
  if (policy === 'WhenUnderutilized')
    return {
      ...rest,
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      consolidateAfter: after === 'Never' ? after : '0s',
    }
  return {
    ...rest,
    ...(policy === undefined ? {} : { consolidationPolicy: policy }),
    ...(after === undefined
      ? policy === 'WhenEmpty'
        ? { consolidateAfter: 'Never' }
        : {}
      : { consolidateAfter: after }),
  }
}

/** A v1 NodePool as v1beta1 has it, without what v1beta1 has no field for. */
export function oldNodePool(pool: Json): Json {
  const { template } = isObject(pool['spec']) ? pool['spec'] : {}
  const node = isObject(template) && isObject(template['spec']) ? template['spec'] : {}
  const { expireAfter } = node
  const { spec, annotations } = oldNodeSpec(node, annotationsOf(pool))
  const converted = mapObject(pool, 'spec', (outer) => {
    const { disruption } = outer
    const hasDisruption = isObject(disruption) || expireAfter !== undefined
    const changed = mapObject(without(outer, 'replicas'), 'template', (inner) => ({ ...inner, spec }))
    if (!hasDisruption) return changed
    const old = oldDisruption(isObject(disruption) ? disruption : {})
    return { ...changed, disruption: { ...old, ...(expireAfter === undefined ? {} : { expireAfter }) } }
  })
  return withAnnotations(
    mapObject(converted, 'status', (status) => without(status, 'nodes', 'nodeClassObservedGeneration')),
    annotations,
  )
}

/** v1beta1 knows no waiting before a node that is badly used is consolidated, and no budgets for single reasons. */
function oldDisruption(disruption: Json): Json {
  const {
    consolidationPolicy: policy,
    consolidateAfter: after,
    ...rest
  } = mapList(disruption, 'budgets', (budget) => without(budget, 'reasons'))
  if (policy === 'WhenEmpty')
    return { ...rest, consolidationPolicy: policy, ...(after === undefined ? {} : { consolidateAfter: after }) }
  return {
    ...rest,
    consolidationPolicy: 'WhenUnderutilized',
    ...(after === 'Never' ? { consolidateAfter: after } : {}),
  }
}
