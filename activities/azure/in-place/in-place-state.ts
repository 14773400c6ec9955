import type { NodeClass } from '../../../api/objects.ts'
import { type InPlaceState, inPlaceUpdateHash } from '../../../core/node-class/in-place-update-hash.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import type { AzureConfig } from '../azure-config.ts'
import { nodeTags } from '../launch/tags.ts'

/** Returns the wanted tags and identities of a claim's VM, by class and configuration as they are now (reference/azure-provider.md 8.3). */
export function inPlaceGoal(
  config: AzureConfig,
  nodeClass: NodeClass,
  { metadata }: Pick<NodeClaim, 'metadata'>,
): InPlaceState {
  const tags = nodeTags(config, nodeClass.spec, metadata.labels[labels.nodePool])
  return { identities: config.nodeIdentities, tags }
}

/** Returns a claim's annotations once its VM is up to date: the hash, and the names of the tags that Joiner may remove again. */
export function inPlaceStamps(goal: InPlaceState): Record<string, string> {
  return {
    [annotations.inPlaceUpdateHash]: inPlaceUpdateHash(goal),
    [annotations.tagNames]: tagNamesText(Object.keys(goal.tags)),
  }
}

/** Returns names of tags as the annotation holds them. */
export function tagNamesText(names: readonly string[]): string {
  return JSON.stringify(names.toSorted((a, b) => (a < b ? -1 : 1)))
}

/** Returns the names of the tags that Joiner set; undefined when they were not recorded, as on nodes of Karpenter. */
export function tagNamesOf({
  annotations: own,
}: Pick<NodeClaim['metadata'], 'annotations'>): readonly string[] | undefined {
  try {
    const names: unknown = JSON.parse(own[annotations.tagNames] ?? '')
    return Array.isArray(names) && names.every((name) => typeof name === 'string') ? names : undefined
  } catch {
    return undefined
  }
}
