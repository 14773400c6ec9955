import { decodeNodeOverlay, decodeNodePool } from '../../../activities/kubernetes/cache/decode.ts'
import type { InstanceTypeJson } from '../../../api/shapes/scenario.ts'
import { applyConditions, conditionOwner } from '../../../core/conditions.ts'
import { allocatable, allocatableGroups, type InstanceType } from '../../../core/instance-type.ts'
import { overlaidTypes, overlayAnnotations } from '../../../core/node-overlay/apply-overlays.ts'
import {
  evaluateOverlays,
  type OverlayOutcome,
  overlayCondition,
} from '../../../core/node-overlay/evaluate-overlays.ts'
import type { NodeOverlay } from '../../../core/objects.ts'
import { formatResources } from '../../../core/resources.ts'
import { instanceTypes } from '../../../starter/files/catalog.ts'
import { featureLabels, type ObjectInput, withDefaults } from './objects.ts'

interface OverlayInput {
  readonly now: string
  readonly wellKnownLabels?: readonly string[]
  readonly instanceTypes: readonly InstanceTypeJson[]
  readonly instanceTypesByNodePool?: Readonly<Record<string, readonly string[]>>
  readonly failingNodePools?: readonly string[]
  readonly listingRecovers?: boolean
  readonly alsoAsk?: readonly string[]
  readonly objects: readonly ObjectInput[]
}

/** Answers a case of NodeOverlays: judges them, then asks for the types of each pool. */
export function evaluateOverlay(input: OverlayInput) {
  const wellKnown = featureLabels(input)
  const all = instanceTypes(input.instanceTypes)
  const typesOf = (pool: string) => {
    const only = input.instanceTypesByNodePool?.[pool]
    return only === undefined ? all : all.filter(({ name }) => only.includes(name))
  }
  const objects = (kind: string) =>
    input.objects.filter((object) => object.kind === kind).map((object) => withDefaults(object, input.now))
  const overlays = objects('NodeOverlay').map(decodeNodeOverlay)
  const pools = objects('NodePool')
    .map(decodeNodePool)
    .map(({ metadata, template, isStatic }) => ({ name: metadata.name, labels: template.labels, isStatic }))
  const failing = new Set(input.failingNodePools)
  const judged = pools.filter(({ name }) => !failing.has(name))
  const { outcomes, valid } = evaluateOverlays(
    overlays,
    judged.map((pool) => ({ ...pool, types: typesOf(pool.name) })),
    wellKnown,
  )
  const ask = (name: string) => {
    const pool = judged.find((one) => one.name === name)
    if (failing.has(name) && input.listingRecovers !== true) return { failed: true, awaitingEvaluation: false }
    if (pool === undefined) return { failed: true, awaitingEvaluation: true }
    const before = typesOf(name)
    const after = overlaidTypes(before, { pool, overlays: valid }, wellKnown)
    return {
      failed: false,
      awaitingEvaluation: false,
      types: Object.fromEntries(after.filter((type) => !before.includes(type)).map((type) => [type.name, shown(type)])),
      ...(pool.isStatic
        ? {}
        : {
            claimAnnotations: Object.entries(overlayAnnotations(after))
              .map((pair) => pair.join('='))
              .sort(),
          }),
    }
  }
  return {
    failed: failing.size > 0,
    overlays: Object.fromEntries(
      overlays.map((overlay) => [
        overlay.metadata.name,
        conditionsOf(overlay, outcomes.get(overlay.metadata.name) as OverlayOutcome, input.now),
      ]),
    ),
    nodePools: Object.fromEntries(
      [...pools.map(({ name }) => name), ...(input.alsoAsk ?? [])].map((name) => [name, ask(name)]),
    ),
  }
}

function conditionsOf({ metadata, conditions }: NodeOverlay, outcome: OverlayOutcome, now: string) {
  const owner = { ...conditionOwner(metadata, Date.parse(now)), kind: 'NodeOverlay' as const }
  const all = applyConditions(conditions, { set: [overlayCondition(outcome)] }, owner)
  return Object.fromEntries(
    all.map(({ type, status, reason, message, observedGeneration }) => [
      type,
      { status, reason, message, observedGeneration },
    ]),
  )
}

function shown(type: InstanceType) {
  const own = formatResources(allocatable(type))
  const groups = allocatableGroups(type)
  return {
    capacity: formatResources(type.capacity),
    allocatable: own,
    capacityOverlaid: type.isCapacityOverlaid === true,
    priceOverlaid: type.offerings.some(({ isPriceOverlaid }) => isPriceOverlaid === true),
    offerings: type.offerings.map((offering) => {
      const group = groups.find(({ offerings }) => offerings.includes(offering))
      const amounts = group === undefined ? own : formatResources(group.allocatable)
      return {
        price: offering.price,
        overlaid: offering.isPriceOverlaid === true,
        ...(JSON.stringify(amounts) === JSON.stringify(own) ? {} : { allocatable: amounts }),
      }
    }),
  }
}
