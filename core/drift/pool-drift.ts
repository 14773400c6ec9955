import { isTrue } from '../conditions.ts'
import { compatibleOfferings, type InstanceType, typeNamed } from '../instance-type.ts'
import type { NodeClaim, NodePool } from '../objects.ts'
import { annotations, labels, wellKnownLabels } from '../requirements/labels.ts'
import { intersects, inValues, type Requirement } from '../requirements/requirement.ts'
import {
  incompatibility,
  incompatibilityText,
  type Requirements,
  requirements,
  requirementsOfLabels,
} from '../requirements/requirements.ts'
import { type Drift, drifted, firstDrift } from './drift.ts'

/** Input of drift detection for a NodePool. */
export interface PoolDriftView {
  readonly claim: NodeClaim
  /** The pool that the claim's label names. */
  readonly nodePool: NodePool | undefined
  /** Everything that the pool can buy, sold out or not; undefined when unknown. */
  readonly instanceTypes: readonly InstanceType[] | undefined
  /** Epoch ms. */
  readonly now: number
  /** The label that names a capacity reservation. */
  readonly reservationIdLabel?: string
  /** Keys that a claim may leave undefined although an offering has them. Default: `wellKnownLabels`. */
  readonly wellKnownLabels?: ReadonlySet<string>
}

/** A claim's type is not checked against the types on sale before this age: it was on sale at the launch (reference/karpenter-core.md 5.2). */
export const typeCheckAgeMs = 3_600_000

const none: Drift = { kind: 'none' }

/**
 * Returns whether a claim's node differs from its present NodePool; the first difference counts. A claim that was not launched cannot differ
 * (reference/karpenter-core.md 5.2).
 */
export function poolDrift(view: PoolDriftView): Drift {
  const { claim, nodePool } = view
  if (nodePool === undefined || !isTrue(claim.status.conditions, 'Launched')) return none
  return hashDrift(claim, nodePool) ?? requirementsDrift(view, nodePool) ?? typeDrift(view, nodePool) ?? none
}

/** Returns whether a claim's node differs from its present NodePool, and then from its provider's class (reference/karpenter-core.md 5.2). */
export function nodeClaimDrift(view: PoolDriftView & { readonly provider: Drift }): Drift {
  return isTrue(view.claim.status.conditions, 'Launched') ? firstDrift(poolDrift(view), view.provider) : none
}

/** The static part of the template. Hashes of two versions cannot be compared. */
function hashDrift({ metadata: own }: NodeClaim, { metadata: wanted }: NodePool): Drift | undefined {
  const [ownHash, wantedHash] = [own, wanted].map((meta) => meta.annotations[annotations.nodePoolHash])
  const [ownVersion, wantedVersion] = [own, wanted].map((meta) => meta.annotations[annotations.nodePoolHashVersion])
  if (ownHash === undefined || wantedHash === undefined || ownVersion === undefined) return undefined
  if (ownVersion !== wantedVersion || ownHash === wantedHash) return undefined
  return drifted('NodePoolDrifted', `the template of NodePool ${wanted.name} changed since the node was made`)
}

/**
 * Every requirement of the pool must admit the claim's label; a label that the claim lacks must be optional. A label that a launch could not
 * determine, since the type leaves it open, is no difference. The next node would lack it too, and so would every later one.
 */
function requirementsDrift({ claim, instanceTypes, ...view }: PoolDriftView, nodePool: NodePool): Drift | undefined {
  const { wellKnownLabels: wellKnown = wellKnownLabels } = view
  const [own, wanted] = [requirementsOfLabels(claim.metadata.labels), requirementsOf(nodePool)]
  let why = incompatibility(own, wanted)
  if (why === undefined) return undefined
  const missing = [...wanted.keys()].filter((key) => wellKnown.has(key) && !own.has(key))
  if (missing.length > 0) {
    if (instanceTypes === undefined) return unknownTypes(nodePool)
    const type = typeOfClaim(claim, instanceTypes)
    why = incompatibility(own, wanted, new Set(missing.filter((key) => isLeftOpen(type, wanted.get(key)))))
  }
  const { name } = nodePool.metadata
  return why === undefined
    ? undefined
    : drifted(
        'RequirementsDrifted',
        `the node does not meet the requirements of NodePool ${name}: ${incompatibilityText(why)}`,
      )
}

/** Whether a type has several values for a key, of which the pool takes one, and no offering decides between them. */
function isLeftOpen(type: InstanceType | undefined, wanted: Requirement | undefined): boolean {
  const own = wanted && type?.requirements.get(wanted.key)
  if (wanted === undefined || own === undefined || !intersects(own, wanted)) return false
  return (
    (own.complement || own.values.size > 1) && !type?.offerings.some(({ requirements: sets }) => sets.has(wanted.key))
  )
}

function typeDrift(view: PoolDriftView, nodePool: NodePool): Drift | undefined {
  const { claim, instanceTypes, now, wellKnownLabels: wellKnown = wellKnownLabels } = view
  if (now - Date.parse(claim.metadata.creationTimestamp) <= typeCheckAgeMs) return undefined
  if (instanceTypes === undefined) return unknownTypes(nodePool)
  const name = claim.metadata.labels[labels.instanceType]
  const type = typeOfClaim(claim, instanceTypes)
  if (type === undefined)
    return drifted(
      'InstanceTypeNotFound',
      `NodePool ${nodePool.metadata.name} cannot buy the instance type ${name ?? '(none)'}`,
    )
  const wanted = purchaseOf(claim, view.reservationIdLabel)
  if (compatibleOfferings(type, wanted, wellKnown).length > 0) return undefined
  const how = [labels.capacityType, labels.zone].map((key) => `${key} ${claim.metadata.labels[key] ?? '(none)'}`)
  return drifted('InstanceTypeNotFound', `the instance type ${type.name} is not sold with ${how.join(', ')}`)
}

/**
 * Returns how the claim's node was bought. A node that lost its reservation goes on as on-demand with its old labels, so both count as the same.
 * Which reservation it has does not matter (reference/karpenter-core.md 5.2).
 */
function purchaseOf({ metadata }: NodeClaim, reservationIdLabel: string = labels.reservationId): Requirements {
  const wanted = requirementsOfLabels(metadata.labels)
  if (metadata.labels[labels.capacityType] !== 'reserved') return wanted
  const widened = new Map(wanted)
  widened.set(labels.capacityType, inValues(labels.capacityType, ['reserved', 'on-demand']))
  widened.delete(reservationIdLabel)
  return widened
}

const setsOfPools = new WeakMap<NodePool, Requirements>()

/** The pool's requirements, folded once. */
function requirementsOf(nodePool: NodePool): Requirements {
  let sets = setsOfPools.get(nodePool)
  if (sets === undefined) {
    sets = requirements(nodePool.template.spec.requirements)
    setsOfPools.set(nodePool, sets)
  }
  return sets
}

/** Returns the claim's type among those that its pool can buy; undefined when it is not one of them. */
export function typeOfClaim({ metadata }: NodeClaim, types: readonly InstanceType[]): InstanceType | undefined {
  return typeNamed(types, metadata.labels[labels.instanceType])
}

function unknownTypes({ metadata }: NodePool): Drift {
  return { kind: 'unknown', message: `what NodePool ${metadata.name} can buy is not known` }
}
