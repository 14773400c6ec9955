import { decodeNodeClass } from '../../../activities/kubernetes/cache/decode.ts'
import type { NodeClass } from '../../../api/objects.ts'
import { valueText } from '../../../api/shapes/shape.ts'
import { pathText } from '../../../core/values/field-error.ts'
import { isObject } from '../../../core/values/json.ts'
import { printable } from '../../../core/values/printable.ts'
import { type InputFile, inputName } from '../bounded/input.ts'
import { InputError } from '../simulate/input-error.ts'
import { manifestsOf, placeOf, readDocuments } from '../simulate/source.ts'
import { validateObject } from '../validate/validate-object.ts'

/** The AKSNodeClass of a file, as the API server would take it. Errors: InputError. */
export async function readNodeClass(input: InputFile): Promise<NodeClass> {
  const manifests = (await readDocuments([input])).flatMap(manifestsOf)
  const classes = manifests.filter(({ json }) => json['kind'] === 'AKSNodeClass')
  const [found] = classes
  if (found === undefined || classes.length > 1)
    throw new InputError(`${inputName(input.file)}: holds ${classes.length} AKSNodeClasses; give one`)
  const { json, document, path } = found
  const result = validateObject(json)
  if (result.kind === 'skipped')
    throw new InputError(
      `${placeOf(document, [...path, 'apiVersion'])}: AKSNodeClass: apiVersion ${valueText(json['apiVersion'])}; use karpenter.azure.com/v1beta1`,
    )
  const [error] = result.errors
  if (error !== undefined)
    throw new InputError(
      `${placeOf(document, [...path, ...error.path])}: ${pathText(error.path)}: ${printable(error.message)}`,
    )
  const metadata = isObject(json['metadata']) ? json['metadata'] : {}
  return decodeNodeClass({ ...json, metadata: { uid: '', resourceVersion: '', creationTimestamp: '', ...metadata } })
}
