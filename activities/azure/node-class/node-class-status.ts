import type { NodeClass } from '../../../api/objects.ts'
import { conditionOf, isTrue, isTrueAt } from '../../../core/conditions.ts'
import { nodeClassHash, nodeClassHashVersion } from '../../../core/node-class/node-class-hash.ts'
import { isDeleting } from '../../../core/objects.ts'
import { annotations, nodeClassFinalizer } from '../../../core/requirements/labels.ts'
import type { CachedKind } from '../../kubernetes/cache/cached-kinds.ts'
import { expecting, isNotFound } from '../../kubernetes/client/api-error.ts'
import { updateClaim } from '../../kubernetes/client/object-writes.ts'
import { lockedPatch, patchOf } from '../../kubernetes/client/optimistic-write.ts'
import { type ObjectRef, setConditions, updateObject } from '../../kubernetes/client/status-writes.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { type ClaimUpkeepDeps, keepUpClaims } from '../../kubernetes/lifecycle/claim-upkeep.ts'
import { type NodePoolStatusDeps, refreshNodePools } from '../../kubernetes/node-pools/node-pool-status.ts'
import type { WriteDeps } from '../../kubernetes/parts.ts'
import { type PauseConditionsDeps, refreshPauses } from '../../kubernetes/pauses/pause-conditions.ts'
import { type CatalogueOfPools, refreshNodeOverlays } from '../../node-overlays/pool-types.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import { type AdoptMachinesDeps, adoptMachines } from '../machines/adopt-machines.ts'
import { machineDriftActions } from '../machines/machine-drift.ts'
import { withoutStale } from '../refusals/class-refusals.ts'
import { stateOfClass } from '../refusals/launch-turn.ts'
import { type DemotionDeps, demoteReserved } from '../reservations/demotion.ts'
import { type GroupsStatusDeps, reportGroups } from '../reservations/groups-status.ts'
import { type DriftDeps, refreshDrift } from './drift.ts'
import type { Finding } from './finding.ts'
import { withWorkingImages } from './image-standing.ts'
import { findImages, type ImagesStatusDeps } from './images-status.ts'
import { kubernetesVersionFinding, type ServerVersion } from './kubernetes-version.ts'
import { findLocalDns, type LocalDnsDeps } from './local-dns.ts'
import { nodeClassSettings } from './node-class-settings.ts'
import { findSubnet, type SubnetStatusDeps } from './subnet-status.ts'
import { type ValidationDeps, validate } from './validation.ts'

export interface NodeClassStatusDeps
  extends TerminationDeps,
    NodePoolStatusDeps,
    PauseConditionsDeps,
    DriftDeps,
    AdoptMachinesDeps,
    ClaimUpkeepDeps,
    DriftHashesDeps,
    ImagesStatusDeps,
    SubnetStatusDeps,
    ValidationDeps,
    LocalDnsDeps,
    DemotionDeps,
    GroupsStatusDeps,
    CatalogueOfPools {}

/** Brings the status of every AKSNodeClass and NodePool up to date (reference/azure-provider.md 1.5, reference/karpenter-core.md 1.7). */
export async function refreshNodeClasses(
  deps: NodeClassStatusDeps,
  signal: AbortSignal,
): Promise<{ readonly nodeClasses: number; readonly ready: number }> {
  await catchUpServed(deps, ['AKSNodeClass', 'NodePool'])
  const nodeClasses = [...deps.cache.nodeClasses.values()]
  // A finalizer is removed by the current state, not by what the watches last reported.
  if (nodeClasses.some(isDeleting)) await catchUpServed(deps, ['NodeClaim'])
  const version = await serverVersion(deps)
  const results = await Promise.allSettled(
    nodeClasses.map((nodeClass) =>
      isDeleting(nodeClass) ? terminateNodeClass(deps, nodeClass) : refreshNodeClass(deps, nodeClass, version),
    ),
  )
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  // An object that cannot be written, as by a policy of the cluster, keeps only itself.
  for (const step of steps) {
    signal.throwIfAborted()
    await step(deps).catch((error: unknown) => errors.push(error))
  }
  throwJoined(errors)
  return {
    nodeClasses: nodeClasses.length,
    ready: [...deps.cache.nodeClasses.values()].filter((nc) => isTrue(nc.status.conditions, 'Ready')).length,
  }
}

/** What follows the classes, in this order. */
const steps: readonly ((deps: NodeClassStatusDeps) => Promise<unknown>)[] = [
  refreshNodePools,
  refreshNodeOverlays,
  refreshPauses,
  adoptMachines,
  demoteReserved,
  async (deps) => refreshDrift(deps, await machineDriftActions(deps)),
  keepUpClaims,
]

async function serverVersion({ client }: NodeClassStatusDeps): Promise<ServerVersion> {
  try {
    return { kind: 'version', gitVersion: await client.version() }
  } catch (error) {
    return { kind: 'error', error }
  }
}

/** Validates everything that a node class' readiness depends on. All parts run, whatever one of them finds; errors are combined at the end. */
async function refreshNodeClass(deps: NodeClassStatusDeps, seen: NodeClass, server: ServerVersion): Promise<void> {
  const failures: unknown[] = []
  // Without the hash drift is not compared. What its nodes are made of is judged all the same.
  const nodeClass = await stampNodeClass(deps, seen).catch((error: unknown) => {
    failures.push(error)
    return seen
  })
  if (nodeClass === undefined || isDeleting(nodeClass)) return
  const settings = nodeClassSettings(nodeClass, deps.config)
  const version = kubernetesVersionFinding(nodeClass, server)
  const known = knownVersion(nodeClass, version)
  const images = await findImages(deps, nodeClass, known)
  const findings = [
    version,
    images,
    await findSubnet(deps, nodeClass, settings),
    await validate(deps, nodeClass, settings),
    await findLocalDns(deps, nodeClass, known?.version),
  ]
  await writeFindings(deps, nodeClass, findings)
  const state = stateOfClass(deps.cache.nodeClasses.get(nodeClass.metadata.name) ?? nodeClass, deps.config)
  await deps.unavailable.change((marks) => withoutStale(marks, nodeClass.metadata.name, state))
  await reportGroups(deps, nodeClass)
  throwJoined([...failures, ...findings.flatMap(({ error }) => (error === undefined ? [] : [error]))])
}

/** Returns the version for the other parts: the new one, or the one in the status, which is valid for this spec only. */
function knownVersion(
  { status, metadata }: NodeClass,
  found: Finding,
): { readonly version: string; readonly isNew: boolean } | undefined {
  const isNew = found.status?.kubernetesVersion !== undefined
  const isKnown =
    found.error === undefined || isTrueAt(status.conditions, 'KubernetesVersionReady', metadata.generation)
  const version = found.status?.kubernetesVersion ?? status.kubernetesVersion
  return version === undefined || !isKnown ? undefined : { version, isNew }
}

/** Writes findings. A spec that changed meanwhile is validated again: the findings are about the earlier one. */
async function writeFindings(
  deps: NodeClassStatusDeps,
  nodeClass: NodeClass,
  findings: readonly Finding[],
): Promise<void> {
  const conditions = findings.flatMap((finding) => finding.conditions ?? [])
  const found: NonNullable<Finding['status']> = Object.assign({}, ...findings.map(({ status }) => status))
  let before: NodeClass | undefined
  const after = await setConditions(deps, { kind: 'AKSNodeClass', ref: nodeClass.metadata }, (current) => {
    before = current
    if (current.metadata.generation !== nodeClass.metadata.generation || isDeleting(current)) return undefined
    // An image may have been given up since the findings.
    const images = found.images && withWorkingImages(deps, current, found.images).images
    const status = changedStatus(current.status, { ...found, ...(images && { images }) })
    return Object.keys(status).length === 0 ? { conditions } : { conditions, status }
  })
  if (after === undefined || after === before || isTrue(after.status.conditions, 'Ready')) return
  const why = after.status.conditions
    .filter(({ type, status }) => type !== 'Ready' && status !== 'True')
    .map(({ type, message }) => `${type}: ${message}`)
    .join('; ')
  const reason = conditionOf(after.status.conditions, 'Ready')?.reason
  deps.log.warn({ nodeClass: nodeClass.metadata.name, reason, why }, 'AKSNodeClass is not ready')
  const values = [nodeClass.metadata.uid, why]
  deps.events.record({ about: subject(nodeClass), reason: 'NotReady', message: why, values })
}

/** Returns the fields of the status that differ. The order of images matters: the first that suits a machine is used. */
function changedStatus(
  before: NodeClass['status'],
  { images, kubernetesVersion, localDnsState }: NonNullable<Finding['status']>,
): Record<string, unknown> {
  return {
    ...(images === undefined || JSON.stringify(images) === JSON.stringify(before.images)
      ? {}
      : { images: images.length === 0 ? null : images }),
    ...(kubernetesVersion === undefined || kubernetesVersion === before.kubernetesVersion ? {} : { kubernetesVersion }),
    ...(localDnsState === undefined || localDnsState === before.localDnsState ? {} : { localDNSState: localDnsState }),
  }
}

function throwJoined(errors: readonly unknown[]): void {
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) throw new AggregateError(errors, errors.map(scrubbedMessage).join('; '))
}

interface DriftHashesDeps extends WriteDeps {}

/**
 * Writes a node class' finalizer, drift hash and the hash's version. Hashes of another version cannot be compared: then the claims are
 * updated first (reference/azure-provider.md 1.4 and 1.5). Returns the class as it is afterwards; undefined
 * when it is gone.
 */
export async function stampNodeClass(deps: DriftHashesDeps, nodeClass: NodeClass): Promise<NodeClass | undefined> {
  if (nodeClass.metadata.annotations[annotations.nodeClassHashVersion] !== nodeClassHashVersion) {
    await deps.cache.catchUp(['NodeClaim'])
    const claims = [...deps.cache.nodeClaims.values()].filter(
      ({ spec }) => spec.nodeClassRef.name === nodeClass.metadata.name,
    )
    await Promise.all(claims.map(({ metadata }) => rehashClaim(deps, metadata, hashes(nodeClass))))
  }
  return updateObject(deps, { kind: 'AKSNodeClass', ref: nodeClass.metadata }, (current, path) => {
    const { metadata } = current
    const wanted = hashes(current)
    const isHashed = Object.entries(wanted).every(([key, value]) => metadata.annotations[key] === value)
    const isHeld = metadata.finalizers.includes(nodeClassFinalizer) || metadata.deletionTimestamp !== undefined
    if (isHashed && isHeld) return undefined
    const finalizers = isHeld ? {} : { finalizers: [...metadata.finalizers, nodeClassFinalizer] }
    return deps.client.mergePatch(path, patchOf({ metadata: { annotations: wanted, ...finalizers } }, metadata))
  })
}

function hashes({ spec }: NodeClass): Record<string, string> {
  return { [annotations.nodeClassHash]: nodeClassHash(spec), [annotations.nodeClassHashVersion]: nodeClassHashVersion }
}

/** Rehashes a claim. One that has drifted already keeps its hash: the difference is why it is replaced. */
function rehashClaim(
  deps: DriftHashesDeps,
  ref: ObjectRef,
  wanted: Readonly<Record<string, string>>,
): Promise<unknown> {
  return updateClaim(deps, ref, ({ metadata, status }) => {
    if (metadata.annotations[annotations.nodeClassHashVersion] === nodeClassHashVersion) return undefined
    const stamped = isTrue(status.conditions, 'Drifted')
      ? { [annotations.nodeClassHashVersion]: nodeClassHashVersion }
      : wanted
    return { metadata: { annotations: stamped } }
  })
}

interface TerminationDeps extends WriteDeps {}

const namesShown = 5

/**
 * Releases an AKSNodeClass that is being deleted once no NodeClaim names it, since until then it describes their nodes
 * (reference/azure-provider.md 1.5). The cache must be up to date on NodeClaims. The deletion of the last one starts the next check.
 */
export async function terminateNodeClass(deps: TerminationDeps, nodeClass: NodeClass): Promise<void> {
  const { name } = nodeClass.metadata
  const claims = [...deps.cache.nodeClaims.values()].filter(({ spec }) => spec.nodeClassRef.name === name)
  if (claims.length > 0) {
    const message = waitingMessage(claims.map(({ metadata }) => metadata.name))
    const values = [nodeClass.metadata.uid, message]
    deps.events.record({ about: subject(nodeClass), reason: 'WaitingOnNodeClaimTermination', message, values })
    await setConditions(deps, { kind: 'AKSNodeClass', ref: nodeClass.metadata }, () => ({}))
    return
  }
  await updateObject(deps, { kind: 'AKSNodeClass', ref: nodeClass.metadata }, ({ metadata }, path) => {
    if (metadata.deletionTimestamp === undefined || !metadata.finalizers.includes(nodeClassFinalizer)) return undefined
    const finalizers = metadata.finalizers.filter((finalizer) => finalizer !== nodeClassFinalizer)
    return deps.client.mergePatch(path, lockedPatch({ metadata: { finalizers } }, metadata))
  })
}

/**
 * Brings these kinds up to date. A kind whose CRD was deleted is served no more: its objects went one by one, which the watch has told, so the cache is
 * up to date on it, and an AKSNodeClass that waits for the last NodeClaim can go. Its CRD, which waits for it, could not be applied again otherwise.
 * Errors: the API server's.
 */
export async function catchUpServed({ cache }: TerminationDeps, kinds: readonly CachedKind[]): Promise<void> {
  await Promise.all(kinds.map((kind) => cache.catchUp([kind]).catch(expecting(isNotFound, undefined))))
}

/** Returns five names, and how many more. Sorted, so that the same claims make the same message. */
export function waitingMessage(claims: readonly string[]): string {
  const sorted = claims.toSorted()
  const shown = sorted.slice(0, namesShown).join(', ')
  const others = sorted.length - namesShown
  return `Waiting on NodeClaim termination for ${shown}${others > 0 ? ` and ${others} other(s)` : ''}`
}
