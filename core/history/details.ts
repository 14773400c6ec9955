// What the Temporal UI shows of a lifecycle as its current details, for somebody who knows Kubernetes and not Temporal.
import { markdownCode, markdownText } from '../values/markdown.ts'
import { timeText } from '../values/time.ts'
import { headlineText, notesOf, type OwnState, type Remedy, remediesOf, stateOfLifecycle } from './headline.ts'
import type { LifeFacts } from './life.ts'
import { oneLine } from './record.ts'
import { birthText, offeringText, priceText } from './texts.ts'
import type { Moment } from './timeline.ts'

export interface DetailedLife extends OwnState {
  readonly nodeClaim: string
  readonly facts: LifeFacts
  /** Why the last request or cancellation was refused. */
  readonly refused?: string
  /** The latest outcomes, the oldest first. */
  readonly outcomes: readonly Moment[]
}

const longest = 500

/** Returns the current details of a lifecycle as Markdown. Names and messages in it are escaped. */
export function lifecycleDetails(life: DetailedLife): string {
  const { nodeClaim, facts, phase, waitingFor, refused, lastCapacityFailure, outcomes } = life
  const state = stateOfLifecycle(nodeClaim, life)
  const [, ...otherNotes] = notesOf(state)
  return [
    `**${plain(headlineText(state))}**`,
    '',
    ...otherNotes.map((note) => `- ${plain(note)}`),
    ...(phase === 'Ready' ? [`- Waits for ${plain(waitingFor)}`] : []),
    ...factLines(facts),
    ...(refused === undefined ? [] : [`- Refused: ${plain(refused)}`]),
    ...(lastCapacityFailure === undefined ? [] : [`- Last failed launch: ${plain(lastCapacityFailure)}`]),
    ...section('What helps', remediesOf(state).map(remedyLine)),
    ...section(
      'What happened',
      outcomes.map(({ atMs, what }) => `- ${timeText(atMs)} ${plain(what)}`),
    ),
    ...section(
      'To type',
      commandsOf(life).map((command) => remedyLine({ command })),
    ),
  ].join('\n')
}

function factLines({ nodePool, node, vms, came, attempts }: LifeFacts): readonly string[] {
  const vm = vms.at(-1)
  return [
    ...(node === undefined ? [] : [`- Node ${plain(node)}`]),
    ...(nodePool === undefined ? [] : [`- NodePool ${plain(nodePool)}`]),
    ...(vm === undefined ? [] : [`- VM ${plain(offeringText(vm))}, ${plain(priceText(vm))}`]),
    `- Exists ${plain(birthText(came))}`.replace('Exists created', 'Created').replace('Exists replaces', 'Replaces'),
    ...(attempts > 1 ? [`- ${attempts} launch attempts`] : []),
  ]
}

/** What shows more of it, and what one may want of it without any trouble. */
function commandsOf({ phase, nodeClaim, facts: { node = nodeClaim }, hold }: DetailedLife): readonly string[] {
  const isReady = phase === 'Ready'
  return [
    ...(phase === 'Gone'
      ? []
      : [isReady || phase === 'Draining' ? `joiner why node ${node}` : `joiner node show ${nodeClaim}`]),
    ...(isReady && hold === undefined ? [`joiner node hold ${nodeClaim} --until 2h --reason WHY`] : []),
    ...(phase === 'Draining' ? [`kubectl get pods -A --field-selector spec.nodeName=${node}`] : []),
    `joiner history node ${nodeClaim}`,
  ]
}

function remedyLine({ what, command }: Remedy): string {
  const words = what === undefined ? [] : [plain(what)]
  return `- ${[...words, ...(command === undefined ? [] : [markdownCode(oneLine(command, longest))])].join(': ')}`
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `**${title}**`, '', ...lines]
}

function plain(text: string): string {
  return markdownText(oneLine(text, longest))
}
