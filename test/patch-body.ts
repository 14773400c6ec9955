import type { Operation } from '../activities/kubernetes/client/json-patch.ts'

/** What a request writes, as an object: its body, or what a JSON patch sets; a removed list is an empty one. Not JSON: nothing. */
export function written(body: string): Record<string, unknown> {
  if (body.startsWith('{')) return JSON.parse(body) as Record<string, unknown>
  if (!body.startsWith('[')) return {}
  const object = {}
  for (const operation of JSON.parse(body) as readonly Operation[]) if (operation.op !== 'test') set(object, operation)
  return object
}

function set(object: Record<string, unknown>, operation: Exclude<Operation, { op: 'test' }>): void {
  const keys = operation.path.slice(1).split('/').map(unescaped)
  const last = keys.pop() ?? ''
  const parent = keys.reduce((fields, key) => (fields[key] ??= {}) as Record<string, unknown>, object)
  parent[last] = operation.op === 'remove' ? removed(last) : operation.value
}

const lists = new Set(['finalizers', 'taints', 'ownerReferences'])
const removed = (field: string) => (lists.has(field) ? [] : null)

const unescaped = (key: string) => key.replaceAll('~1', '/').replaceAll('~0', '~')
