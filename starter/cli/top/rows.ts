import type { NodeView } from '../../view/cluster-view.ts'
import { type Resource, resources, type SortKey, usage } from './columns.ts'

/** Which nodes are shown, and in which order. */
export interface Selection {
  readonly sort: SortKey
  readonly isReversed: boolean
  /** Absent: all. */
  readonly nodePool?: string
  /** Text that a row contains, in any case. */
  readonly filter: string
}

const texts: Readonly<Partial<Record<SortKey, (node: NodeView) => string>>> = {
  name: ({ node, key }) => node ?? key,
  nodepool: ({ nodePool = '' }) => nodePool,
  type: ({ instanceType = '' }) => instanceType,
  zone: ({ zone = '' }) => zone,
  capacity: ({ capacityType = '' }) => capacityType,
  phase: ({ phase }) => phase,
}

/** Numbers sort with the largest first. */
const numbers: Readonly<Partial<Record<SortKey, (node: NodeView) => number>>> = {
  price: ({ pricePerHour = -1 }) => pricePerHour,
  pods: ({ pods }) => pods.length,
  cpu: (node) => usage(node, 'cpu') ?? -1,
  memory: (node) => usage(node, 'memory') ?? -1,
  age: ({ createdMs }) => -createdMs,
}

/** Returns the nodes of a selection in its order; equal ones by name. */
export function selected(nodes: readonly NodeView[], { sort, isReversed, nodePool, filter }: Selection) {
  const wanted = filter.toLowerCase()
  const found = nodes.filter(
    (node) => (nodePool === undefined || (node.nodePool ?? '') === nodePool) && matches(node, wanted),
  )
  const direction = isReversed ? -1 : 1
  return found.toSorted((a, b) => direction * compare(a, b, sort) || compareTexts(a.key, b.key))
}

function compare(a: NodeView, b: NodeView, sort: SortKey): number {
  const [number, text] = [numbers[sort], texts[sort]]
  if (number !== undefined) return number(b) - number(a)
  return text === undefined ? 0 : compareTexts(text(a), text(b))
}

const compareTexts = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

function matches(node: NodeView, wanted: string): boolean {
  if (wanted === '') return true
  const { key, nodePool, phase, instanceType, zone, capacityType, note } = node
  return [key, node.node, nodePool, phase, instanceType, zone, capacityType, note].some((text) =>
    text?.toLowerCase().includes(wanted),
  )
}

/** Parses names of resources, such as `cpu,memory`. Undefined: one is none. */
export function parseResources(text: string): readonly Resource[] | undefined {
  const names = text.split(',').map((name) => name.trim())
  const found = resources.filter((resource) => names.includes(resource))
  return found.length === new Set(names).size ? found : undefined
}
