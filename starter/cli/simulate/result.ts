import type { Pod, RequirementSpec } from '../../../core/objects.ts'
import { podName } from '../../../core/pods/pod-rules.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { formatResources } from '../../../core/resources.ts'
import type { PlannedNodeClaim, SchedulingPlan } from '../../../core/scheduling/snapshot.ts'
import { unschedulableText } from '../../../core/scheduling/unschedulable-text.ts'

/** What one pass decided, as a simulation prints it. */
export interface ResultJson {
  readonly newNodeClaims: readonly ClaimJson[]
  readonly existingNodes: readonly { readonly name: string; readonly pods: readonly string[] }[]
  readonly errors: Readonly<Record<string, string>>
}

interface ClaimJson {
  readonly nodePool: string
  readonly instanceTypes: readonly string[]
  /** USD an hour; 999 and more stand for a price that is not known, as in Karpenter. */
  readonly cheapestPrice: number
  readonly requirements: readonly RequirementSpec[]
  readonly minValuesRelaxed?: true
  readonly requests: Readonly<Record<string, string>>
  readonly pods: readonly string[]
}

export function resultOf(plan: SchedulingPlan): ResultJson {
  return {
    newNodeClaims: plan.newNodeClaims.map(claimResult),
    existingNodes: nodesOf(plan),
    errors: Object.fromEntries(errorsOf(plan)),
  }
}

/** The text of the result, a piece for each entry: that of a large cluster is too large to be made in one. */
export function* resultText(plan: SchedulingPlan): Generator<string> {
  yield '{\n  "newNodeClaims": ['
  yield* entries(plan.newNodeClaims, (claim) => indented(claimResult(claim)))
  yield '],\n  "existingNodes": ['
  yield* entries(nodesOf(plan), indented)
  yield '],\n  "errors": {'
  yield* entries(errorsOf(plan), ([pod, message]) => `${JSON.stringify(pod)}: ${JSON.stringify(message)}`)
  yield '}\n}\n'
}

function* entries<T>(all: readonly T[], text: (one: T) => string): Generator<string> {
  for (const [at, one] of all.entries()) yield `${at === 0 ? '' : ','}\n    ${text(one)}`
  if (all.length > 0) yield '\n  '
}

const indented = (value: unknown) => JSON.stringify(value, undefined, 2).replaceAll('\n', '\n    ')

function nodesOf({ existing }: SchedulingPlan): ResultJson['existingNodes'] {
  return existing
    .map(({ node, pods }) => ({ name: node, pods: names(pods) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

function errorsOf({ unschedulable }: SchedulingPlan): readonly (readonly [string, string])[] {
  return unschedulable
    .map(({ pod, cause }) => [podName(pod), shown(unschedulableText(cause))] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

function claimResult(claim: PlannedNodeClaim): ClaimJson {
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
export function shown(message: string): string {
  return message.replace(/hostname-placeholder-\d+/g, 'hostname-placeholder')
}
