import { labels } from '../../core/labels.ts'
import type { Pod, RequirementSpec } from '../../core/objects.ts'
import { podName } from '../../core/pod-rules.ts'
import { formatResources } from '../../core/resources.ts'
import type { PlannedNodeClaim, SchedulingPlan } from '../../core/scheduling/snapshot.ts'

/** What one pass decided, as a simulation prints it. */
export interface ResultJson {
  readonly newNodeClaims: readonly {
    readonly nodePool: string
    readonly instanceTypes: readonly string[]
    readonly cheapestPrice: number
    readonly requirements: readonly RequirementSpec[]
    readonly minValuesRelaxed?: true
    readonly requests: Readonly<Record<string, string>>
    readonly pods: readonly string[]
  }[]
  readonly existingNodes: readonly { readonly name: string; readonly pods: readonly string[] }[]
  readonly errors: Readonly<Record<string, string>>
}

export function resultOf(plan: SchedulingPlan): ResultJson {
  const errors = plan.unschedulable.map(({ pod, message }): [string, string] => [podName(pod), shown(message)])
  return {
    newNodeClaims: plan.newNodeClaims.map(claimResult),
    existingNodes: plan.existing
      .map(({ node, pods }) => ({ name: node, pods: names(pods) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    errors: Object.fromEntries(errors.sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

function claimResult(claim: PlannedNodeClaim): ResultJson['newNodeClaims'][number] {
  return {
    nodePool: claim.nodePool,
    instanceTypes: [...claim.instanceTypes].sort(),
    cheapestPrice: claim.price,
    requirements: claim.requirements.filter(
      ({ key, minValues }) => key !== labels.instanceType || minValues !== undefined,
    ),
    ...(claim.minValuesRelaxed === true ? { minValuesRelaxed: true as const } : {}),
    requests: formatResources(claim.requests),
    pods: names(claim.pods),
  }
}

const names = (pods: readonly Pod[]) => pods.map(podName).sort()

/** Hostnames that were made up have no number: it means nothing to a reader. */
function shown(message: string): string {
  return message.replace(/hostname-placeholder-\d+/g, 'hostname-placeholder')
}
