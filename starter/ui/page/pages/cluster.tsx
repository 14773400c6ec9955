import { signal } from '@preact/signals'
import { counted, dollars, hoursOfMonth, percent } from '../../../document/words.ts'
import type { WaitingClass } from '../../contract.ts'
import { Badge, Choice, Figure, type IconName, Texts } from '../parts/elements.tsx'
import { type Layout, NodeList } from '../parts/nodes/node-list.tsx'
import type { PodStyle } from '../parts/nodes/pod-layout.ts'
import { allNodes, missing, pools, summary } from '../state/cluster.ts'
import { age, bytes, cores, readable } from '../state/format.ts'
import { nodeLink } from '../state/route.ts'

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
      <Texts label="What is missing" look="notices" icon="alert" texts={missing.value} />
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
  const ifKnown = (kind: string, text: string) => (known.unlisted.includes(kind) ? 'not known' : text)
  const unpriced = totals.unpriced > 0 ? `${counted(totals.unpriced, 'node')} without a known price` : undefined
  return (
    <dl class="totals">
      <Figure name="Nodes" value={ifKnown('nodes', totals.nodes.toLocaleString('en-US'))} />
      <Figure name="Pods" value={ifKnown('pods', totals.pods.toLocaleString('en-US'))} />
      <Figure
        name="Pending pods"
        value={ifKnown('pods', totals.pending.toLocaleString('en-US'))}
        isLoud={totals.pending > 0}
      />
      <Figure
        name="CPU requested"
        value={ifKnown('pods', percent(totals.requested.cpu, totals.allocatable.cpu))}
        more={`${cores(totals.requested.cpu)} of ${cores(totals.allocatable.cpu)} cores`}
      />
      <Figure
        name="Memory requested"
        value={ifKnown('pods', percent(totals.requested.memory, totals.allocatable.memory))}
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
  const areKnown = summary.value?.unlisted.includes('nodes') === false
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
          <Choice
            legend="Nodes as"
            name="layout"
            options={layouts}
            chosen={layout}
            choose={(value) => {
              chosen.value = value
            }}
          />
        </div>
      </div>
      {layout !== 'table' && <Legend />}
      {pools.value.length === 0 && (
        <p class="empty">{areKnown ? 'The cluster has no nodes.' : 'Which nodes the cluster has is not known.'}</p>
      )}
      {pools.value.map(({ name, keys }) => (
        <NodeList key={name} name={name} keys={keys} layout={layout} filter={filter.value.trim().toLowerCase()} />
      ))}
    </section>
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

const states: Readonly<Record<WaitingClass['state'], readonly [IconName, string]>> = {
  planned: ['clock', 'A node is on its way'],
  unschedulable: ['alert', 'No node fits'],
  held: ['pause', 'Held'],
}

/** Pods that wait, one entry for those that are alike: why, and what helps. */
function Pending({ classes }: { readonly classes: readonly WaitingClass[] }) {
  if (classes.length === 0) return null
  return (
    <section aria-labelledby="pending-title">
      <div class="section-head">
        <h2 id="pending-title">Pending pods</h2>
      </div>
      <ul class="pending">
        {classes.map((each, index) => (
          <li key={`${each.pods[0] ?? ''}${index}`} class="card" data-state={each.state}>
            <Waiting each={each} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Waiting({ each }: { readonly each: WaitingClass }) {
  const [icon, name] = states[each.state]
  const more = each.count - each.pods.length
  return (
    <>
      <p class="pending-head">
        <Badge icon={icon} data-state={each.state}>
          {name}
        </Badge>
        <strong>{counted(each.count, 'pod')}</strong>
        {each.cause !== undefined && <span class="tag">{each.cause}</span>}
        <span class="quiet-text">for {age(each.sinceMs)}</span>
      </p>
      <p>{readable(each.finding)}</p>
      {each.plannedOn.length > 0 && (
        <p>
          {'Planned on '}
          {each.plannedOn.map((key, index) => (
            <span key={key}>
              {index > 0 && ', '}
              <a href={nodeLink(key)}>{key}</a>
            </span>
          ))}
        </p>
      )}
      <Texts label="What helps" look="remedies" texts={each.remedies} />
      <details>
        <summary>Pods and NodePools</summary>
        <p class="names">
          {each.pods.join(', ')}
          {more > 0 && ` and ${more.toLocaleString('en-US')} more`}
        </p>
        <Texts look="funnel" texts={each.funnel} />
      </details>
    </>
  )
}
