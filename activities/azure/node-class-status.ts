import { type ConditionChange, conditionOf, isTrue } from '../../core/conditions.ts'
import type { NodeClass } from '../../core/objects.ts'
import { subject } from '../kubernetes/event-recorder.ts'
import { refreshNodePools } from '../kubernetes/node-pool-status.ts'
import { setConditions } from '../kubernetes/status-writes.ts'
import { isMissing, scrubbedMessage } from './azure-error.ts'
import type { AzureDeps } from './dependencies.ts'
import { stampNodeClassHash } from './drift-hashes.ts'
import { type ResolvedImage, resolveImages } from './images.ts'
import { type NodeClassSettings, nodeClassSettings } from './node-class-settings.ts'
import { parseSubnet } from './subnet.ts'

/** Brings the status of every AKSNodeClass and NodePool up to date (reference/azure-provider.md 1.6, reference/karpenter-core.md 1.7). */
export async function refreshNodeClasses(
  deps: AzureDeps,
): Promise<{ readonly nodeClasses: number; readonly ready: number }> {
  await deps.cache.catchUp(['AKSNodeClass', 'NodePool'])
  const nodeClasses = [...deps.cache.nodeClasses.values()]
  const version = (await deps.client.version()).replace(/^v/, '')
  const results = await Promise.allSettled(nodeClasses.map((nodeClass) => refreshNodeClass(deps, nodeClass, version)))
  await refreshNodePools(deps)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return {
    nodeClasses: nodeClasses.length,
    ready: [...deps.cache.nodeClasses.values()].filter((nc) => isTrue(nc.status.conditions, 'Ready')).length,
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
  let before: NodeClass | undefined
  const after = await setConditions(deps, 'AKSNodeClass', nodeClass.metadata, (current) => {
    before = current
    const { images, kubernetesVersion } = current.status
    const same =
      JSON.stringify(images) === JSON.stringify(found.images) && kubernetesVersion === found.kubernetesVersion
    return same ? { conditions: changes } : { conditions: changes, status: found }
  })
  if (after === undefined || after === before) return
  const ready = conditionOf(after.status.conditions, 'Ready')
  if (ready?.status !== 'True') {
    const why = changes
      .filter((c) => c.status !== 'True')
      .map((c) => `${c.type}: ${c.message}`)
      .join('; ')
    deps.log.warn({ nodeClass: nodeClass.metadata.name, why }, 'AKSNodeClass is not ready')
    deps.events.record({ about: subject(nodeClass), reason: 'NotReady', message: why })
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
