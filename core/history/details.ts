// What the Temporal UI shows of a lifecycle as its current details, for somebody who knows Kubernetes and not Temporal.
import type { Phase } from '../node-claim/phase.ts'
import { markdownCode, markdownText } from '../values/markdown.ts'
import { timeText } from '../values/time.ts'
import type { LifeFacts } from './life.ts'
import { oneLine } from './record.ts'
import { birthText, deathText, offeringText, priceText } from './texts.ts'
import type { Moment } from './timeline.ts'

export interface DetailedLife {
  readonly nodeClaim: string
  readonly facts: LifeFacts
  readonly phase: Phase
  /** Epoch ms. */
  readonly sinceMs: number
  /** What the lifecycle waits for, in words. */
  readonly waitingFor: string
  /** The hold on the NodeClaim at the last observation, in words. */
  readonly hold?: string
  readonly lastCapacityFailure?: string
  /** Why the last request or cancellation was refused. */
  readonly refused?: string
  /** The latest outcomes, the oldest first. */
  readonly outcomes: readonly Moment[]
}

const longest = 500

/** Returns the current details of a lifecycle as Markdown. Names and messages in it are escaped. */
export function lifecycleDetails(life: DetailedLife): string {
  const { nodeClaim, facts, phase, sinceMs, waitingFor, hold, refused, lastCapacityFailure, outcomes } = life
  return [
    `**${phase}** since ${timeText(sinceMs)}${phase === 'Gone' ? '' : `, waits for ${plain(waitingFor)}`}`,
    '',
    ...factLines(facts),
    ...(hold === undefined ? [] : [`- The NodeClaim is ${plain(hold)}`]),
    ...(refused === undefined ? [] : [`- Refused: ${plain(refused)}`]),
    ...(lastCapacityFailure === undefined ? [] : [`- Last failed launch: ${plain(lastCapacityFailure)}`]),
    ...section(
      'What happened',
      outcomes.map(({ atMs, what }) => `- ${timeText(atMs)} ${plain(what)}`),
    ),
    ...section(
      'To type',
      commandsOf(phase, nodeClaim, facts).map((command) => `- ${markdownCode(command)}`),
    ),
  ].join('\n')
}

function factLines({ nodePool, node, vms, came, went, attempts }: LifeFacts): readonly string[] {
  const vm = vms.at(-1)
  return [
    ...(node === undefined ? [] : [`- Node ${plain(node)}`]),
    ...(nodePool === undefined ? [] : [`- NodePool ${plain(nodePool)}`]),
    ...(vm === undefined ? [] : [`- VM ${plain(offeringText(vm))}, ${plain(priceText(vm))}`]),
    `- Exists ${plain(birthText(came))}`.replace('Exists created', 'Created').replace('Exists replaces', 'Replaces'),
    ...(went === undefined ? [] : [`- Goes: ${plain(deathText(went))}`]),
    ...(attempts > 1 ? [`- ${attempts} launch attempts`] : []),
  ]
}

function commandsOf(phase: Phase, nodeClaim: string, { node = nodeClaim }: LifeFacts): readonly string[] {
  const history = `joiner history node ${nodeClaim}`
  switch (phase) {
    case 'Gone':
      return [history]
    case 'Ready':
      return [`joiner why node ${node}`, `joiner node hold ${nodeClaim} --until 2h --reason TEXT`, history]
    case 'Draining':
      return [`joiner why node ${node}`, `kubectl get pods -A --field-selector spec.nodeName=${node}`, history]
    default:
      return [`joiner node show ${nodeClaim}`, `joiner node retry ${nodeClaim}`, history]
  }
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `**${title}**`, '', ...lines]
}

function plain(text: string): string {
  return markdownText(oneLine(text, longest))
}
