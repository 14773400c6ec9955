import { isObject } from '../../core/values/json.ts'
import { annotationsOf, mapObject, newNodeSpec, oldNodeSpec, withAnnotations } from './fields.ts'
import { type Json, without } from './residue.ts'

/**
 * A v1beta1 NodeClaim as v1 has it. There the age at which a node was replaced stood in the pool alone; the default of v1 could end a
 * node whose pool says `Never`, so it is `Never`.
 */
export function newNodeClaim(claim: Json): Json {
  if (!isObject(claim['spec'])) return claim
  const { spec, annotations } = newNodeSpec(claim['spec'], annotationsOf(claim))
  return withAnnotations({ ...claim, spec: { ...spec, expireAfter: 'Never' } }, annotations)
}

/** A v1 NodeClaim as v1beta1 has it, without what v1beta1 has no field for. */
export function oldNodeClaim(claim: Json): Json {
  if (!isObject(claim['spec'])) return claim
  const { spec, annotations } = oldNodeSpec(claim['spec'], annotationsOf(claim))
  return withAnnotations(
    mapObject({ ...claim, spec }, 'status', (status) => without(status, 'lastPodEventTime')),
    annotations,
  )
}
