import type { NodeClaim } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import { labelsOf, type StateNode } from '../../scheduling/state-nodes.ts'
import type { Blocked, DisruptionView } from '../candidates.ts'
import { type DisruptionMethod, methodFacts, methodNames } from '../command.ts'
import { priceNow } from '../costs.ts'
import type { Evaluation } from '../evaluate.ts'
import { type DisruptionScope, isInScope, isResting } from '../filters.ts'
import type { Note } from '../methods/context.ts'
import { type Explanation, notLookedAt } from '../methods/method.ts'
import { methods } from '../methods/methods.ts'
import { isGeneral } from './cause.ts'
import { type Move, type MoveOutcome, sameMove, type Verdict } from './verdict.ts'

/** The evaluated cluster, as far as verdicts depend on it. */
export type VerdictView = Pick<DisruptionView, 'nodes' | 'nodePools' | 'instanceTypes' | 'now'>

/** The evaluation's findings about one node. */
interface Findings {
  readonly notes: Map<DisruptionMethod, Note>
  readonly blocked: Map<DisruptionMethod, Blocked>
}

/** Outcomes that lose savings: not those of methods that do not apply to the node, nor where nothing is cheaper. */
const forgoing: ReadonlySet<MoveOutcome> = new Set(['hindered', 'budget', 'rejected', 'blocked'])

/**
 * Returns an evaluation's findings about each node with a NodeClaim. The earlier verdict stays for methods that were not tried, unless its cause is over,
 * and for nodes out of scope. A chosen node stays chosen while it is reserved.
 */
export function verdictsOf(
  evaluation: Evaluation,
  view: VerdictView,
  earlier: (nodeClaim: string) => Verdict | undefined,
): readonly Verdict[] {
  const findings = findingsOf(evaluation)
  const tried = evaluation.passes.map(({ method }) => method)
  const since = new Date(view.now).toISOString()
  return view.nodes.flatMap((one) => {
    const { claim, node } = one
    if (claim === undefined) return []
    const { name } = claim.metadata
    const before = earlier(name)
    const own = findings.get(name) ?? { notes: new Map(), blocked: new Map() }
    if (isOutOfScope(one, evaluation.asked.scope) || isStillChosen(own, before))
      return before === undefined ? [] : [before]
    const nodePool = claim.metadata.labels[labels.nodePool] ?? ''
    const price = priceOf(one, view)
    // Nothing is said of a method that can never concern the node.
    const isStatic = view.nodePools.get(nodePool)?.isStatic === true
    const moves = tried
      .filter((method) => isStatic || method !== 'static-drift')
      .flatMap((method) => moveOf(method, { claim, own, price, evaluation, view }) ?? [])
    const kept = (before?.moves ?? []).flatMap((move) => (isOver(move, moves) ? [] : without(move, tried)))
    return [
      {
        nodeClaim: name,
        nodePool,
        since,
        moves: grouped([...moves, ...kept]),
        ...(node === undefined ? {} : { node: node.metadata.name }),
        ...(price === 0 ? {} : { price }),
      },
    ]
  })
}

function findingsOf({ notes, blocked }: Evaluation): ReadonlyMap<string, Findings> {
  const all = new Map<string, Findings>()
  const of = (name: string) => {
    let own = all.get(name)
    if (own === undefined) all.set(name, (own = { notes: new Map(), blocked: new Map() }))
    return own
  }
  for (const note of notes) {
    const own = of(note.candidate.nodeClaim.metadata.name).notes
    if (own.get(note.method)?.outcome !== 'chosen') own.set(note.method, note)
  }
  for (const one of blocked) if (one.object.kind === 'NodeClaim') of(one.object.name).blocked.set(one.method, one)
  return all
}

/** Whether the evaluation left the node out of scope: it keeps its verdict. */
function isOutOfScope({ claim, node }: StateNode, scope: DisruptionScope | undefined): boolean {
  if (scope === undefined) return false
  const names = [claim, node].flatMap((object) => object?.metadata.name ?? [])
  return !isInScope(claim?.metadata.labels[labels.nodePool] ?? '', names, scope)
}

/** Whether a node leaves because it was chosen earlier: that is reported instead of the leaving. */
function isStillChosen({ notes, blocked }: Findings, before: Verdict | undefined): boolean {
  const isLeaving = notes.size === 0 && [...blocked.values()].some(({ cause }) => cause.kind === 'leaving')
  return isLeaving && before?.moves.some(({ outcome }) => outcome === 'chosen') === true
}

/** USD an hour; 0 when unknown. Digits beyond a thousandth of a cent would only lengthen the text. */
function priceOf(one: StateNode, { instanceTypes }: VerdictView): number {
  return Math.round(priceNow(labelsOf(one), instanceTypes) * 1e5) / 1e5
}

interface MoveInput {
  readonly claim: NodeClaim
  readonly own: Findings
  readonly price: number
  readonly evaluation: Evaluation
  readonly view: VerdictView
}

function moveOf(method: DisruptionMethod, input: MoveInput): Move | undefined {
  const { own, price } = input
  const note = own.notes.get(method)
  if (note !== undefined) return noted(method, note, price)
  const block = own.blocked.get(method)
  if (block === undefined) return { methods: [method], ...unexplained(method, input) }
  // A decision of a moment ago for another reason is reported once.
  const isChosen = [...own.notes.values()].some(({ outcome }) => outcome === 'chosen')
  const { cause } = block
  if (cause.kind === 'leaving' && isChosen) return undefined
  const outcome = block.reason === 'Unconsolidatable' ? 'unsuitable' : 'blocked'
  return { methods: [method], outcome, cause, ...forgone(method, outcome, price) }
}

function noted(method: DisruptionMethod, { outcome, cause }: Note, price: number): Move {
  const saves = cause.kind !== 'nothing-cheaper'
  return { methods: [method], outcome, cause, ...(saves ? forgone(method, outcome, price) : {}) }
}

/** Drift brings a node up to date, and a repair heals it; neither saves. A cause that blocks a node for all methods is reported once. */
function forgone(method: DisruptionMethod, outcome: MoveOutcome, price: number): Pick<Move, 'savingsForgone'> {
  const isSaving = !['Drifted', 'Unhealthy'].includes(methodFacts[method].reason) || outcome === 'blocked'
  return forgoing.has(outcome) && isSaving && price > 0 ? { savingsForgone: price } : {}
}

/** Returns why a method found nothing about a node. */
function unexplained(method: DisruptionMethod, input: MoveInput): Explanation {
  const { claim, own, evaluation, view } = input
  const pool = view.nodePools.get(claim.metadata.labels[labels.nodePool] ?? '')
  const { resting } = evaluation.asked
  if (resting !== undefined && pool !== undefined) {
    const isLeftAlone = isResting({ nodePool: pool, nodeClaim: claim }, methodFacts[method].reason, resting)
    if (isLeftAlone) return notLookedAt({ kind: 'command-failed' })
  }
  return methods[method].explain({
    claim,
    nodePool: pool,
    asked: evaluation.asked,
    isEmpty: own.notes.has('emptiness'),
    foundOthers: evaluation.commands.some((command) => command.method === method),
  })
}

/** Whether what kept a node from all methods is over: a method that was tried since did not meet it. Others may not be tried for long. */
function isOver({ cause }: Move, tried: readonly Move[]): boolean {
  return isGeneral(cause) && tried.length > 0 && tried.every((move) => move.cause.kind !== cause.kind)
}

/** Returns a move without the methods that were tried again. */
function without(move: Move, tried: readonly DisruptionMethod[]): readonly Move[] {
  const methods = move.methods.filter((method) => !tried.includes(method))
  return methods.length === 0 ? [] : [{ ...move, methods }]
}

/** Groups methods with the same result for a node. */
function grouped(moves: readonly Move[]): readonly Move[] {
  const groups: Move[] = []
  for (const method of methodNames) {
    const move = moves.find(({ methods }) => methods.includes(method))
    if (move === undefined) continue
    const at = groups.findIndex((group) => sameMove(group, move))
    const group = groups[at]
    if (group === undefined) groups.push({ ...move, methods: [method] })
    else groups[at] = { ...group, methods: [...group.methods, method] }
  }
  return groups
}
