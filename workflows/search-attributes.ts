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
