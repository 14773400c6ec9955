import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { isUnknownPrice } from '../../../activities/azure/catalogue/pricing.ts'
import { podFingerprint } from '../../../activities/scheduler-thread/pod-fingerprint.ts'
import type { Pod, RequirementSpec } from '../../../core/objects.ts'
import { podName } from '../../../core/pods/pod-rules.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { formatResources } from '../../../core/resources.ts'
import { funnelText, funnelTexts, type PoolFunnel } from '../../../core/scheduling/explain/funnel.ts'
import type { ClaimReasons } from '../../../core/scheduling/explain/funnel-claims.ts'
import { type ExplainedPlan, explainedPlan } from '../../../core/scheduling/schedule.ts'
import type {
  PlannedNodeClaim,
  SchedulableNode,
  SchedulingPlan,
  SchedulingSnapshot,
  UnschedulablePod,
} from '../../../core/scheduling/snapshot.ts'
import { unschedulableWords } from '../../../core/scheduling/unschedulable-text.ts'
import { type Document, type Part, section } from '../../document/document.ts'
import { InputError } from '../../document/reported-error.ts'
import { counted, few, monthly } from '../../document/words.ts'
import type { Scenario } from '../../files/taking-part.ts'

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
    .map(({ pod, cause }) => [podName(pod), unschedulableWords(cause)] as const)
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

/** Whether it is the price of what it stands for, and not one for a price that is not known. */
export const isPriced = (pricePerHour: number) => !isUnknownPrice(pricePerHour)

/** The values that a claim leaves open for a label; empty: it says nothing of it. */
function valuesFor(requirements: readonly RequirementSpec[], key: string): readonly string[] {
  return requirements.find((one) => one.key === key && one.operator === 'In')?.values ?? []
}

export interface Solved {
  readonly explained: ExplainedPlan
  readonly snapshot: SchedulingSnapshot
}

/**
 * Solves a problem as often as asked for, each time from its JSON, and returns the last answer. `report`: what a round took, for a line of JSON; the
 * snapshot starts with parsed JSON, and solving ends with finished claims.
 */
export function solveRounds(
  read: () => Scenario,
  rounds: number,
  report: (times: Readonly<Record<string, number>>) => void,
): Solved {
  for (let round = 1; ; round += 1) {
    const started = performance.now()
    const { snapshot, options } = read()
    const ready = performance.now()
    const explained = explainedPlan(snapshot, options)
    const solved = performance.now()
    const { plan } = explained
    report({
      pods: snapshot.pods.length,
      snapshotMs: ready - started,
      solveMs: solved - ready,
      nodes: plan.newNodeClaims.length,
      errors: plan.unschedulable.length,
      sumCheapestPrice: plan.newNodeClaims.reduce((sum, { price }) => sum + price, 0),
      peakRSSMiB: peakRSSMiB(),
    })
    if (round >= rounds) return { explained, snapshot }
  }
}

/** Linux counts what the parent had before it started this process as the child's own maximum, except in this file. */
export function peakRSSMiB(): number {
  try {
    const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    if (kib !== undefined) return Number(kib) / 1024
  } catch {
    // Other systems have no such file.
  }
  return process.resourceUsage().maxRSS / 1024
}

/** What became of one pod, and why. */
type Explanation =
  | {
      readonly kind: 'pending'
      readonly pod: string
      readonly message: string
      readonly nodePools: readonly PoolFunnel[]
    }
  | { readonly kind: 'existing node'; readonly pod: string; readonly node: string }
  | {
      readonly kind: 'new node'
      readonly pod: string
      readonly nodePool: string
      readonly pods: readonly string[]
      readonly instanceTypes: readonly string[]
      readonly reasons: ClaimReasons
    }

/** `name` may leave out the namespace `default`. Errors: InputError when the pod is not among those to place. */
export function explain({ explained, snapshot }: Solved, name: string): Explanation {
  const wanted = name.includes('/') ? name : `default/${name}`
  const is = (pod: Pod) => podName(pod) === wanted
  const { newNodeClaims, existing, unschedulable } = explained.plan
  const pending = unschedulable.find(({ pod }) => is(pod))
  if (pending !== undefined) {
    const nodePools = explained.podFunnels(pending.pod)
    return { kind: 'pending', pod: wanted, message: unschedulableWords(pending.cause), nodePools }
  }
  const node = existing.find(({ pods }) => pods.some(is))
  if (node !== undefined) return { kind: 'existing node', pod: wanted, node: node.node }
  const claim = newNodeClaims.find(({ pods }) => pods.some(is))
  const reasons = claim && explained.claimReasons(claim)
  if (claim === undefined || reasons === undefined)
    throw new InputError(
      `--explain ${name}: there is no such pod among the ${snapshot.pods.length} to place; write namespace/name of one that waits for a node`,
    )
  const { nodePool, instanceTypes } = claim
  return { kind: 'new node', pod: wanted, nodePool, pods: names(claim.pods), instanceTypes, reasons }
}

/** The explanation for people. */
export function explanationPart(explanation: Explanation): Part {
  const { pod } = explanation
  switch (explanation.kind) {
    case 'existing node':
      return `${pod} fits on the existing node ${explanation.node}; existing nodes come before new ones.`
    case 'pending':
      return { title: `${pod} stays pending: ${explanation.message}`, items: explanation.nodePools.map(funnelPart) }
    case 'new node':
      return { title: `${pod} gets a new node of NodePool ${explanation.nodePool}.`, items: claimParts(explanation) }
  }
}

/** What a NodePool could do, with what was left after each question. */
function funnelPart(pool: PoolFunnel): Part {
  const [title, miss] = funnelTexts(pool)
  return { title, items: [miss] }
}

function claimParts(explanation: Extract<Explanation, { kind: 'new node' }>): readonly Part[] {
  const { pods, instanceTypes, reasons } = explanation
  const { funnel, named, cheapest, cheaper } = reasons
  const cut = funnel.limits > named ? `; it names the ${named} cheapest` : ''
  return [
    `its pods: ${few(pods, 10)}`,
    `types: ${funnelText(funnel)}${cut}`,
    `cheapest first: ${few(instanceTypes, 5)}`,
    isPriced(cheapest.price)
      ? `${cheapest.type} at USD ${cheapest.price} an hour is ${monthly(cheapest.price)} a month`
      : `the price of ${cheapest.type} is unknown`,
    section(
      'cheaper types that are not in it',
      cheaper.map(
        ({ count, example, price, reason }) => `${counted(count, 'type')} (${example} from USD ${price}): ${reason}`,
      ),
    ) ?? 'no type of the NodePool is cheaper',
  ]
}

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
  return `${pods.length}: ${few(names(pods), podsShown)}`
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
    const reason = unschedulableWords(cause)
    const funnels = explained.podFunnels(pod).map(funnelPart)
    return { reason, funnels, pods: [pod, ...more.map((one) => one.pod)] }
  })
  const parts = [...Map.groupBy(reasons, ({ reason, funnels }) => JSON.stringify([reason, funnels])).values()].map(
    (of) => {
      const { reason = '', funnels = [] } = of[0] ?? {}
      return { title: `${few(names(of.flatMap(({ pods }) => pods)), podsShown)}: ${reason}`, funnels }
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
  return `${podFingerprint(pod)} ${unschedulableWords(cause)}`
}
