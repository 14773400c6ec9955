import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { isMap } from '../../../fakes/patches.ts'

/** The key by which entries of a list are one and the same, by the list's name. Other lists are replaced. */
export const mergeKeys: Readonly<Record<string, string>> = {
  conditions: 'type',
  containers: 'name',
  initContainers: 'name',
  env: 'name',
  volumes: 'name',
  ports: 'containerPort',
  addresses: 'type',
  ownerReferences: 'uid',
  topologySpreadConstraints: 'topologyKey',
}

/** Taints are merged by kubectl's patches, but belong to one writer where objects are applied. */
const patchKeys: typeof mergeKeys = { ...mergeKeys, taints: 'key' }

/** Strategic merge patch: maps are merged, and the lists of Kubernetes' own objects that have a key. */
export function strategicallyMerged(target: Json, patch: Json): Json {
  const result: Json = { ...target }
  for (const [key, value] of Object.entries(patch)) {
    const before = result[key]
    if (value === null) delete result[key]
    else if (isMap(value)) result[key] = strategicallyMerged(isMap(before) ? before : {}, value)
    else if (Array.isArray(value) && Array.isArray(before) && patchKeys[key] !== undefined)
      result[key] = mergedList(before, value, patchKeys[key])
    else result[key] = value
  }
  return result
}

function mergedList(before: readonly unknown[], patch: readonly unknown[], key: string): readonly unknown[] {
  const result = [...before]
  for (const entry of patch) {
    if (!isMap(entry)) continue
    const at = result.findIndex((one) => isMap(one) && one[key] === entry[key])
    const { $patch: directive, ...own } = entry
    if (directive === 'delete') {
      if (at >= 0) result.splice(at, 1)
    } else if (at < 0) result.push(own)
    else result[at] = strategicallyMerged(result[at] as Json, own)
  }
  return result
}
