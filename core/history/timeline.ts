import type { Phase } from '../node-claim/phase.ts'
import type { CommandFacts, Life, LifeFacts } from './life.ts'
import { amountText, birthText, deathText, offeringText, podsText, priceText } from './texts.ts'

/** What happened to one NodeClaim at one time. */
export interface Moment {
  /** Epoch ms. */
  readonly atMs: number
  readonly what: string
}

/**
 * Returns what happened to a NodeClaim, in its order. `commands`: those of the history; the one that ended this NodeClaim, and the one that it was
 * created for, are part of it.
 */
export function timelineOf(
  life: LifeFacts & Pick<Life, 'nodeClaim'>,
  commands: readonly CommandFacts[],
): readonly Moment[] {
  const { came, went } = life
  const ids = new Set([
    ...(came.kind === 'replacement' ? [came.command] : []),
    ...(went?.kind === 'disruption' ? [went.command] : []),
  ])
  const moments: Moment[] = [
    { atMs: life.createdMs, what: `NodeClaim ${life.nodeClaim} created, ${birthText(came)}` },
    ...life.vms.flatMap((vm) => [
      { atMs: vm.fromMs, what: `VM accepted: ${offeringText(vm)}, ${priceText(vm)}` },
      ...(vm.toMs === undefined ? [] : [{ atMs: vm.toMs, what: `VM gone: ${offeringText(vm)}` }]),
    ]),
    ...at(life.registeredMs, `Node ${life.node ?? ''} registered`.replace('  ', ' ')),
    ...at(life.readyMs, 'Node ready'),
    ...commands.filter(({ id }) => ids.has(id)).flatMap(commandMoments),
    ...at(life.drainingMs, went === undefined ? 'deletion began' : `deletion began: ${deathText(went)}`),
    ...at(life.endedMs, endText(life)),
  ]
  return moments.sort((a, b) => a.atMs - b.atMs)
}

/** Returns when a phase of a lifecycle began, epoch ms, by its facts; undefined when they do not say. */
export function phaseStart(facts: LifeFacts, phase: Phase): number | undefined {
  const { createdMs, vms, registeredMs, readyMs, drainingMs } = facts
  const starts: Partial<Record<Phase, number | undefined>> = {
    Launching: createdMs,
    Registering: vms.at(-1)?.fromMs,
    Initializing: registeredMs,
    Ready: readyMs,
    Draining: drainingMs,
  }
  return starts[phase]
}

const at = (ms: number | undefined, what: string): readonly Moment[] => (ms === undefined ? [] : [{ atMs: ms, what }])

function endText({ drainedPods }: LifeFacts): string {
  return `NodeClaim gone${drainedPods === undefined ? '' : `; ${podsText(drainedPods)} had been moved`}`
}

function commandMoments(command: CommandFacts): readonly Moment[] {
  const { id, reason, decision, candidates, replacements, savings, outcome, message } = command
  const by = replacements.length === 0 ? '' : `, replaced by ${replacements.join(', ')}`
  const saved = savings > 0 ? `, saves $${amountText(savings)} an hour` : ''
  const ends = outcome === undefined ? 'cut short' : `${outcome}${message === undefined ? '' : `: ${message}`}`
  return [
    {
      atMs: command.startedMs,
      what: `command ${id} (${reason}, ${decision}) of ${candidates.join(', ')}${by}${saved}`,
    },
    ...at(command.endedMs, `command ${id} ${ends}`),
  ]
}
