import type { NodeClass } from '../../../api/objects.ts'
import type { InPlaceState } from '../../../core/node-class/in-place-update-hash.ts'
import { inPlaceUpdateHash } from '../../../core/node-class/in-place-update-hash.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import type { AzureConfig } from '../azure-config.ts'
import { nodeTags } from '../launch/tags.ts'

/** What of a claim's VM is changed in place: its tags and identities, as class and configuration ask for them now (reference/azure-provider.md 8.3). */
export function inPlaceGoal(
  config: AzureConfig,
  nodeClass: NodeClass,
  { metadata }: Pick<NodeClaim, 'metadata'>,
): InPlaceState {
  const tags = nodeTags(config, nodeClass.spec, metadata.labels[labels.nodePool])
  return { identities: config.nodeIdentities, tags }
}

/** What a claim says once its VM is as it should be: the hash, and the names of the tags that are Joiner's to take away again. */
export function inPlaceStamps(goal: InPlaceState): Record<string, string> {
  return {
    [annotations.inPlaceUpdateHash]: inPlaceUpdateHash(goal),
    [annotations.tagNames]: tagNamesText(Object.keys(goal.tags)),
  }
}

/** Names of tags as the annotation holds them. */
export function tagNamesText(names: readonly string[]): string {
  return JSON.stringify(names.toSorted((a, b) => (a < b ? -1 : 1)))
}

/** The names of the tags that Joiner set; undefined: nobody wrote them down, as on nodes of Karpenter. */
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
