import { ago } from '../../document/words.ts'
import type { ClusterView, NodeView } from '../../view/cluster-view.ts'
import { bar, shareOf, shareStyle } from './bars.ts'
import type { Cell, Style } from './paint.ts'

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
  {
    key: 'price',
    title: 'USD/H',
    isRight: true,
    cell: ({ pricePerHour }) => text(pricePerHour?.toFixed(4)),
  },
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
  { unlisted = [] }: Pick<ClusterView, 'unlisted'>,
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
export function usage({ requested, allocatable, pods }: NodeView, resource: Resource): number | undefined {
  return shareOf(resource === 'pods' ? pods.length : requested[resource], allocatable[resource])
}
