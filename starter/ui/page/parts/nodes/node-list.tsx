import type { Signal } from '@preact/signals'
import { computed } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { counted, dollars, percent } from '../../../../document/words.ts'
import type { NodeView } from '../../../contract.ts'
import { nodeOf, summary } from '../../state/cluster.ts'
import { NodeCard, NodeTile } from './node-card.tsx'
import { NodeTable } from './node-table.tsx'

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
        <NodeTable nodes={nodes} caption={`Nodes of ${title}`} />
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
