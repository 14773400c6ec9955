import type { CommandFacts, History, Life } from '../../../core/history/life.ts'
import { birthText, deathText } from '../../../core/history/texts.ts'
import { disruptionCommandId } from '../../../core/task-queues.ts'
import { ago, counted, few } from '../../document/words.ts'
import type { Decision, Decisions } from '../contract.ts'

const mostDecisions = 500
const mostNames = 3

/** What Joiner decided, and nodes that ended for another reason, the latest first. `cluster`: as Temporal knows it. */
export function decisionsOf(history: History, cluster: string): Decisions {
  const { lives, commands, sinceMs } = history
  const byClaim = new Map(lives.map((life) => [life.nodeClaim, life]))
  const decisions = [
    ...lives.filter(({ createdMs }) => createdMs >= sinceMs).map(launchOf),
    ...lives.flatMap(endOf),
    ...commands.map((command) => disruptionOf(command, byClaim, cluster)),
  ]
  return { decisions: decisions.sort((a, b) => b.atMs - a.atMs).slice(0, mostDecisions), sinceMs }
}

/** The name that people know a node by. */
const nameOf = ({ node, nodeClaim }: Life) => node ?? nodeClaim

/** The last VM of a life. */
const vmOf = ({ vms }: Life) => vms.at(-1)

/** `Standard_D4s_v5 spot in westus2-2`. */
function vmText(life: Life): string {
  const vm = vmOf(life)
  return vm === undefined ? 'a node' : `${vm.instanceType} ${vm.capacityType} in ${vm.zone || 'no zone'}`
}

function launchOf(life: Life): Decision {
  const { createdMs, readyMs, isRunning, went, attempts, nodePool, workflowId } = life
  const price = vmOf(life)?.pricePerHour
  const isFailed = readyMs === undefined && !isRunning
  const how = isFailed
    ? 'was given up'
    : readyMs === undefined
      ? 'launches'
      : `was ready after ${ago(readyMs - createdMs)}`
  const tries = attempts > 1 ? `, ${attempts} attempts` : ''
  const pool = nodePool === undefined ? '' : ` of NodePool ${nodePool}`
  return {
    atMs: createdMs,
    kind: 'launch',
    text: `${nameOf(life)}${pool}, ${vmText(life)}, ${how}${tries}`,
    reason: isFailed && went !== undefined ? `${birthText(life.came)}; ${deathText(went)}` : birthText(life.came),
    nodes: [nameOf(life)],
    ...(price === undefined ? {} : { before: 0, after: isFailed ? 0 : price }),
    outcome: isFailed ? 'failed' : readyMs === undefined ? 'running' : 'done',
    workflowId,
  }
}

/** The end of a node, where neither a disruption command nor its launch reports it. */
function endOf(life: Life): readonly Decision[] {
  const { went, isRunning, workflowId, drainedPods } = life
  const atMs = life.drainingMs ?? life.endedMs
  if (went === undefined || atMs === undefined || went.kind === 'disruption' || went.kind === 'gave-up') return []
  const price = vmOf(life)?.pricePerHour
  const moved = drainedPods === undefined ? '' : `, ${counted(drainedPods, 'pod')} moved`
  return [
    {
      atMs,
      kind: 'end',
      text: `${nameOf(life)}, ${vmText(life)}, ${isRunning ? 'leaves' : 'ended'} after ${ago(atMs - life.createdMs)}${moved}`,
      reason: deathText(went),
      nodes: [nameOf(life)],
      // Who still leaves costs what it cost.
      ...(price === undefined || isRunning ? {} : { before: price, after: 0 }),
      outcome: isRunning ? 'running' : 'done',
      workflowId,
    },
  ]
}

function disruptionOf(command: CommandFacts, byClaim: ReadonlyMap<string, Life>, cluster: string): Decision {
  const { id, method, reason, decision, candidates, replacements, savings, startedMs } = command
  const leaving = candidates.map((name) => byClaim.get(name))
  const prices = leaving.map((life) => life && vmOf(life)?.pricePerHour)
  const isPriced = prices.length > 0 && prices.every((price) => price !== undefined)
  const before = prices.reduce<number>((sum, price) => sum + (price ?? 0), 0)
  const nodes = candidates.map((name, at) => leaving[at]?.node ?? name)
  const verb = {
    delete: 'removed',
    replace: 'replaced',
    'terminate-first': 'removed before its replacement comes',
    reboot: 'rebooted',
  }
  const comes = replacements.length === 0 ? '' : ` by ${few(replacements, mostNames)}`
  return {
    atMs: startedMs,
    kind: 'disruption',
    text: `${reason} (${method}): ${few(nodes, mostNames)} ${verb[decision]}${comes}${endText(command)}`,
    reason,
    nodes,
    // One that was undone or still runs saves nothing. Savings of drift may be below zero.
    ...(isPriced && outcomeOf(command) === 'done' ? { before, after: Math.max(0, before - savings) } : {}),
    outcome: outcomeOf(command),
    workflowId: disruptionCommandId(cluster, id),
  }
}

function outcomeOf({ endedMs, outcome }: CommandFacts): Decision['outcome'] {
  if (endedMs === undefined) return 'running'
  return outcome ?? 'failed'
}

function endText(command: CommandFacts): string {
  const { message, endedMs, startedMs } = command
  switch (outcomeOf(command)) {
    case 'running':
      return ', under way'
    case 'done':
      return `, done after ${ago((endedMs ?? startedMs) - startedMs)}`
    case 'undone':
      return `, undone${message === undefined ? '' : `: ${message}`}`
    case 'failed':
      return ', its workflow was ended'
  }
}
