import { ago, counted, dollars } from '../../../document/words.ts'
import type { KubernetesEvent, NodeDetails, NodeView } from '../../contract.ts'
import { type Column, TitledTable } from '../parts/data-table.tsx'
import { Badge, Icon, Loaded, Meter, TemporalLink, Texts } from '../parts/elements.tsx'
import { PhaseBadge, PhaseIcon, PodBoxes, phaseLook } from '../parts/nodes/node-signs.tsx'
import { useResource } from '../state/api.ts'
import { asking } from '../state/asking.ts'
import { findNode, pools } from '../state/cluster.ts'
import { age, bytes, cores, now, readable, readableTime } from '../state/format.ts'
import { canAct } from '../state/stream.ts'

/** One node: what became of it, why it exists and why it stays, what it costs. */
export function NodePage({ name }: { readonly name: string }) {
  // A node that comes or goes changes the lists.
  const live = pools.value.length > 0 ? findNode(name)?.value : undefined
  const nodeKey = live?.key ?? name
  const details = useResource<NodeDetails>(`api/nodes/${encodeURIComponent(nodeKey)}`, [live])
  return (
    <>
      <nav aria-label="Way back" class="way-back">
        <a href="#/">Cluster</a> / {live?.nodePool ?? 'node'}
      </nav>
      <Loaded resource={details} what="the node">
        {(known) => <Details nodeKey={nodeKey} details={known} view={live ?? known.view} reload={details.reload} />}
      </Loaded>
    </>
  )
}

interface DetailsProps {
  readonly nodeKey: string
  readonly details: NodeDetails
  readonly view: NodeView | undefined
  readonly reload: () => void
}

function Details({ nodeKey, details, view, reload }: DetailsProps) {
  return (
    <>
      <header class="page-head">
        <div>
          <h1>{view?.node ?? nodeKey}</h1>
          <p class="facts">
            {view === undefined ? (
              <Badge icon="square">Gone: what follows is its history</Badge>
            ) : (
              <PhaseBadge node={view} />
            )}
            {view !== undefined && <span>{placeOf(view)}</span>}
            {view?.note !== undefined && <span class="loud">{readable(view.note)}</span>}
          </p>
        </div>
        <div class="tools">
          <TemporalLink workflowId={details.workflowId} />
          {view?.nodeClaim !== undefined && (details.isHeld || !isLeaving(view)) && (
            <HoldButton nodeKey={nodeKey} isHeld={details.isHeld} reload={reload} />
          )}
        </div>
      </header>
      <div class="columns">
        <section class="card" aria-labelledby="life-title">
          <h2 id="life-title">Lifecycle</h2>
          <Timeline steps={details.timeline} />
        </section>
        <div class="stack">
          <Why details={details} title={isLeaving(view) ? 'Why it leaves' : 'Why it exists and stays'} />
          <Money details={details} />
          {view !== undefined && <Load view={view} />}
        </div>
      </div>
      <TitledTable
        title="Conditions"
        none="It has none."
        columns={conditionColumns}
        rows={details.conditions}
        keyOf={({ of, type }) => `${of}${type}`}
      />
      <TitledTable
        title="Events"
        none="Kubernetes keeps none of it, or no longer: it forgets them after an hour."
        columns={eventColumns}
        rows={details.events}
        keyOf={({ atMs, reason }, index) => `${atMs}${reason}${index}`}
      />
      <TitledTable
        title="Pods"
        none="It has none."
        columns={podColumns}
        rows={view?.pods ?? []}
        keyOf={([name], index) => `${name}${index}`}
      />
    </>
  )
}

const placeOf = ({ instanceType, zone, capacityType, nodePool }: NodeView) =>
  [instanceType, zone, capacityType, nodePool === undefined ? 'no NodePool' : `NodePool ${nodePool}`]
    .filter((part) => part !== undefined)
    .join(' · ')

const conditionColumns: readonly Column<NodeDetails['conditions'][number]>[] = [
  ['Condition', ({ type }) => type],
  ['Of', ({ of }) => of],
  ['Status', ({ status }) => status],
  ['Reason', ({ reason }) => reason],
  ['Message', ({ message }) => readable(message), 'free'],
  ['Since', ({ sinceMs }) => age(sinceMs), 'number'],
]

const eventColumns: readonly Column<KubernetesEvent>[] = [
  ['Reason', ({ reason }) => reason],
  ['About', ({ about }) => about],
  ['Message', ({ message }) => readable(message), 'free'],
  ['Times', ({ times }) => times, 'number'],
  ['Ago', ({ atMs }) => age(atMs), 'number'],
]

type Pod = NodeView['pods'][number]

const marks: Readonly<Record<NonNullable<Pod[3]>, string>> = {
  d: 'DaemonSet',
  m: 'static',
  t: 'terminates',
  h: 'do-not-disrupt',
}

const podColumns: readonly Column<Pod>[] = [
  ['Pod', ([name]) => name, 'free'],
  ['CPU', ([, cpu]) => cores(cpu), 'number'],
  ['Memory', ([, , memory]) => bytes(memory), 'number'],
  ['Kind', ([, , , mark]) => (mark === undefined ? 'workload' : marks[mark])],
]

/** Nothing keeps a node that is being removed, or is gone. */
const isLeaving = (view: NodeView | undefined) =>
  view === undefined || view.phase === 'Draining' || view.phase === 'Terminating'

interface WhyProps {
  readonly details: NodeDetails
  readonly title: string
}

function Why({ details: { why, remedies }, title }: WhyProps) {
  return (
    <section class="card" aria-labelledby="why-title">
      <h2 id="why-title">{title}</h2>
      {why.length === 0 && <p class="empty">Nothing is known.</p>}
      {why.map((line) => (
        <p key={line}>{readable(line)}</p>
      ))}
      <Texts label="What helps" look="remedies" texts={remedies} />
    </section>
  )
}

function Money({ details: { cost } }: { readonly details: NodeDetails }) {
  return (
    <section class="card" aria-labelledby="cost-title">
      <h2 id="cost-title">Cost</h2>
      <dl class="pairs">
        <dt>Price</dt>
        <dd class="number">
          {cost.pricePerHour === undefined ? 'not known' : `${dollars(cost.pricePerHour)} an hour`}
        </dd>
        <dt>So far</dt>
        <dd class="number">{cost.soFar === undefined ? 'not known' : dollars(cost.soFar)}</dd>
      </dl>
    </section>
  )
}

function Load({ view }: { readonly view: NodeView }) {
  const { requested, allocatable } = view
  return (
    <section class="card node-load" aria-labelledby="load-title">
      <h2 id="load-title">Load</h2>
      <PodBoxes node={view} width={400} height={72} />
      <Meter name="CPU" part={requested.cpu} whole={allocatable.cpu} />
      <Meter name="Mem" part={requested.memory} whole={allocatable.memory} />
      <p class="quiet-text">
        {counted(view.pods.length, 'pod')} of {allocatable.pods} · {cores(requested.cpu)} of {cores(allocatable.cpu)}{' '}
        cores · {bytes(requested.memory)} of {bytes(allocatable.memory)}
      </p>
    </section>
  )
}

interface HoldProps {
  readonly nodeKey: string
  readonly isHeld: boolean
  readonly reload: () => void
}

function HoldButton({ nodeKey, isHeld, reload }: HoldProps) {
  if (!canAct.value) return null
  const hold = () => {
    asking.value = {
      title: `Hold ${nodeKey}?`,
      text: [
        'A held node is not removed to save money or to roll a change. Spot evictions and repairs still remove it.',
      ],
      button: 'Hold',
      fields: ['reason', 'time'],
      request: ({ reason, forMs }) => ({
        kind: 'hold',
        key: nodeKey,
        reason,
        ...(forMs === undefined || forMs === 0 ? {} : { forMs }),
      }),
      whenDone: reload,
    }
  }
  const release = () => {
    asking.value = {
      title: `Release ${nodeKey}?`,
      text: ['From then on it may be removed again, as its NodePool says.'],
      button: 'Release',
      fields: [],
      request: () => ({ kind: 'release', key: nodeKey }),
      whenDone: reload,
    }
  }
  return (
    <button type="button" onClick={isHeld ? release : hold}>
      <Icon name="lock" />
      {isHeld ? 'Release' : 'Hold'}
    </button>
  )
}

type Step = NodeDetails['timeline'][number]

const lengthOf = ({ fromMs, toMs }: Step) => Math.max(0, (toMs ?? now.value) - fromMs)

/** A node's life: a bar for the eye, whose long phases are cut down, and a list with times. */
function Timeline({ steps }: { readonly steps: readonly Step[] }) {
  if (steps.length === 0) return <p class="empty">Temporal knows nothing of its life.</p>
  return (
    <>
      <div class="life" aria-hidden="true">
        {steps.map((step) => (
          <span
            key={`${step.phase}${step.fromMs}`}
            {...phaseLook(step.phase)}
            data-lasts={step.toMs === undefined && step.phase !== 'Gone'}
            style={{ flexGrow: Math.max(1, Math.sqrt(lengthOf(step) / 1000)) }}
          />
        ))}
      </div>
      <ol class="steps">
        {steps.map((step) => (
          <li key={`${step.phase}${step.fromMs}`} {...phaseLook(step.phase)}>
            <span class="step-sign">
              <PhaseIcon phase={step.phase} />
            </span>
            <div>
              <p class="step-head">
                <strong>{step.phase}</strong>
                {step.phase !== 'Gone' && (
                  <span class="quiet-text number">
                    {ago(lengthOf(step))}
                    {step.toMs === undefined && ' so far'}
                  </span>
                )}
                <time class="quiet-text number" dateTime={new Date(step.fromMs).toISOString()}>
                  {readableTime(step.fromMs)}
                </time>
              </p>
              <p>{readable(step.text)}</p>
            </div>
          </li>
        ))}
      </ol>
    </>
  )
}
