import pc from 'picocolors'
import { ago, percent } from '../../document/words.ts'
import type { ClusterView, NodeView } from '../../picture/watch/cluster-view.ts'

export const sortKeys = [
  'name',
  'nodepool',
  'type',
  'zone',
  'capacity',
  'price',
  'phase',
  'pods',
  'cpu',
  'memory',
  'age',
] as const
export type SortKey = (typeof sortKeys)[number]

export const resources = ['cpu', 'memory', 'pods'] as const
export type Resource = (typeof resources)[number]

/** A column of nodes. `now`: epoch ms. */
export interface Column {
  readonly key: SortKey | 'note'
  readonly title: string
  readonly isRight?: true
  readonly cell: (node: NodeView, now: number) => Cell
}

const text = (value = '-'): Cell => ({ text: value })

const plain: readonly Column[] = [
  { key: 'name', title: 'NODE', cell: ({ node, key }) => ({ text: node ?? key, isCutInFront: true }) },
  { key: 'nodepool', title: 'NODEPOOL', cell: ({ nodePool }) => text(nodePool) },
  { key: 'type', title: 'TYPE', cell: ({ instanceType }) => text(instanceType) },
  { key: 'zone', title: 'ZONE', cell: ({ zone }) => text(zone) },
  { key: 'capacity', title: 'CAPACITY', cell: ({ capacityType }) => text(capacityType) },
  { key: 'price', title: 'USD/H', isRight: true, cell: ({ pricePerHour }) => text(pricePerHour?.toFixed(4)) },
  { key: 'phase', title: 'PHASE', cell: phaseCell },
]

const podCount: Column = {
  key: 'pods',
  title: 'PODS',
  isRight: true,
  cell: ({ pods }) => ({ text: String(pods.length) }),
}

/** Returns the columns, with a bar for each of these resources, without those of which nothing is known. */
export function columnsFor(
  { unlisted }: Pick<ClusterView, 'unlisted'>,
  shown: readonly Resource[],
  barWidth: number,
): readonly Column[] {
  const unknown = [
    ...(unlisted.includes('pods') ? resources : []),
    ...(unlisted.includes('nodeclaims') ? ['phase'] : []),
  ]
  const bars: readonly Column[] = [
    ...(shown.includes('pods') ? [] : [podCount]),
    ...shown.map((resource) => ({
      key: resource,
      title: resource.toUpperCase(),
      cell: (node: NodeView) => barCell(node, resource, barWidth),
    })),
  ]
  const all: readonly Column[] = [
    ...plain,
    ...bars,
    {
      key: 'age',
      title: 'AGE',
      isRight: true,
      cell: ({ createdMs }, now) => text(createdMs === 0 ? undefined : ago(now - createdMs)),
    },
    { key: 'note', title: 'NOTE', cell: ({ note }) => ({ text: note ?? '', style: 'dim' }) },
  ]
  return all.filter(({ key }) => !unknown.includes(key))
}

const phaseStyles: Readonly<Record<string, Style>> = {
  Ready: 'green',
  Unmanaged: 'plain',
  Draining: 'yellow',
  Terminating: 'yellow',
}

/** Returns the phase, and what is odd about its Node. */
function phaseCell({ phase, isReady, isCordoned, node }: NodeView): Cell {
  const isSick = !isReady && node !== undefined && (phase === 'Ready' || phase === 'Unmanaged')
  const words = [phase, ...(isSick ? ['NotReady'] : []), ...(isCordoned ? ['cordoned'] : [])]
  return { text: words.join(','), style: isSick ? 'red' : (phaseStyles[phase] ?? 'cyan') }
}

function barCell(node: NodeView, resource: Resource, width: number): Cell {
  const share = usage(node, resource)
  if (share === undefined) return { text: '-' }
  return { text: bar(share, width), style: shareStyle(share) }
}

/** Returns the requested share of a node; undefined: it has none of the resource. */
function usage({ requested, allocatable, pods }: NodeView, resource: Resource): number | undefined {
  return shareOf(resource === 'pods' ? pods.length : requested[resource], allocatable[resource])
}

/** Returns a bar with the share in percent behind it. */
export function bar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width)
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${percent(share).padStart(4)}`
}

/** Full nodes are what is paid for. */
export function shareStyle(share: number): Style {
  if (share > 1) return 'red'
  if (share >= 0.7) return 'green'
  return share >= 0.3 ? 'yellow' : 'red'
}

/** Undefined: there is nothing to have a share of. */
export function shareOf(requested: number, allocatable: number): number | undefined {
  return allocatable > 0 ? requested / allocatable : undefined
}

export function coresText(cores: number): string {
  return cores >= 100 ? cores.toFixed(0) : cores.toFixed(1)
}

const memoryUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(memoryUnits.length - 1, Math.floor(Math.log2(bytes) / 10))
  const amount = bytes / 2 ** (10 * power)
  return `${amount >= 100 ? amount.toFixed(0) : amount.toFixed(1)} ${memoryUnits[power]}`
}

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

export type Style = 'plain' | 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan' | 'inverse'

/** A piece of a line. */
export interface Cell {
  readonly text: string
  readonly style?: Style
  /** Whether its end says more than its beginning. */
  readonly isCutInFront?: true
}

/** Gives a text a style. */
export type Paint = (text: string, style: Style) => string

export const noPaint: Paint = (text) => text

/** Paints for a terminal; nothing where colours are not wanted (`NO_COLOR`). */
export function paintFor(isColored: boolean): Paint {
  const colors = pc.createColors(isColored)
  return (text, style) => (style === 'plain' ? text : colors[style](text))
}
