import { type ConditionChange, conditionOf, isTrue, withCondition, withReady } from '../../core/conditions.ts'
import { runtimeErrors } from '../../core/node-pool-validation.ts'
import type { NodeClass, NodePool } from '../../core/objects.ts'
import { isConflict, isNotFound, type Json } from '../kubernetes/client.ts'
import { subject } from '../kubernetes/event-recorder.ts'
import { resourcePath } from '../kubernetes/resources.ts'
import { isMissing, scrubbedMessage } from './azure-error.ts'
import type { AzureDeps } from './dependencies.ts'
import { stampNodeClassHash, stampPoolHash } from './drift-hashes.ts'
import { type ResolvedImage, resolveImages } from './images.ts'
import { type NodeClassSettings, nodeClassSettings } from './node-class-settings.ts'
import { parseSubnet } from './subnet.ts'

const nodeClassDependents = [
  'KubernetesVersionReady',
  'ImagesReady',
  'SubnetsReady',
  'ValidationSucceeded',
  'LocalDNSReady',
] as const
const conflictAttempts = 4
const nodePoolDependents = ['ValidationSucceeded', 'NodeClassReady'] as const

/** Brings the status of every AKSNodeClass and NodePool up to date (reference/azure-provider.md 1.6, reference/karpenter-core.md 1.7). */
export async function refreshNodeClasses(
  deps: AzureDeps,
): Promise<{ readonly nodeClasses: number; readonly ready: number }> {
  await deps.cache.catchUp(['AKSNodeClass', 'NodePool'])
  const nodeClasses = [...deps.cache.nodeClasses.values()]
  const version = (await deps.client.version()).replace(/^v/, '')
  const results = await Promise.allSettled(
    nodeClasses.map(({ kind, metadata: { name } }) =>
      underLock(
        deps,
        kind,
        () => deps.cache.nodeClasses.get(name),
        (nodeClass) => refreshNodeClass(deps, nodeClass, version),
      ),
    ),
  )
  await Promise.all(
    [...deps.cache.nodePools.values()].map(({ kind, metadata: { name } }) =>
      underLock(
        deps,
        kind,
        () => deps.cache.nodePools.get(name),
        (pool) => refreshNodePool(deps, pool),
      ),
    ),
  )
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return {
    nodeClasses: nodeClasses.length,
    ready: [...deps.cache.nodeClasses.values()].filter((nc) => isTrue(nc.status.conditions, 'Ready')).length,
  }
}

/** Decides anew from the current object when somebody else wrote it in between; one that is gone needs nothing. */
async function underLock<Kind extends NodeClass | NodePool>(
  deps: AzureDeps,
  kind: Kind['kind'],
  current: () => Kind | undefined,
  refresh: (object: Kind) => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const object = current()
    if (object === undefined) return
    try {
      await refresh(object)
      return
    } catch (error) {
      if (isNotFound(error)) return
      if (!isConflict(error) || attempt >= conflictAttempts) throw error
      await deps.cache.catchUp([kind])
    }
  }
}

async function refreshNodeClass(deps: AzureDeps, stale: NodeClass, kubernetesVersion: string): Promise<void> {
  await stampNodeClassHash(deps, stale)
  const nodeClass = deps.cache.nodeClasses.get(stale.metadata.name) ?? stale
  const settings = nodeClassSettings(nodeClass, deps.config)
  const found = await findImages(deps, settings, kubernetesVersion)
  const subnet = await findSubnet(deps, settings)
  // What could not be read now stays as it was read before, for the same spec: an outage is no reason to stop.
  const unread = (type: string, reason: string, what: string, error: unknown): ConditionChange => {
    const before = conditionOf(nodeClass.status.conditions, type)
    return before?.status === 'True' && before.observedGeneration === nodeClass.metadata.generation
      ? { type, status: 'True' }
      : unreadable(type, reason, `AKSNodeClass ${settings.name}: ${what}`, error)
  }
  const images = found.kind === 'images' ? found.images : nodeClass.status.images
  const changes: ConditionChange[] = [
    { type: 'KubernetesVersionReady', status: 'True' },
    found.kind === 'images'
      ? imagesCondition(settings, found.images)
      : unread('ImagesReady', 'ImagesUnknownError', 'images', found.error),
    subnet.kind === 'condition'
      ? subnet.condition
      : unread('SubnetsReady', 'SubnetUnknownError', `subnet "${settings.subnetId}"`, subnet.error),
    { type: 'ValidationSucceeded', status: 'True' },
    { type: 'LocalDNSReady', status: 'True' },
  ]
  await writeNodeClass(deps, nodeClass, changes, {
    images,
    kubernetesVersion,
    localDNSState: settings.localDnsEnabled ? 'Enabled' : 'Disabled',
  })
  if (found.kind === 'error') throw found.error
  if (subnet.kind === 'error') throw subnet.error
}

type FoundImages =
  | { readonly kind: 'images'; readonly images: readonly ResolvedImage[] }
  | { readonly kind: 'error'; readonly error: unknown }

async function findImages(
  deps: AzureDeps,
  settings: NodeClassSettings,
  kubernetesVersion: string,
): Promise<FoundImages> {
  try {
    return { kind: 'images', images: await resolveImages(deps, settings, kubernetesVersion) }
  } catch (error) {
    return { kind: 'error', error }
  }
}

/** Azure did not say, so nothing is known: Unknown, not False, which would end launches. */
function unreadable(type: string, reason: string, what: string, error: unknown): ConditionChange {
  return {
    type,
    status: 'Unknown',
    reason,
    message: `${what} could not be read: ${scrubbedMessage(error)}; it is tried again`,
  }
}

async function writeNodeClass(
  deps: AzureDeps,
  nodeClass: NodeClass,
  changes: readonly ConditionChange[],
  found: Pick<NodeClass['status'], 'images'> & { readonly kubernetesVersion: string; readonly localDNSState: string },
): Promise<void> {
  const context = contextOf(deps, nodeClass.metadata.generation)
  const conditions = withReady(
    changes.reduce((all, change) => withCondition(all, change, context), nodeClass.status.conditions),
    nodeClassDependents,
    context,
  )
  const { images, kubernetesVersion } = found
  const before = {
    images: nodeClass.status.images,
    kubernetesVersion: nodeClass.status.kubernetesVersion,
    conditions: nodeClass.status.conditions,
  }
  if (JSON.stringify({ images, kubernetesVersion, conditions }) === JSON.stringify(before)) return
  await patchStatus(deps, 'aksnodeclasses', nodeClass, { ...found, conditions })
  const ready = conditionOf(conditions, 'Ready')
  if (ready?.status !== 'True') {
    const why = changes
      .filter((c) => c.status !== 'True')
      .map((c) => `${c.type}: ${c.message}`)
      .join('; ')
    deps.log.warn({ nodeClass: nodeClass.metadata.name, why }, 'AKSNodeClass is not ready')
    deps.events.record({ about: subject(nodeClass), type: 'Warning', reason: 'NotReady', message: why })
  }
}

function imagesCondition(
  { fips, name, imageFamily }: NodeClassSettings,
  images: readonly ResolvedImage[],
): ConditionChange {
  if (fips) {
    return {
      type: 'ImagesReady',
      status: 'False',
      reason: 'SIGRequiredForFIPS',
      message: `AKSNodeClass ${name}: spec.fipsMode "FIPS" needs images from a shared gallery, which Joiner does not read yet; use fipsMode: Disabled`,
    }
  }
  if (images.length === 0) {
    return {
      type: 'ImagesReady',
      status: 'False',
      reason: 'ImagesNotFound',
      message: `AKSNodeClass ${name}: no image of family "${imageFamily}" is published in this region; choose another imageFamily`,
    }
  }
  return { type: 'ImagesReady', status: 'True' }
}

type FoundSubnet =
  | { readonly kind: 'condition'; readonly condition: ConditionChange }
  | { readonly kind: 'error'; readonly error: unknown }

async function findSubnet(deps: AzureDeps, { subnetId, name }: NodeClassSettings): Promise<FoundSubnet> {
  const refused = (reason: string, message: string): FoundSubnet => ({
    kind: 'condition',
    condition: { type: 'SubnetsReady', status: 'False', reason, message: `AKSNodeClass ${name}: ${message}` },
  })
  const parts = parseSubnet(subnetId)
  if (parts === undefined)
    return refused(
      'SubnetIDInvalid',
      `spec.vnetSubnetID "${subnetId}" is not the id of a subnet; write /subscriptions/.../virtualNetworks/.../subnets/...`,
    )
  try {
    await deps.azure.network.subnets.get(parts.resourceGroup, parts.vnet, parts.name)
    return { kind: 'condition', condition: { type: 'SubnetsReady', status: 'True' } }
  } catch (error) {
    if (isMissing(error))
      return refused('SubnetNotFound', `subnet "${subnetId}" does not exist; correct spec.vnetSubnetID`)
    return { kind: 'error', error }
  }
}

async function refreshNodePool(deps: AzureDeps, pool: NodePool): Promise<void> {
  const context = contextOf(deps, pool.metadata.generation)
  const errors = runtimeErrors(pool)
  const changes: ConditionChange[] = [
    errors.length === 0
      ? { type: 'ValidationSucceeded', status: 'True' }
      : {
          type: 'ValidationSucceeded',
          status: 'False',
          reason: 'NodePoolValidationFailed',
          message: errors.join('; '),
        },
    nodeClassReady(deps, pool),
  ]
  const conditions = withReady(
    changes.reduce((all, change) => withCondition(all, change, context), pool.conditions),
    nodePoolDependents,
    context,
  )
  await stampPoolHash(deps, pool)
  if (JSON.stringify(conditions) === JSON.stringify(pool.conditions)) return
  await patchStatus(deps, 'nodepools', deps.cache.nodePools.get(pool.metadata.name) ?? pool, { conditions })
  for (const { status, type, reason, message } of changes) {
    if (status === 'True') continue
    deps.log.warn({ nodePool: pool.metadata.name, condition: type, reason, why: message }, 'NodePool is not ready')
    deps.events.record({ about: subject(pool), type: 'Warning', reason: reason ?? type, message: message ?? '' })
  }
}

function nodeClassReady(deps: AzureDeps, pool: NodePool): ConditionChange {
  const type = 'NodeClassReady'
  const { name } = pool.template.spec.nodeClassRef
  const nodeClass = deps.cache.nodeClasses.get(name)
  const field = `NodePool ${pool.metadata.name}: spec.template.spec.nodeClassRef.name "${name}"`
  if (nodeClass === undefined)
    return {
      type,
      status: 'False',
      reason: 'NodeClassNotFound',
      message: `${field} names no AKSNodeClass; create it, or correct the name`,
    }
  if (nodeClass.metadata.deletionTimestamp !== undefined)
    return { type, status: 'False', reason: 'NodeClassTerminating', message: `${field} is being deleted` }
  const ready = conditionOf(nodeClass.status.conditions, 'Ready')
  if (ready?.status === 'True') return { type, status: 'True' }
  return {
    type,
    status: ready?.status ?? 'Unknown',
    reason: ready?.reason ?? 'NodeClassReadinessUnknown',
    message: `${field} is not ready: ${ready?.message ?? 'not looked at yet'}`,
  }
}

/** Writes a status under an optimistic lock. */
async function patchStatus(
  deps: AzureDeps,
  resource: 'nodepools' | 'aksnodeclasses',
  object: NodePool | NodeClass,
  status: Json,
): Promise<void> {
  const { name, resourceVersion, uid } = object.metadata
  const json = await deps.client.patchStatus(resourcePath(resource, name), {
    metadata: { resourceVersion, uid },
    status,
  })
  deps.cache.upsert(object.kind, json)
}

function contextOf(
  deps: AzureDeps,
  generation: number | undefined,
): { readonly now: string; readonly generation: number } {
  return { now: new Date(deps.now()).toISOString().replace(/\.\d+Z$/, 'Z'), generation: generation ?? 1 }
}
