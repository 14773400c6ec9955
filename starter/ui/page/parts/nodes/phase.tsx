import type { NodeView } from '../../../contract.ts'
import { Icon, type IconName } from '../icon.tsx'

type Phase = NodeView['phase']

export const phaseIcons: Readonly<Record<Phase, IconName>> = {
  Launching: 'up',
  Registering: 'ring',
  Initializing: 'half',
  Ready: 'check',
  Draining: 'down',
  Terminating: 'cross',
  Ended: 'square',
  Unmanaged: 'dash',
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
    <span class="badge" data-phase={phaseKey(node)}>
      <Icon name={node.phase === 'Ready' && !node.isReady ? 'alert' : phaseIcons[node.phase]} />
      {phaseText(node)}
    </span>
  )
}

/** The phase that gives the colour. */
export const phaseKey = ({ phase, isReady }: NodeView) => (phase === 'Ready' && !isReady ? 'NotReady' : phase)
