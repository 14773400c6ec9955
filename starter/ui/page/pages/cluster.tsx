import { signal } from '@preact/signals'
import { counted, dollars, hoursOfMonth, percent } from '../../../document/words.ts'
import { Figure } from '../parts/figure.tsx'
import { Icon } from '../parts/icon.tsx'
import { type Layout, NodeList } from '../parts/nodes/node-list.tsx'
import type { PodStyle } from '../parts/nodes/pod-layout.ts'
import { Pending } from '../parts/pending.tsx'
import { allNodes, missing, pools, summary } from '../state/cluster.ts'
import { bytes, cores } from '../state/format.ts'

const filter = signal('')
/** Undefined: nobody chose, so the number of nodes decides. */
const chosen = signal<Layout | undefined>(undefined)
const manyNodes = 24

const layouts: readonly (readonly [Layout, string])[] = [
  ['cards', 'Boxes'],
  ['tiles', 'Small boxes'],
  ['table', 'Table'],
]

/** The cluster now: totals, pods that wait, nodes by NodePool. */
export function ClusterPage() {
  const known = summary.value
  if (known === undefined) return <p class="waiting">Reading the cluster …</p>
  return (
    <>
      <h1 class="unseen">Cluster</h1>
      <Notices texts={[...new Set([...known.missing, ...missing.value])]} />
      <Totals />
      <Pending classes={known.pending} />
      <Nodes />
    </>
  )
}

function Totals() {
  const known = summary.value
  if (known === undefined) return null
  const { totals } = known
  const unpriced = totals.unpriced > 0 ? `${counted(totals.unpriced, 'node')} without a known price` : undefined
  return (
    <dl class="totals">
      <Figure name="Nodes" value={totals.nodes.toLocaleString('en-US')} />
      <Figure name="Pods" value={totals.pods.toLocaleString('en-US')} />
      <Figure name="Pending pods" value={totals.pending.toLocaleString('en-US')} isLoud={totals.pending > 0} />
      <Figure
        name="CPU requested"
        value={percent(totals.requested.cpu, totals.allocatable.cpu)}
        more={`${cores(totals.requested.cpu)} of ${cores(totals.allocatable.cpu)} cores`}
      />
      <Figure
        name="Memory requested"
        value={percent(totals.requested.memory, totals.allocatable.memory)}
        more={`${bytes(totals.requested.memory)} of ${bytes(totals.allocatable.memory)}`}
      />
      <Figure
        name="Price"
        value={`${dollars(totals.pricePerHour)}/h`}
        more={unpriced ?? `${dollars(totals.pricePerHour * hoursOfMonth)} a month`}
      />
    </dl>
  )
}

function Nodes() {
  const layout = chosen.value ?? (allNodes().length > manyNodes ? 'tiles' : 'cards')
  return (
    <section aria-labelledby="nodes-title">
      <div class="section-head">
        <h2 id="nodes-title">Nodes</h2>
        <div class="tools">
          <label class="search">
            <span class="unseen">Show nodes that match</span>
            <input
              type="search"
              placeholder="Filter: name, size, zone, phase, pod"
              value={filter.value}
              onInput={(event) => {
                filter.value = event.currentTarget.value
              }}
            />
          </label>
          <fieldset class="choice">
            <legend class="unseen">Nodes as</legend>
            {layouts.map(([value, name]) => (
              <label key={value}>
                <input
                  type="radio"
                  name="layout"
                  checked={layout === value}
                  onChange={() => {
                    chosen.value = value
                  }}
                />
                <span>{name}</span>
              </label>
            ))}
          </fieldset>
        </div>
      </div>
      {layout !== 'table' && <Legend />}
      {pools.value.length === 0 && <p class="empty">The cluster has no nodes.</p>}
      {pools.value.map(({ name, keys }) => (
        <NodeList key={name} name={name} keys={keys} layout={layout} filter={filter.value.trim().toLowerCase()} />
      ))}
    </section>
  )
}

/** What could not be read, with the remedy. */
function Notices({ texts }: { readonly texts: readonly string[] }) {
  if (texts.length === 0) return null
  return (
    <ul class="notices" aria-label="What is missing">
      {texts.map((text) => (
        <li key={text}>
          <Icon name="alert" />
          {text}
        </li>
      ))}
    </ul>
  )
}

const kinds: readonly (readonly [PodStyle, string])[] = [
  ['work', 'Pod'],
  ['daemon', 'DaemonSet or static pod'],
  ['held', 'Pod with do-not-disrupt'],
  ['leaving', 'Pod that terminates'],
]

/** What the boxes within a node mean. */
function Legend() {
  return (
    <ul class="legend" aria-label="Meaning of the boxes">
      {kinds.map(([style, name]) => (
        <li key={style}>
          <svg class="pods" viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">
            <path class={style} d="M1.5 1.5h11v11h-11z" />
          </svg>
          {name}
        </li>
      ))}
      <li>The area is the larger share of CPU or memory; what is empty is free.</li>
    </ul>
  )
}
