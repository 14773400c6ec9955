import { podFingerprint } from '../../../activities/scheduler-thread/pod-fingerprint.ts'
import type { Pod } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import type {
  PlannedNodeClaim,
  SchedulableNode,
  SchedulingPlan,
  UnschedulablePod,
} from '../../../core/scheduling/snapshot.ts'
import { unschedulableText } from '../../../core/scheduling/unschedulable-text.ts'
import type { Document, Part } from '../../document/document.ts'
import { counted, few, monthly } from '../../document/words.ts'
import { funnelPart } from './explain.ts'
import { shown } from './result.ts'
import type { Solved } from './rounds.ts'
import { isPriced, podNames, valuesFor } from './words.ts'

const header = ['NODE', 'NODEPOOL', 'TYPE', 'ZONE', 'CAPACITY', 'USD/MONTH', 'PODS']
const drop = ['ZONE', 'CAPACITY', 'NODEPOOL']
const podsShown = 6
/** Each costs a question to every NodePool. */
const mostFunnels = 200

/** The result for people. */
export function planDocument(solved: Solved): Document {
  const { plan } = solved.explained
  const nodes = new Map(solved.snapshot.nodes.map((node) => [node.name, node]))
  const rows = [
    ...[...plan.existing]
      .sort((a, b) => (a.node < b.node ? -1 : 1))
      .map(({ node, pods }) => existingRow(node, nodes.get(node), pods)),
    ...plan.newNodeClaims.map((claim, at) => claimRow(claim, at + 1)),
  ]
  return [[rows.length === 0 ? undefined : { header, drop, rows }], [summary(plan)], pendingParts(solved)]
}

function claimRow(claim: PlannedNodeClaim, number: number): readonly string[] {
  const { nodePool, instanceTypes, requirements, price, pods } = claim
  const others = instanceTypes.length - 1
  const zones = valuesFor(requirements, labels.zone)
  return [
    `new ${number}`,
    nodePool,
    `${instanceTypes[0] ?? '?'}${others > 0 ? ` or ${counted(others, 'other')}` : ''}`,
    few(zones, 3) || 'any',
    valuesFor(requirements, labels.capacityType).join(', ') || 'any',
    isPriced(price) ? monthly(price) : 'unknown',
    podsText(pods),
  ]
}

function existingRow(name: string, node: SchedulableNode | undefined, pods: readonly Pod[]): readonly string[] {
  const label = (key: string) => node?.labels[key] ?? '-'
  return [
    name,
    label(labels.nodePool),
    label(labels.instanceType),
    label(labels.zone),
    label(labels.capacityType),
    '-',
    podsText(pods),
  ]
}

function podsText(pods: readonly Pod[]): string {
  return `${pods.length}: ${few(podNames(pods), podsShown)}`
}

function summary({ newNodeClaims, existing, unschedulable }: SchedulingPlan): string {
  const onExisting = existing.reduce((sum, { pods }) => sum + pods.length, 0)
  const onNew = newNodeClaims.reduce((sum, { pods }) => sum + pods.length, 0)
  const priced = newNodeClaims.filter(({ price }) => isPriced(price))
  const price = monthly(priced.reduce((sum, claim) => sum + claim.price, 0))
  const unpriced = newNodeClaims.length - priced.length
  return [
    `${counted(newNodeClaims.length, 'new node')} for ${counted(onNew, 'pod')}, USD ${price} a month at their cheapest${unpriced === 0 ? '' : ` and ${counted(unpriced, 'node')} without a price`}`,
    `${counted(onExisting, 'pod')} on existing nodes`,
    `${counted(unschedulable.length, 'pod')} pending`,
  ].join('; ')
}

/** Pods with the same reason and the same funnel are reported once. */
function pendingParts({ explained }: Solved): readonly Part[] {
  const { unschedulable } = explained.plan
  if (unschedulable.length === 0) return []
  const alike = [...Map.groupBy(unschedulable, likeness).values()]
  const reasons = alike.slice(0, mostFunnels).map(([first, ...more]) => {
    const { pod, cause } = first as UnschedulablePod
    const reason = shown(unschedulableText(cause))
    const funnels = explained.podFunnels(pod).map(funnelPart)
    return { reason, funnels, pods: [pod, ...more.map((one) => one.pod)] }
  })
  const parts = [...Map.groupBy(reasons, ({ reason, funnels }) => JSON.stringify([reason, funnels])).values()].map(
    (of) => {
      const { reason = '', funnels = [] } = of[0] ?? {}
      return { title: `${few(podNames(of.flatMap(({ pods }) => pods)), podsShown)}: ${reason}`, funnels }
    },
  )
  const rest = alike.slice(mostFunnels).flat().length
  return [
    'PENDING',
    ...parts
      .sort((a, b) => (a.title < b.title ? -1 : 1))
      .map(({ title, funnels }): Part => (funnels.length === 0 ? title : { title, items: funnels })),
    rest === 0 ? undefined : `and ${counted(rest, 'more pod')}; --explain NAMESPACE/NAME says why`,
  ]
}

function likeness({ pod, cause }: UnschedulablePod): string {
  return `${podFingerprint(pod)} ${shown(unschedulableText(cause))}`
}
