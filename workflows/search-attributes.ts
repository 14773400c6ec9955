import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common'

const keyword = (name: string) => defineSearchAttributeKey(name, SearchAttributeType.KEYWORD)

/** The search attributes of lifecycles; registered by the bootstrap before any workflow starts. */
export const searchAttributes = {
  cluster: keyword('Cluster'),
  nodePool: keyword('NodePool'),
  nodeClaim: keyword('NodeClaim'),
  nodeName: keyword('NodeName'),
  nodePhase: keyword('NodePhase'),
  instanceType: keyword('InstanceType'),
  capacityType: keyword('CapacityType'),
  zone: keyword('Zone'),
} as const

export type SearchAttributeName = keyof typeof searchAttributes
