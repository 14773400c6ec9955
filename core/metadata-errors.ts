import { labelValueErrors, qualifiedNameErrors, subdomainErrors } from './requirements/label-syntax.ts'
import type { FieldError } from './values/field-error.ts'
import { isObject } from './values/json.ts'
import { quoted, shortened, textOf } from './values/texts.ts'

/** Bytes of all annotations of an object, keys and values. */
const maxAnnotationBytes = 256 * 1024

/**
 * Returns what the API server refuses in the metadata of a cluster-wide object: name, labels, annotations, finalizers and owners
 * (kubernetes/apimachinery, ValidateObjectMeta). Values that are not strings are refused as well.
 */
export function metadataErrors(metadata: unknown): readonly FieldError[] {
  if (!isObject(metadata)) return [{ path: ['metadata'], message: 'is missing; give the object a name' }]
  const { name, generateName, labels, annotations, finalizers, ownerReferences } = metadata
  return [
    ...nameErrors(name, generateName),
    ...notStrings(labels, 'labels'),
    ...notStrings(annotations, 'annotations'),
    ...entriesOf(labels).flatMap(([key, value]) =>
      [...qualifiedNameErrors(key), ...labelValueErrors(value)].map((error) => ({
        path: ['metadata', 'labels', key],
        message: `${quoted(value)}: ${error}`,
      })),
    ),
    ...annotationErrors(annotations),
    ...listOf(finalizers).flatMap((finalizer, index) =>
      qualifiedNameErrors(textOf(finalizer)).map((error) => ({
        path: ['metadata', 'finalizers', index],
        message: `${quoted(textOf(finalizer))}: ${error}`,
      })),
    ),
    ...ownerErrors(listOf(ownerReferences)),
  ]
}

/** Returns an object's annotation errors. Upper case is accepted in the domain of a key. */
export function annotationErrors(annotations: unknown, path: FieldError['path'] = ['metadata', 'annotations']) {
  const entries = entriesOf(annotations)
  const bytes = entries.reduce((sum, [key, value]) => sum + utf8Length(key) + utf8Length(value), 0)
  const errors: FieldError[] = entries.flatMap(([key]) =>
    qualifiedNameErrors(key.toLowerCase()).map((error) => ({ path: [...path, key], message: `is no key: ${error}` })),
  )
  if (bytes > maxAnnotationBytes)
    errors.push({ path, message: `have ${bytes} bytes, and the API server takes ${maxAnnotationBytes}; shorten them` })
  return errors
}

function nameErrors(name: unknown, generateName: unknown): readonly FieldError[] {
  const path = ['metadata', name === undefined ? 'generateName' : 'name']
  const given = name ?? generateName
  if (typeof given !== 'string' || given === '')
    return [{ path: ['metadata', 'name'], message: 'is missing; give the object a name' }]
  // The API server appends letters and digits to it.
  const complete = name === undefined ? `${given}x` : given
  return subdomainErrors(complete).length === 0
    ? []
    : [
        {
          path,
          message: `"${shortened(given)}" is not a name; use at most 253 lower case letters, digits, "-" and ".", with a letter or digit at each end`,
        },
      ]
}

function ownerErrors(owners: readonly unknown[]): readonly FieldError[] {
  const controllers = owners.filter((owner) => isObject(owner) && owner['controller'] === true).length
  return [
    ...owners.flatMap((owner, index) =>
      ['apiVersion', 'kind', 'name', 'uid'].flatMap((field) =>
        isObject(owner) && typeof owner[field] === 'string' && owner[field] !== ''
          ? []
          : [{ path: ['metadata', 'ownerReferences', index, field], message: 'is missing; name the owner' }],
      ),
    ),
    ...(controllers > 1
      ? [{ path: ['metadata', 'ownerReferences'], message: 'name more than one controller; keep one' }]
      : []),
  ]
}

/** YAML reads `5` and `true` as something else than a string. Null is the empty one. */
function notStrings(map: unknown, field: string): readonly FieldError[] {
  return Object.entries(isObject(map) ? map : {})
    .filter(([, value]) => typeof value !== 'string' && value !== null)
    .map(([key, value]) => ({
      path: ['metadata', field, key],
      message: `${shortened(textOf(value))} is not a string; put it in quotes`,
    }))
}

function entriesOf(map: unknown): readonly (readonly [string, string])[] {
  return isObject(map) ? Object.entries(map).map(([key, value]) => [key, textOf(value)] as const) : []
}

const listOf = (list: unknown): readonly unknown[] => (Array.isArray(list) ? list : [])

/** Returns the bytes of a text in UTF-8; `core` may not use an encoder. */
export function utf8Length(text: string): number {
  let bytes = 0
  for (const character of text) {
    const code = character.codePointAt(0) as number
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
  }
  return bytes
}
