import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { isMap } from '../../../fakes/patches.ts'

type Matches = (object: Json) => boolean

/** Returns whether objects are selected by the selectors of a query. Values that are no texts select all. */
export function selection({ fieldSelector, labelSelector }: Readonly<Record<string, unknown>>): Matches {
  const fields = typeof fieldSelector === 'string' ? terms(fieldSelector).map(fieldTerm) : []
  const labels = typeof labelSelector === 'string' ? terms(labelSelector).map(labelTerm) : []
  return (object) => {
    const own = ((object['metadata'] as Json)['labels'] ?? {}) as Readonly<Record<string, string>>
    return fields.every((holds) => holds(object)) && labels.every((holds) => holds(own))
  }
}

/** Terms are apart by commas outside of brackets. */
const terms = (selector: string) => selector.match(/[^,(]+(\([^)]*\))?/g)?.map((term) => term.trim()) ?? []

function fieldTerm(term: string): Matches {
  const [, path = '', operator, wanted] = /^([^=!]+)(==|!=|=)(.*)$/.exec(term) ?? []
  const keys = path.split('.')
  return (object) => {
    const found = keys.reduce<unknown>((at, key) => (isMap(at) ? at[key] : undefined), object)
    const text = typeof found === 'string' ? found : JSON.stringify(found ?? '').replaceAll('"', '')
    return (text === wanted) === (operator !== '!=')
  }
}

function labelTerm(term: string): (labels: Readonly<Record<string, string>>) => boolean {
  const [, setKey = '', setOperator, list = ''] = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(term) ?? []
  if (setOperator !== undefined) {
    const values = list.split(',').map((value) => value.trim())
    return (labels) => {
      const value = labels[setKey]
      return setOperator === 'in'
        ? value !== undefined && values.includes(value)
        : value === undefined || !values.includes(value)
    }
  }
  const [, key = '', operator, wanted] = /^([^=!]+)(==|!=|=)(.*)$/.exec(term) ?? []
  if (operator !== undefined) return (labels) => (labels[key.trim()] === wanted?.trim()) === (operator !== '!=')
  return term.startsWith('!') ? (labels) => labels[term.slice(1)] === undefined : (labels) => labels[term] !== undefined
}
