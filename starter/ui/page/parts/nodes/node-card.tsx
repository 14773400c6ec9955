import type { Signal } from '@preact/signals'
import { counted, dollars, percent } from '../../../../document/words.ts'
import type { NodeView } from '../../../contract.ts'
import { bytes, cores } from '../../state/format.ts'
import { nodeLink } from '../../state/route.ts'
import { Meter } from '../meter.tsx'
import { drawnPhase, PhaseBadge, PhaseIcon, phaseLook, phaseText } from './phase.tsx'
import { PodBoxes } from './pod-box.tsx'

interface Props {
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
    node.note ?? '',
  ]
    .filter((part) => part !== '')
    .join('. ')
}

const place = ({ zone, capacityType }: NodeView) =>
  [zone, capacityType].filter((part) => part !== undefined).join(' · ')

/** A node with room for words. It is drawn again when its own node changes, and never else. */
export function NodeCard({ node, isFirst }: Props) {
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
      {view.note !== undefined && <p class="node-note">{view.note}</p>}
    </div>
  )
}

const cpuText = ({ requested, allocatable }: NodeView) =>
  `${cores(requested.cpu)} of ${cores(allocatable.cpu)} cores requested`
const memoryText = ({ requested, allocatable }: NodeView) =>
  `${bytes(requested.memory)} of ${bytes(allocatable.memory)} requested`

/** A node among hundreds: its pods, and a sign where it is not simply ready. */
export function NodeTile({ node, isFirst }: Props) {
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
