import type { Node } from '../../../../core/objects.ts'
import { labels } from '../../../../core/requirements/labels.ts'
import { defined } from '../../../../core/values/defined.ts'

/** Where a cluster is at Azure, as its nodes say. */
export interface AzurePlace {
  readonly subscriptionId?: string
  readonly nodeResourceGroup?: string
  readonly region?: string
}

const vmId = /^azure:\/\/\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\//i

/** Returns what most nodes say. */
export function placeOf(nodes: readonly Node[]): AzurePlace {
  const ids = nodes.map(({ providerId = '' }) => vmId.exec(providerId))
  const subscriptionId = mostFrequent(ids.map((id) => id?.[1]))
  const nodeResourceGroup = mostFrequent(ids.map((id) => id?.[2]))
  const region = mostFrequent(nodes.map(({ metadata }) => metadata.labels[labels.region]))
  return {
    ...defined({ subscriptionId, nodeResourceGroup, region }),
  }
}

function mostFrequent(values: readonly (string | undefined)[]): string | undefined {
  const counts = new Map<string, number>()
  for (const value of values) if (value) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0]
}
