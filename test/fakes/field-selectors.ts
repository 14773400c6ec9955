import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { isMap } from './patches.ts'

/** Returns the field selector of a URL's query. */
export const fieldSelectorOf = (query: string | undefined) =>
  new URLSearchParams(query).get('fieldSelector') ?? undefined

/** Whether an object has the value that a selector `path=value` asks for. What is no text asks for nothing. */
export function matchesField(object: Json, selector: unknown): boolean {
  if (typeof selector !== 'string') return true
  const [path = '', value] = selector.split('=')
  const found = path.split('.').reduce<unknown>((at, key) => (isMap(at) ? at[key] : undefined), object)
  return found === value
}
