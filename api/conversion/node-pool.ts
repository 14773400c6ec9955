import { defined } from '../../core/values/defined.ts'
import { isObject } from '../../core/values/json.ts'
import { annotationsOf, mapList, mapObject, newNodeSpec, oldNodeSpec, withAnnotations } from './fields.ts'
import { type Json, without } from './residue.ts'

/** Returns a v1beta1 NodePool in v1, without the fields that v1 does not have. */
export function newNodePool(pool: Json): Json {
  const { template, disruption } = isObject(pool['spec']) ? pool['spec'] : {}
  const node = isObject(template) && isObject(template['spec']) ? template['spec'] : {}
  const { spec, annotations } = newNodeSpec(without(node, 'resources'), annotationsOf(pool))
  const expireAfter = isObject(disruption) ? disruption['expireAfter'] : undefined
  const converted = mapObject(pool, 'spec', (outer) =>
    mapObject(
      mapObject(outer, 'template', (inner) => ({ ...inner, spec: { ...spec, ...defined({ expireAfter }) } })),
      'disruption',
      newDisruption,
    ),
  )
  return withAnnotations(converted, annotations)
}

/**
 * `WhenUnderutilized` consolidated at once. `Never` disabled consolidation there too and still does. A `WhenEmpty` without a time also disables it;
 * v1beta1's API server refused it.
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
    ...defined({ consolidationPolicy: policy }),
    ...(after === undefined
      ? policy === 'WhenEmpty'
        ? { consolidateAfter: 'Never' }
        : {}
      : { consolidateAfter: after }),
  }
}

/** Returns a v1 NodePool in v1beta1, without the fields that v1beta1 does not have. */
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
    return { ...changed, disruption: { ...old, ...defined({ expireAfter }) } }
  })
  return withAnnotations(
    mapObject(converted, 'status', (status) => without(status, 'nodes', 'nodeClassObservedGeneration')),
    annotations,
  )
}

/** v1beta1 does not have a delay before an underutilized node is consolidated, and no budgets for single reasons. */
function oldDisruption(disruption: Json): Json {
  const {
    consolidationPolicy: policy,
    consolidateAfter: after,
    ...rest
  } = mapList(disruption, 'budgets', (budget) => without(budget, 'reasons'))
  if (policy === 'WhenEmpty') return { ...rest, consolidationPolicy: policy, ...defined({ consolidateAfter: after }) }
  return {
    ...rest,
    consolidationPolicy: 'WhenUnderutilized',
    ...(after === 'Never' ? { consolidateAfter: after } : {}),
  }
}
