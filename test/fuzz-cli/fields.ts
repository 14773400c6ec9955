import { isObject } from '../../core/values/json.ts'
import { type Case, plain } from './cases.ts'
import { corpus } from './corpus.ts'

type Path = readonly (string | number)[]

/** In the place of each field; undefined: it is left out. */
const replacements: readonly unknown[] = [undefined, null, 'text', 7.5, true, [], {}, [null], { a: null }]

/** Each field of each object of the cluster in the corpus, left out, null or of another type. */
const changes = fieldsOf(clusterItems(), []).flatMap((path) => replacements.map((value) => ({ path, value })))

/** How many there are. */
export const fieldCases = changes.length

/** The cluster with one field changed, as hand-written manifests. */
export function fieldCaseOf(index: number): Case {
  const { path, value } = changes[index] as (typeof changes)[number]
  const items = structuredClone(clusterItems()) as unknown as Record<string | number, unknown>
  const holder = path.slice(0, -1).reduce((at, key) => at[key] as Record<string | number, unknown>, items)
  const key = path.at(-1) as string | number
  if (value === undefined && !Array.isArray(holder)) delete holder[key]
  else holder[key] = value
  const types = plain(corpus.types)
  const file = plain({ name: 'cluster.json', values: [{ apiVersion: 'v1', kind: 'List', items }] })
  return { index, words: ['simulate', '--complete', '--catalog', types.name, file.name], files: [file, types] }
}

function clusterItems(): readonly unknown[] {
  return (corpus.cluster.values[0] as { readonly items: readonly unknown[] }).items
}

function fieldsOf(value: unknown, path: Path): readonly Path[] {
  const keys = Array.isArray(value) ? [...value.keys()] : isObject(value) ? Object.keys(value) : []
  return keys.flatMap((key) => [
    [...path, key],
    ...fieldsOf((value as Record<string | number, unknown>)[key], [...path, key]),
  ])
}
