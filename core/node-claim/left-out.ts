import type { NodeClaim } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'

const mostNamed = 20

/** Returns the annotation that names sizes which the plan of a NodeClaim left out, because Azure had refused them. */
export function leftOutAnnotation(sizes: readonly string[]): Readonly<Record<string, string>> {
  return sizes.length === 0 ? {} : { [annotations.leftOut]: sizes.slice(0, mostNamed).join(',') }
}

/** Returns the sizes that the plan of a NodeClaim left out. */
export function leftOutOf({ metadata }: Pick<NodeClaim, 'metadata'>): ReadonlySet<string> {
  const text = metadata.annotations[annotations.leftOut] ?? ''
  return new Set(text.split(',').filter((name) => name !== ''))
}
