import { inPlaceUpdateHash } from '../../core/in-place-update-hash.ts'
import { allocatable } from '../../core/instance-type.ts'
import { annotations, labels } from '../../core/labels.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { requirements } from '../../core/requirements.ts'
import { formatResources, type Resources } from '../../core/resources.ts'
import { setClaimConditions, updateClaim } from '../kubernetes/object-writes.ts'
import type { LaunchOutcome } from './contract.ts'
import type { AzureDeps } from './dependencies.ts'
import { nodeClassSettings } from './node-class-settings.ts'
import { type Chosen, launchedLabels, outdatedLabels } from './node-labels.ts'
import { nodeTags } from './tags.ts'
import { providerId } from './virtual-machine.ts'

/**
 * Writes what was launched into the claim: labels first, then the status with Launched True, each under an optimistic lock. Labels of
 * an earlier attempt that the new VM does not have are removed. A claim that went away meanwhile is an outcome.
 */
export async function recordLaunch(
  deps: AzureDeps,
  claim: NodeClaim,
  chosen: Chosen,
  imageId: string,
): Promise<LaunchOutcome> {
  const ref = { name: claim.metadata.name, uid: claim.metadata.uid }
  const hashes = { ...nodeClassHashes(deps, claim), ...inPlaceHash(deps, claim) }
  const wanted = launchedLabels(chosen, requirements(claim.spec.requirements), deps.config.location)
  const labelled = await updateClaim(deps, ref, ({ metadata }) => {
    const changes: Record<string, string | null> = {}
    for (const [key, value] of Object.entries(wanted)) if (metadata.labels[key] !== value) changes[key] = value
    for (const key of outdatedLabels(metadata.labels, wanted)) changes[key] = null
    const stamps = Object.fromEntries(
      Object.entries(hashes).filter(([key, value]) => metadata.annotations[key] !== value),
    )
    return Object.keys({ ...changes, ...stamps }).length === 0
      ? undefined
      : { metadata: { labels: changes, annotations: stamps } }
  })
  if (labelled === undefined) return { kind: 'claimGone' }
  const type = chosen.instanceType
  const written = await setClaimConditions(deps, ref, () => ({
    conditions: [{ type: 'Launched', status: 'True' }],
    status: {
      providerID: providerId(deps.config, ref.name),
      imageID: imageId,
      ...(type === undefined
        ? {}
        : { capacity: withoutZeros(type.capacity), allocatable: withoutZeros(allocatable(type)) }),
    },
  }))
  if (written === undefined) return { kind: 'claimGone' }
  return {
    kind: 'launched',
    providerId: providerId(deps.config, ref.name),
    instanceType: chosen.typeName,
    zone: chosen.zone,
    capacityType: chosen.capacityType,
    imageId,
  }
}

/** What the node class was when the VM was made from it: drift is told by comparing these. */
function nodeClassHashes(deps: AzureDeps, claim: NodeClaim): Record<string, string> {
  const own = deps.cache.nodeClasses.get(claim.spec.nodeClassRef.name)?.metadata.annotations ?? {}
  return Object.fromEntries(
    [annotations.nodeClassHash, annotations.nodeClassHashVersion].flatMap((key) => {
      const value = own[key]
      return value === undefined ? [] : [[key, value]]
    }),
  )
}

/** What of the VM is changed in place when the node class' tags change (reference/azure-provider.md 8.3). */
function inPlaceHash({ cache, config }: AzureDeps, { metadata, spec }: NodeClaim): Record<string, string> {
  const nodeClass = cache.nodeClasses.get(spec.nodeClassRef.name)
  if (nodeClass === undefined) return {}
  const tags = nodeTags(config, nodeClassSettings(nodeClass, config), metadata.labels[labels.nodePool])
  return { [annotations.inPlaceUpdateHash]: inPlaceUpdateHash({ identities: config.nodeIdentities, tags }) }
}

function withoutZeros(amounts: Resources): Record<string, string> {
  return formatResources(Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount.nano !== 0n)))
}
