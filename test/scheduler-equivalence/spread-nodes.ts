import { compatibleOfferings, type InstanceType } from '../../core/instance-type.ts'
import { claimLabels, templateRequirements } from '../../core/node-pool/node-claim-template.ts'
import type { Node, NodePool } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { anyValue, inValues } from '../../core/requirements/requirement.ts'
import { merge, type Requirements, requirements, sharedKeysIntersect } from '../../core/requirements/requirements.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import { sampleNode } from '../samples/sample-objects.ts'
import { rackKey, racks, type SpreadCluster } from './random-spreads.ts'
import { teamKey, teams } from './vocabulary.ts'

/** A Node with these labels and taints. */
function newNode(name: string, own: Readonly<Record<string, string>>, from: NodePool): Node {
  const sample = sampleNode(name, { taints: from.template.spec.taints })
  return { ...sample, metadata: { ...sample.metadata, labels: { ...own, [labels.hostname]: name } } }
}

/** The Node that a planned claim may become. */
export function nodeOfClaim(name: string, claim: PlannedNodeClaim, { pools, types }: SpreadCluster): Node {
  const wanted = requirements(claim.requirements)
  const from = pools.find(({ metadata }) => metadata.name === claim.nodePool) as NodePool
  const [own] = types.flatMap((one) =>
    claim.instanceTypes.includes(one.name)
      ? labelsOnOffer(one, wanted).map((found) => ({ ...found, ...claim.labels }))
      : [],
  )
  return newNode(name, own ?? {}, from)
}

/** One empty Node of every kind that the pools can make. */
export function everyNewNode({ pools, types }: SpreadCluster): readonly Node[] {
  return pools.flatMap((from) => {
    const template = {
      nodePool: from.metadata.name,
      labels: from.template.labels,
      nodeClassRef: from.template.spec.nodeClassRef,
      requirements: from.template.spec.requirements,
    }
    const own = templateRequirements(template)
    return valuesOf(own, rackKey, racks).flatMap((rack) =>
      valuesOf(own, teamKey, teams).flatMap((team) => {
        const custom = merge(
          own,
          [rack, team].flatMap((one) => one ?? []),
        )
        return types
          .flatMap((one) => labelsOnOffer(one, custom))
          .map((found) => ({ ...found, ...claimLabels(template, custom) }))
          .map((all) => newNode(`new-${JSON.stringify(all)}`, all, from))
      }),
    )
  })
}

/** Each value that a pool may give a label; undefined: its nodes do not have the label. */
function valuesOf(own: Requirements, key: string, values: readonly string[]) {
  const allowed = own.get(key)
  if (allowed === undefined) return [undefined]
  return [...values, 'other']
    .map((value) => inValues(key, [value]))
    .filter((one) => sharedKeysIntersect(own, new Map([[key, one]])))
}

/** What the provider says of a node of a type: one set of labels for each offering that meets the requirements. */
function labelsOnOffer(one: InstanceType, wanted: Requirements): readonly Readonly<Record<string, string>>[] {
  if (!sharedKeysIntersect(one.requirements, wanted)) return []
  return compatibleOfferings(one, wanted)
    .filter(({ available }) => available)
    .map((offering) =>
      Object.fromEntries([...one.requirements, ...offering.requirements].map(([key, set]) => [key, anyValue(set)])),
    )
}
