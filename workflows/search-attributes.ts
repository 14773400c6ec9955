import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common'

const keyword = (name: string) => defineSearchAttributeKey(name, SearchAttributeType.KEYWORD)

/**
 * The search attributes of lifecycles; registered by the bootstrap before any workflow starts. The cluster is part of the task queue's name, and
 * the NodeClaim of the workflow's id: a store of SQL has few places for attributes, which other users of a namespace need too.
 */
export const searchAttributes = {
  nodePool: keyword('NodePool'),
  nodeName: keyword('NodeName'),
  nodePhase: keyword('NodePhase'),
  instanceType: keyword('InstanceType'),
  capacityType: keyword('CapacityType'),
  zone: keyword('Zone'),
} as const

export type SearchAttributeName = keyof typeof searchAttributes

/** Search attributes of a disruption command: a single NodePool and a single Node are recorded by name; several are not. */
export function commandAttributes(candidates: readonly { readonly nodePool: string; readonly nodeName: string }[]) {
  const [first, ...rest] = candidates
  const isOnePool = first !== undefined && rest.every(({ nodePool }) => nodePool === first.nodePool)
  return [
    ...(isOnePool ? [{ key: searchAttributes.nodePool, value: first.nodePool }] : []),
    ...(first !== undefined && rest.length === 0 ? [{ key: searchAttributes.nodeName, value: first.nodeName }] : []),
  ]
}
