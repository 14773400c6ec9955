import { isObject } from '../../core/values/json.ts'
import { annotationsOf, mapObject, newNodeSpec, oldNodeSpec, withAnnotations } from './fields.ts'
import { type Json, without } from './residue.ts'

/**
 * Returns a v1beta1 NodeClaim in v1. In v1beta1 only the pool held the age of replacement. v1's default could end a node whose pool says `Never`, so
 * it is `Never`.
 */
export function newNodeClaim(claim: Json): Json {
  if (!isObject(claim['spec'])) return claim
  const { spec, annotations } = newNodeSpec(claim['spec'], annotationsOf(claim))
  return withAnnotations({ ...claim, spec: { ...spec, expireAfter: 'Never' } }, annotations)
}

/** Returns a v1 NodeClaim in v1beta1, without the fields that v1beta1 does not have. */
export function oldNodeClaim(claim: Json): Json {
  if (!isObject(claim['spec'])) return claim
  const { spec, annotations } = oldNodeSpec(claim['spec'], annotationsOf(claim))
  return withAnnotations(
    mapObject({ ...claim, spec }, 'status', (status) => without(status, 'lastPodEventTime')),
    annotations,
  )
}
