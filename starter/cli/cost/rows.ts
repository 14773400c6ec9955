import { type BilledSpan, billOf } from '../../../core/cost/bill.ts'
import type { ShareLine } from '../../../core/cost/report.ts'
import type { ReadCost } from '../../cost/read-cost.ts'
import type { CostKey } from './options.ts'

export interface CostRow {
  readonly key: string
  readonly usd: number
  readonly nodeHours?: number
  readonly unpricedHours?: number
  readonly spotDiscount?: number
}

/** Returns the lines of a report, which add up to the total. Names in parentheses cannot be names of objects. */
export function rowsOf(cost: ReadCost, by: CostKey): readonly CostRow[] {
  const { total, spans, shares } = cost
  switch (by.kind) {
    case 'nodepool':
      return total.lines.map((line) => ({ ...line, key: line.key === '' ? '(no NodePool)' : line.key }))
    case 'label':
      return withRest(billOf(spans, labelOf(by.label), cost.onDemand).lines, total.usd)
    case 'namespace':
      return shares === undefined ? [] : withShares(shares.namespaces, shares.otherNamespaces, shares)
    case 'workload':
      return shares === undefined ? [] : withShares(shares.workloads, shares.otherWorkloads, shares)
  }
}

/** Facts of the VM come first: a label of the NodeClaim cannot say anything else of them. */
function labelOf(label: string): (span: BilledSpan) => string {
  const facts: Readonly<Record<string, (span: BilledSpan) => string>> = {
    'karpenter.sh/nodepool': ({ life }) => life.nodePool ?? '',
    'karpenter.sh/capacity-type': ({ vm }) => vm.capacityType,
    'node.kubernetes.io/instance-type': ({ vm }) => vm.instanceType,
    'topology.kubernetes.io/zone': ({ vm }) => vm.zone,
  }
  const fact = Object.hasOwn(facts, label) ? facts[label] : undefined
  return (span) => (fact?.(span) ?? (Object.hasOwn(span.life.labels, label) ? span.life.labels[label] : '')) || '(none)'
}

/** What only the ledger knows has no labels. */
function withRest(lines: readonly CostRow[], total: number): readonly CostRow[] {
  const rest = total - lines.reduce((sum, { usd }) => sum + usd, 0)
  return rest > 1e-9 ? [...lines, { key: '(unknown)', usd: rest }] : lines
}

function withShares(
  lines: readonly ShareLine[],
  other: number,
  { idle, unknown }: { readonly idle: number; readonly unknown: number },
): readonly CostRow[] {
  return [
    ...lines,
    ...(other === 0 ? [] : [{ key: '(other)', usd: other }]),
    { key: '(idle)', usd: idle },
    ...(Math.abs(unknown) < 1e-9 ? [] : [{ key: '(unknown)', usd: unknown }]),
  ]
}
