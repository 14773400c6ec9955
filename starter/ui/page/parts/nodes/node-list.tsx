import { computed, type Signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { counted, dollars, percent } from '../../../../document/words.ts'
import type { NodeView } from '../../../contract.ts'
import { nodeOf, summary } from '../../state/cluster.ts'
import { age, bytes, cores, readable } from '../../state/format.ts'
import { nodeLink } from '../../state/route.ts'
import { type Column, DataTable } from '../data-table.tsx'
import { Meter } from '../elements.tsx'
import { drawnPhase, PhaseBadge, PhaseIcon, PodBoxes, phaseLook, phaseText } from './node-signs.tsx'

export type Layout = 'cards' | 'tiles' | 'table'

interface Props {
  readonly name: string
  readonly keys: readonly string[]
  readonly layout: Layout
  /** In lower case; empty: all. */
  readonly filter: string
}

/** The nodes of one NodePool. */
export function NodeList({ name, keys, layout, filter }: Props) {
  const nodes = useMemo(() => {
    const all = keys.flatMap((key) => nodeOf(key) ?? [])
    return filter === '' ? all : all.filter((node) => matches(node.peek(), filter))
  }, [keys, filter])
  if (filter !== '' && nodes.length === 0) return null
  const Shape = layout === 'tiles' ? NodeTile : NodeCard
  const title = name === '' ? 'Without a NodePool' : name
  return (
    <section class="pool" aria-label={`NodePool ${title}`}>
      <header class="pool-head">
        <h3>{title}</h3>
        <PoolFacts name={name} />
      </header>
      {layout === 'table' ? (
        <DataTable caption={`Nodes of ${title}`} columns={columns} rows={nodes} keyOf={(node) => node.peek().key} />
      ) : (
        // Each link in it is reached by arrow keys.
        <ul class={layout} onKeyDown={moveByArrowKeys}>
          {nodes.map((node, index) => (
            <li key={node.peek().key}>
              <Shape node={node} isFirst={index === 0} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** By name, size, zone, phase and pods. */
function matches(node: NodeView, filter: string): boolean {
  const words = [node.key, node.node, node.instanceType, node.zone, node.capacityType, node.phase, node.note]
  return (
    words.some((word) => word?.toLowerCase().includes(filter) === true) ||
    node.pods.some(([pod]) => pod.toLowerCase().includes(filter))
  )
}

function PoolFacts({ name }: { readonly name: string }) {
  const facts: Signal<string> = useMemo(
    () =>
      computed(() => {
        const pool = summary.value?.pools.find((each) => each.name === name)
        if (pool === undefined) return ''
        const { requested, allocatable } = pool
        return [
          counted(pool.nodes, 'node'),
          `CPU ${percent(requested.cpu, allocatable.cpu)}`,
          `memory ${percent(requested.memory, allocatable.memory)}`,
          `${dollars(pool.pricePerHour)}/h`,
          pool.unpriced > 0 ? `${pool.unpriced} without a price` : '',
        ]
          .filter((part) => part !== '')
          .join(' · ')
      }),
    [name],
  )
  return <p class="facts">{facts}</p>
}

/** Moves the focus among the links of a list by arrow keys, Home and End. The one that was left last is the one that the tabulator key reaches. */
function moveByArrowKeys(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('a[tabindex]')]
  const at = links.indexOf(document.activeElement as HTMLElement)
  const to = target(event.key, { links, at })
  if (at === -1 || to === undefined) return
  event.preventDefault()
  links[at]?.setAttribute('tabindex', '-1')
  to.setAttribute('tabindex', '0')
  to.focus()
}

interface Place {
  readonly links: readonly HTMLElement[]
  readonly at: number
}

function target(key: string, { links, at }: Place): HTMLElement | undefined {
  switch (key) {
    case 'ArrowRight':
      return links[at + 1]
    case 'ArrowLeft':
      return links[at - 1]
    case 'ArrowDown':
      return links[at + perRow(links)]
    case 'ArrowUp':
      return links[at - perRow(links)]
    case 'Home':
      return links[0]
    case 'End':
      return links.at(-1)
    default:
      return undefined
  }
}

/** How many lie beside each other: those on the height of the first. */
function perRow(links: readonly HTMLElement[]): number {
  const top = links[0]?.offsetTop
  const next = links.findIndex(({ offsetTop }) => offsetTop !== top)
  return next === -1 ? links.length : next
}

const link = ({ key, node }: NodeView) => <a href={nodeLink(key)}>{node ?? key}</a>

/** The same nodes for who reads better than they look. */
const columns: readonly Column<Signal<NodeView>>[] = [
  ['Node', ({ value }) => link(value)],
  ['Phase', ({ value }) => <PhaseBadge node={value} />],
  ['Size', ({ value }) => value.instanceType ?? '–'],
  ['Zone', ({ value }) => value.zone ?? '–'],
  ['Capacity', ({ value }) => value.capacityType ?? '–'],
  ['CPU', ({ value }) => percent(value.requested.cpu, value.allocatable.cpu), 'number'],
  ['Memory', ({ value }) => percent(value.requested.memory, value.allocatable.memory), 'number'],
  ['Pods', ({ value }) => value.pods.length, 'number'],
  ['Price', ({ value: { pricePerHour: price } }) => (price === undefined ? '–' : `${dollars(price)}/h`), 'number'],
  ['Age', ({ value }) => age(value.createdMs), 'number'],
  ['Note', ({ value }) => readable(value.note ?? '')],
]

interface CardProps {
  readonly node: Signal<NodeView>
  /** The one of its list that the tabulator key reaches; arrow keys reach the others. */
  readonly isFirst: boolean
}

/** What the card shows besides its name, in words. */
function spoken(node: NodeView): string {
  const { allocatable, requested } = node
  return [
    phaseText(node),
    node.instanceType ?? 'no instance type yet',
    counted(node.pods.length, 'pod'),
    `CPU ${percent(requested.cpu, allocatable.cpu)}, memory ${percent(requested.memory, allocatable.memory)} requested`,
    node.pricePerHour === undefined ? 'no known price' : `${dollars(node.pricePerHour)} an hour`,
    readable(node.note ?? ''),
  ]
    .filter((part) => part !== '')
    .join('. ')
}

const place = ({ zone, capacityType }: NodeView) =>
  [zone, capacityType].filter((part) => part !== undefined).join(' · ')

/** A node with room for words. It is drawn again when its own node changes, and never else. */
function NodeCard({ node, isFirst }: CardProps) {
  const view = node.value
  const { allocatable, requested } = view
  return (
    <div class="node" {...phaseLook(drawnPhase(view))} data-key={view.key}>
      <div class="node-head">
        <a class="node-name" href={nodeLink(view.key)} tabIndex={isFirst ? 0 : -1}>
          {view.node ?? view.key}
          <span class="unseen">. {spoken(view)}</span>
        </a>
        <PhaseBadge node={view} />
      </div>
      <div class="node-sub">
        <span>{view.instanceType ?? 'no instance yet'}</span>
        <span class="number">{view.pricePerHour === undefined ? 'no price' : `${dollars(view.pricePerHour)}/h`}</span>
      </div>
      <PodBoxes node={view} width={240} height={64} />
      <Meter name="CPU" part={requested.cpu} whole={allocatable.cpu} text={cpuText(view)} />
      <Meter name="Mem" part={requested.memory} whole={allocatable.memory} text={memoryText(view)} />
      <div class="node-foot">
        <span>{place(view)}</span>
        <span>{counted(view.pods.length, 'pod')}</span>
      </div>
      {view.note !== undefined && <p class="node-note">{readable(view.note)}</p>}
    </div>
  )
}

const cpuText = ({ requested, allocatable }: NodeView) =>
  `${cores(requested.cpu)} of ${cores(allocatable.cpu)} cores requested`
const memoryText = ({ requested, allocatable }: NodeView) =>
  `${bytes(requested.memory)} of ${bytes(allocatable.memory)} requested`

/** A node among hundreds: its pods, and a sign where it is not simply ready. */
function NodeTile({ node, isFirst }: CardProps) {
  const view = node.value
  return (
    <a
      class="tile"
      href={nodeLink(view.key)}
      {...phaseLook(drawnPhase(view))}
      data-key={view.key}
      aria-label={`${view.node ?? view.key}. ${spoken(view)}`}
      title={view.node ?? view.key}
      tabIndex={isFirst ? 0 : -1}
    >
      <PodBoxes node={view} width={72} height={40} />
      {drawnPhase(view) !== 'Ready' && <PhaseIcon phase={drawnPhase(view)} />}
    </a>
  )
}
