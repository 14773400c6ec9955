import type { ObjectMeta } from '../../../core/objects.ts'

/** Returns `namespace/name`, or the name of a cluster-scoped object. */
export function keyOf(meta: Pick<ObjectMeta, 'name' | 'namespace'>): string {
  return meta.namespace === undefined ? meta.name : `${meta.namespace}/${meta.name}`
}
