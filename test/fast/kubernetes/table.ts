import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import type { Column } from './api/schema.ts'

/** Objects as kubectl prints them: a column for the name, and those that the resource's CRD names. `wide`: those of lower priority too. */
export function table(objects: readonly Json[], columns: readonly Column[], wide: boolean): string {
  const shown = columns.filter(({ priority = 0 }) => wide || priority === 0)
  const rows = objects.map((object) => [
    (object['metadata'] as { readonly name: string }).name,
    ...shown.map(({ jsonPath }) => valueAt(object, jsonPath)),
  ])
  return [['NAME', ...shown.map(({ name }) => name.toUpperCase())], ...rows].map((row) => row.join('   ')).join('\n')
}

/** Fields, whose dots are escaped, and a list's item of a type. */
const steps = /\.((?:\\.|[^.[\\])+)|\[\?\(@\.type=="([^"]+)"\)\]/g

function valueAt(object: Json, jsonPath: string): string {
  let value: unknown = object
  for (const [, field, type] of jsonPath.matchAll(steps))
    value =
      field === undefined
        ? (value as readonly Json[] | undefined)?.find((one) => one['type'] === type)
        : (value as Json | undefined)?.[field.replaceAll('\\', '')]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
