import { isObject } from '../../../core/values/json.ts'
import { printableStart } from '../../../core/values/printable.ts'

type Json = Readonly<Record<string, unknown>>

/** The objects of a list as `kubectl get` writes it; undefined for any other object. */
export function itemsOf({ kind, items }: Json): readonly unknown[] | undefined {
  return kind === 'List' && Array.isArray(items) ? items : undefined
}

/** How messages name an object, such as `NodePool "general"`. `longest`: the most characters of its kind, and of its name. */
export function subjectOf({ kind, metadata }: Json, longest: number): string {
  if (typeof kind !== 'string') return 'object without a kind'
  const name = isObject(metadata) ? metadata['name'] : undefined
  const shownName = typeof name === 'string' ? `"${printableStart(name, longest)}"` : 'without a name'
  return `${printableStart(kind, longest)} ${shownName}`
}
