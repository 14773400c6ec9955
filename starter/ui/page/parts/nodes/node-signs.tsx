import type { NodeView } from '../../../contract.ts'
import { Badge, Icon, type IconName } from '../elements.tsx'
import { placePods, podPaths } from './pod-layout.ts'

/** A phase of a lifecycle as it is drawn; `NotReady`: a Node that lost its kubelet. */
type Drawn = NodeView['phase'] | 'NotReady'

/** Sign and colour of each phase. */
const looks: Readonly<Record<Drawn, readonly [icon: IconName, tone?: 'busy' | 'good' | 'warn' | 'bad']>> = {
  Launching: ['up', 'busy'],
  Registering: ['ring', 'busy'],
  Initializing: ['half', 'busy'],
  Ready: ['check', 'good'],
  Rebooting: ['auto', 'busy'],
  Draining: ['down', 'warn'],
  Terminating: ['cross', 'bad'],
  Gone: ['square'],
  Unmanaged: ['dash'],
  NotReady: ['alert', 'bad'],
}

/** The phase that a node is drawn in. */
export const drawnPhase = ({ phase, isReady }: NodeView): Drawn => (phase === 'Ready' && !isReady ? 'NotReady' : phase)

/** Attributes that give an element the colour of a phase. */
export const phaseLook = (phase: Drawn) => ({ 'data-phase': phase, 'data-tone': looks[phase][1] })

export function PhaseIcon({ phase }: { readonly phase: Drawn }) {
  return <Icon name={looks[phase][0]} />
}

/** What a person calls the state: a Node that lost its kubelet is not ready, whatever its phase. */
export function phaseText({ phase, isReady, isCordoned }: NodeView): string {
  const words = [phase === 'Ready' && !isReady ? 'Not ready' : phase]
  if (phase === 'Unmanaged' && !isReady) words.push('not ready')
  if (isCordoned && phase !== 'Draining' && phase !== 'Terminating') words.push('cordoned')
  return words.join(', ')
}

/** A phase as sign and word. */
export function PhaseBadge({ node }: { readonly node: NodeView }) {
  return (
    <Badge icon={looks[drawnPhase(node)][0]} {...phaseLook(drawnPhase(node))}>
      {phaseText(node)}
    </Badge>
  )
}

interface Props {
  readonly node: NodeView
  readonly width: number
  readonly height: number
}

/** A node's pods as boxes within the node's box; what is empty is free. The card’s own name has their number. */
export function PodBoxes({ node, width, height }: Props) {
  return (
    <svg
      class="pods"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      data-pods={node.pods.length}
    >
      {podPaths(placePods(node, width, height)).map(([style, path]) => (
        <path key={style} class={style} d={path} />
      ))}
    </svg>
  )
}
