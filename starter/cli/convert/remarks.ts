import { mixedVersions } from '../../../api/conversion/mixed-versions.ts'
import type { Json } from '../../../api/conversion/residue.ts'
import type { YamlDocument } from '../../../api/yaml/read.ts'
import { isObject } from '../../../core/values/json.ts'
import { itemsOf, subjectOf } from '../shared/manifest-words.ts'

const mostRemarks = 20
const longestName = 100

/** What a reader should check of a document's objects: those of two versions at once, and those too old to convert. */
export function remarksOn({ value, lineOf }: YamlDocument, name: string): readonly string[] {
  if (!isObject(value)) return []
  const items = itemsOf(value)
  return (items ?? [value])
    .flatMap((object, at) => {
      const remark = isObject(object) ? remarkOn(object) : undefined
      return remark === undefined ? [] : [{ remark, path: items === undefined ? ['kind'] : ['items', at] }]
    })
    .slice(0, mostRemarks)
    .map(({ remark, path }) => `${name}:${lineOf(path)}: ${remark}`)
}

function remarkOn(object: Json): string | undefined {
  const { apiVersion, kind } = object
  if (kind === 'Provisioner' && typeof apiVersion === 'string' && apiVersion.startsWith('karpenter.sh/'))
    return `${subjectOf(object, longestName)} is left as it is: Provisioners are older than what can be converted; write a NodePool of karpenter.sh/v1`
  const mixed = mixedVersions(object)
  if (mixed === undefined) return undefined
  const { own, other } = mixed
  const what = `${subjectOf(object, longestName)} is of ${own}, with fields of ${other} (${mixed.fields.join(', ')})`
  return own === 'karpenter.sh/v1'
    ? `${what}, and is left as it is; if all of it is that old, write apiVersion: ${other} and convert it again, else correct what joiner validate names`
    : `${what}; check the output with joiner validate`
}
