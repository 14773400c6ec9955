import { present } from '../document/words.ts'
// Which NodePools take part when a cluster is planned for outside of Joiner, and why the others do not.

import type { NodeClass } from '../../api/objects.ts'
import type { TerminateFirst } from '../../core/disruption/methods/context.ts'
import type { InstanceType } from '../../core/instance-type.ts'
import { kubeletConversion } from '../../core/node-class/kubelet-conversion.ts'
import { overlaidTypes } from '../../core/node-overlay/apply-overlays.ts'
import { evaluateOverlays, type PoolTypes } from '../../core/node-overlay/evaluate-overlays.ts'
import type { NodeOverlay, NodePool } from '../../core/objects.ts'
import { wellKnownLabels } from '../../core/requirements/labels.ts'
import type { SchedulingOptions, SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'
import type { DefaultSpreadConstraint } from '../../core/scheduling/topology/spread-defaults.ts'

import type { Catalog } from './catalog.ts'
import type { clusterObjects } from './cluster-objects.ts'

const nodeClassGroup = 'karpenter.azure.com'
const reservationIdLabel = 'karpenter.azure.com/capacity-reservation-id'

export interface Scenario {
  readonly snapshot: SchedulingSnapshot
  readonly options: SchedulingOptions
}

/** What the command line says; each replaces what a scenario says of it. */
export interface Overrides {
  readonly now?: string
  readonly preferencePolicy?: 'Respect' | 'Ignore'
  readonly minValuesPolicy?: 'Strict' | 'BestEffort'
  readonly reservedCapacity?: boolean
  readonly spotToSpot?: boolean
  readonly terminateFirst?: TerminateFirst
  /** Whether NodeOverlays among manifests count. */
  readonly nodeOverlay?: boolean
  readonly defaultSpread?: readonly DefaultSpreadConstraint[]
  readonly instanceTypes?: readonly InstanceType[]
  /** Added to those of the scenario. */
  readonly wellKnownLabels?: readonly string[]
}

/** A cluster's objects with its AKSNodeClasses; none: they are unknown, and no NodePool is excluded for want of one. */
export interface WholeCluster {
  readonly cluster: ReturnType<typeof clusterObjects>
  readonly nodeClasses: readonly NodeClass[]
  readonly nodeOverlays?: readonly NodeOverlay[]
}

/** The part of a cluster that Joiner would plan with. */
export interface TakingPart {
  /** All NodePools, and Joiner's NodeClaims. */
  readonly cluster: WholeCluster['cluster']
  /** Those that take part. */
  readonly nodePools: readonly NodePool[]
  readonly instanceTypes: ReadonlyMap<string, readonly InstanceType[]>
  readonly options: Scenario['options'] & { readonly wellKnownLabels: ReadonlySet<string> }
  /** Why NodePools take no part, and NodeOverlays do not count. */
  readonly remarks: readonly string[]
}

/** Returns what takes part, with the instance types of each NodePool. */
export function takingPart(
  { cluster, nodeClasses, nodeOverlays = [] }: WholeCluster,
  { catalog, overrides }: { readonly catalog: Catalog; readonly overrides: Overrides },
): TakingPart {
  const byName = new Map(nodeClasses.map((one) => [one.metadata.name, one]))
  const classOf = ({ template }: NodePool) => byName.get(template.spec.nodeClassRef.name)
  const judged = cluster.nodePools.map((pool) => ({ pool, reason: whyNot(pool, nodeClasses, classOf(pool)) }))
  const nodePools = judged.filter(({ reason }) => reason === undefined).map(({ pool }) => pool)
  const sold = cluster.nodePools.map((pool) => ({
    name: pool.metadata.name,
    labels: pool.template.labels,
    types: catalog.typesFor(classOf(pool), kubeletConversion(pool.metadata.annotations)),
  }))
  const nodeClaims = cluster.nodeClaims.filter(({ spec }) => isManaged(spec.nodeClassRef))
  const label = catalog.reservationIdLabel ?? reservationIdLabel
  const known = new Set([...wellKnownLabels, ...catalog.wellKnownLabels, label])
  const overlaid = overlaidPools(overrides.nodeOverlay === true ? nodeOverlays : [], sold, known)
  return {
    cluster: { ...cluster, nodeClaims },
    nodePools,
    instanceTypes: overlaid.instanceTypes,
    options: {
      preferencePolicy: overrides.preferencePolicy ?? 'Respect',
      minValuesPolicy: overrides.minValuesPolicy ?? 'Strict',
      reservedCapacity: overrides.reservedCapacity ?? true,
      reservationIdLabel: label,
      wellKnownLabels: known,
    },
    remarks: present(
      ...judged.flatMap(({ pool, reason }) =>
        reason === undefined ? [] : [`NodePool "${pool.metadata.name}" takes no part: ${reason}`],
      ),
      ...overlaid.remarks,
      nodeOverlays.length > 0 &&
        overrides.nodeOverlay !== true &&
        `NodeOverlays that do not count: ${nodeOverlays.length}; --feature-gates NodeOverlay=true counts them`,
    ),
  }
}

/** Why a pool is not extended; undefined: it may be. */
function whyNot(pool: NodePool, all: readonly NodeClass[], own: NodeClass | undefined): string | undefined {
  const { nodeClassRef } = pool.template.spec
  if (!isManaged(nodeClassRef))
    return `its node class is of ${nodeClassRef.group}/${nodeClassRef.kind}, not an AKSNodeClass`
  if (pool.metadata.deletionTimestamp !== undefined) return 'it is being deleted'
  if (pool.isStatic) return 'it is static (spec.replicas), so pods get no new node of it'
  const ready = pool.conditions.find(({ type }) => type === 'Ready')
  if (pool.conditions.length === 0)
    return 'it has no condition Ready=True; --complete takes NodePools without conditions as ready'
  if (ready?.status !== 'True') return `its condition Ready is ${ready?.status ?? 'missing'}${because(ready?.message)}`
  if (all.length === 0) return undefined
  if (own === undefined) return `there is no AKSNodeClass "${nodeClassRef.name}" among the manifests`
  if (own.metadata.deletionTimestamp !== undefined) return `its AKSNodeClass "${nodeClassRef.name}" is being deleted`
  const classReady = own.status.conditions.find(({ type }) => type === 'Ready')
  if (classReady === undefined || classReady.status === 'True') return undefined
  return `its AKSNodeClass "${nodeClassRef.name}" is not ready${because(classReady.message)}`
}

const because = (message: string | undefined) => (message ? `: ${message}` : '')

/** A reference that names no group or kind is as old as those were optional. */
function isManaged({ group, kind }: { readonly group?: string; readonly kind?: string }): boolean {
  return (group ?? nodeClassGroup) === nodeClassGroup && (kind ?? 'AKSNodeClass') === 'AKSNodeClass'
}

/**
 * Returns the types of each NodePool with the prices and resources of NodeOverlays, as planning in the cluster has them, and which overlays do not
 * count and why.
 */
export function overlaidPools(
  overlays: readonly NodeOverlay[],
  pools: readonly PoolTypes[],
  wellKnownLabels: ReadonlySet<string>,
): { readonly instanceTypes: ReadonlyMap<string, readonly InstanceType[]>; readonly remarks: readonly string[] } {
  const present = overlays.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const { outcomes, valid } = evaluateOverlays(present, pools, wellKnownLabels)
  const remarks = [...outcomes].flatMap(([name, outcome]) => {
    if (outcome.kind === 'valid') return []
    const why =
      outcome.kind === 'invalid' ? outcome.message : 'another of its weight changes the same; give one another weight'
    return [`NodeOverlay "${name}" does not count: ${why}`]
  })
  const overlaid = pools.map((pool) => {
    const types =
      valid.length === 0 ? pool.types : overlaidTypes(pool.types, { pool, overlays: valid }, wellKnownLabels)
    return [pool.name, types] as const
  })
  return { instanceTypes: new Map(overlaid), remarks }
}
