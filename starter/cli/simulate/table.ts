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
import { counted, few, monthly } from '../../document/words.ts'
import { aligned } from '../shared/table.ts'
import { funnelLines, lines } from './explain.ts'
import { shown } from './result.ts'
import type { Solved } from './rounds.ts'
import { isPriced, podNames, valuesFor } from './words.ts'

const header = ['NODE', 'NODEPOOL', 'TYPE', 'ZONE', 'CAPACITY', 'USD/MONTH', 'PODS']
const podsShown = 6
/** Each costs a question to every NodePool. */
const mostFunnels = 200

/** The result for people. */
export function tableText(solved: Solved): string {
  const { plan } = solved.explained
  const nodes = new Map(solved.snapshot.nodes.map((node) => [node.name, node]))
  const rows = [
    ...[...plan.existing]
      .sort((a, b) => (a.node < b.node ? -1 : 1))
      .map(({ node, pods }) => existingRow(node, nodes.get(node), pods)),
    ...plan.newNodeClaims.map((claim, at) => claimRow(claim, at + 1)),
  ]
  const parts = [rows.length === 0 ? '' : aligned([header, ...rows]), summary(plan), pendingText(solved)]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
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
function pendingText({ explained }: Solved): string {
  const { unschedulable } = explained.plan
  if (unschedulable.length === 0) return ''
  const alike = [...Map.groupBy(unschedulable, likeness).values()]
  const reasons = alike.slice(0, mostFunnels).map(([first, ...more]) => {
    const { pod, cause } = first as UnschedulablePod
    const text = lines(shown(unschedulableText(cause)), ...funnelLines(explained.podFunnels(pod)))
    return { text, pods: [pod, ...more.map((one) => one.pod)] }
  })
  const parts = [...Map.groupBy(reasons, ({ text }) => text)].map(
    ([text, of]) => `${few(podNames(of.flatMap(({ pods }) => pods)), podsShown)}: ${text}`,
  )
  const rest = alike.slice(mostFunnels).flat().length
  const more = rest === 0 ? '' : `\nand ${counted(rest, 'more pod')}; --explain NAMESPACE/NAME says why`
  return `PENDING\n${parts.sort().join('\n')}${more}`
}

function likeness({ pod, cause }: UnschedulablePod): string {
  return `${podFingerprint(pod)} ${shown(unschedulableText(cause))}`
}
