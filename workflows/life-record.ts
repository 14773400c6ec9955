import { setCurrentDetails, upsertMemo, workflowInfo } from '@temporalio/workflow'
import type { DeletionOfVm, JoinOutcome, LaunchOutcome } from '../activities/azure/contract.ts'
import type { Observation } from '../activities/kubernetes/contract.ts'
import { because } from '../core/history/claim-facts.ts'
import { type DetailedLife, lifecycleDetails } from '../core/history/details.ts'
import { factsKey, type LifeFacts, type VmSpan } from '../core/history/life.ts'
import { readLifeFacts } from '../core/history/read-facts.ts'
import {
  bounded,
  ended,
  launched,
  leaving,
  oneLine,
  refused,
  staying,
  unknownFacts,
  vmEnded,
} from '../core/history/record.ts'
import { goneResult, type LifeResult, resultOf } from '../core/history/result.ts'
import { birthText, deathText, offeringText, podsText, priceText, secondsText } from '../core/history/texts.ts'
import { type Moment, timelineOf } from '../core/history/timeline.ts'
import { type DrainWaits, waitsText } from '../core/node-claim/drain-waits.ts'

type Launched = Extract<LaunchOutcome, { kind: 'launched' }>
type Refused = Extract<LaunchOutcome, { kind: 'capacity' }>
type Joined = Extract<JoinOutcome, { kind: 'registered' | 'initialized' }>

const mostOutcomes = 10

/** A size without the word that all sizes begin with. */
const shortText = (offering: Parameters<typeof offeringText>[0]) => offeringText(offering).replace(/^Standard_/, '')

/**
 * The facts of a lifecycle, kept in the memo of its workflow, where Temporal's list shows them also after its end. The workflow starts with a memo;
 * a write costs one event, so it happens at rest, with the first obstacle to a drain and at the end. Its latest outcomes, in words, cost none: the
 * summary of the next step and the current details show them.
 */
export class LifeRecord {
  #facts: LifeFacts
  #written: string
  #goneMs: number | undefined
  readonly #nodeClaim: string
  /** What the facts told when the run began. */
  readonly #past: readonly Moment[]
  #outcomes: readonly Moment[] = []
  /** Whether this run, or the one that it continues, has seen its NodeClaim. */
  #hasSeen: boolean

  constructor(nodeClaim: string) {
    const { memo, startTime, continuedFromExecutionRunId } = workflowInfo()
    const known = readLifeFacts(memo?.[factsKey])
    this.#nodeClaim = nodeClaim
    this.#facts = known ?? unknownFacts(startTime.getTime())
    this.#written = known === undefined ? '' : JSON.stringify(known)
    this.#past = known === undefined ? [] : timelineOf({ ...known, nodeClaim }, [])
    this.#hasSeen = continuedFromExecutionRunId !== undefined
  }

  get facts(): LifeFacts {
    return this.#facts
  }

  /** Why the NodeClaim leaves, in words, once that is known. */
  get leaves(): { readonly leaves?: string } {
    const { went } = this.#facts
    return went === undefined ? {} : { leaves: deathText(went) }
  }

  /** Shows the facts and the latest outcomes, those of earlier runs among them, beside what the lifecycle does. */
  describe(doing: Omit<DetailedLife, 'nodeClaim' | 'facts' | 'outcomes'>): void {
    const outcomes = [...this.#past, ...this.#outcomes].slice(-mostOutcomes)
    setCurrentDetails(lifecycleDetails({ ...doing, nodeClaim: this.#nodeClaim, facts: this.#facts, outcomes }))
  }

  /** Returns the summary of the next step: the last outcome, and what follows. */
  before(next: string): string {
    const last = this.#outcomes.at(-1)
    return oneLine(last === undefined ? next : `${last.what}; ${next}`)
  }

  /** Returns the summary of a drain: what holds it up, once that is known. */
  drain(waits: DrainWaits): string {
    return oneLine(waitsText(waits)) || this.before('evict pods, wait for volumes')
  }

  /** Counts a launch attempt. Returns its summary. */
  attempt(attempt: number): string {
    this.#facts = { ...this.#facts, attempts: this.#facts.attempts + 1 }
    const last = this.#outcomes.at(-1)
    const why = last === undefined ? birthText(this.#facts.came) : `after ${last.what}`
    return oneLine(`attempt ${attempt}, ${why}`)
  }

  launched({ instanceType, zone, capacityType, pricePerHour, isEstimate, acceptedMs }: Launched): void {
    const price = { ...(pricePerHour === undefined ? {} : { pricePerHour }), ...(isEstimate && { isEstimate }) }
    this.#launched({ instanceType, zone, capacityType, ...price, fromMs: acceptedMs })
  }

  #launched(vm: VmSpan): void {
    this.#hasSeen = true
    this.#facts = launched(this.#facts, vm)
    this.#note(`${shortText(vm)} launched, ${priceText(vm)}`, vm.fromMs)
  }

  refused(outcome: Refused): void {
    this.#hasSeen = true
    this.#facts = refused(this.#facts, outcome)
    this.#note(`${shortText(outcome)} was refused: ${outcome.reason}`)
  }

  /** The VM ended before its Node joined. One that could not be made costs nothing, however long Azure took to say so. */
  vmEnded(outcome: 'failed' | 'vmGone', why: string): void {
    this.#facts = vmEnded(this.#facts, outcome === 'failed' ? 0 : Date.now())
    this.#note(`VM lost: ${why}`)
  }

  joined(outcome: Joined): void {
    this.#facts = { ...this.#facts, node: outcome.nodeName }
    this.#note(`Node ${outcome.nodeName} joined`)
    this.observed(outcome)
  }

  /** Takes over what an observation or a wait says. An observation without a NodeClaim says nothing. */
  observed({ step, ...seen }: Omit<Observation, 'step'> & Partial<Observation>): void {
    this.#hasSeen ||= step?.kind !== 'finished'
    const { nodePool, nodeName, registeredMs, readyMs, went, drainingMs, vm } = seen
    const { createdMs, readyMs: knownMs, vms } = this.#facts
    // A launch whose outcome was lost is known by the claim.
    const isKnown = vms.some(({ toMs }) => toMs === undefined) || (went !== undefined && vms.length > 0)
    if (vm !== undefined && !isKnown) this.#launched(vm)
    this.#facts = {
      ...this.#facts,
      ...(nodePool === undefined ? {} : { nodePool }),
      ...(nodeName === undefined ? {} : { node: nodeName }),
      ...(registeredMs === undefined ? {} : { registeredMs }),
      ...(readyMs === undefined ? {} : { readyMs }),
    }
    if (readyMs !== undefined && knownMs === undefined)
      this.#note(`Node ready after ${secondsText(readyMs - createdMs)}`)
    if (went !== undefined) {
      if (this.#facts.drainingMs === undefined) this.#note(deathText(went), drainingMs)
      this.#facts = leaving(this.#facts, went, drainingMs ?? Date.now())
    }
  }

  gaveUp(reason: string, message: string): void {
    this.#hasSeen = true
    const went = { kind: 'gave-up', reason, message: oneLine(message) } as const
    this.#facts = leaving(this.#facts, went, Date.now())
    this.#note(deathText(went))
  }

  /** The drain or the deletion was refused, as the NodeClaim is not being deleted: what was said of that is not so. */
  stays(): void {
    this.#facts = staying(this.#facts)
    this.#note('the NodeClaim stays')
  }

  forced(reason: string): void {
    this.#hasSeen = true
    const went = because('forced', reason)
    this.#facts = leaving(this.#facts, went, Date.now())
    this.#note(deathText(went))
  }

  /** Counts evicted pods. `sinceMs`: when the drain began. */
  drained(pods: number, { sinceMs, isDone }: { readonly sinceMs: number; readonly isDone: boolean }): void {
    const all = (this.#facts.drainedPods ?? 0) + pods
    if (pods > 0) this.#facts = { ...this.#facts, drainedPods: all }
    if (isDone) this.#note(`drained ${podsText(all)} in ${secondsText(Date.now() - sinceMs)}`)
  }

  /** Azure said that there is no VM before the lifecycle deleted it. */
  vmWasGone(): void {
    if (this.#facts.vms.some(({ toMs }) => toMs === undefined))
      this.#facts = leaving(this.#facts, because('vm-lost', 'the VM was gone'), Date.now())
  }

  vmDeleted({ goneMs, wasGone, existed }: DeletionOfVm): void {
    this.#goneMs = goneMs
    if (wasGone) this.vmWasGone()
    this.#note(existed ? 'VM deleted' : 'there was no VM')
  }

  /** Ends the record. A run that never saw its NodeClaim knows nothing of its end, which an earlier run has recorded: it writes none. */
  ended(): LifeResult {
    if (!this.#hasSeen) return goneResult
    this.#facts = ended(this.#facts, Date.now(), this.#goneMs)
    this.write()
    return resultOf(this.#facts)
  }

  /** Writes the memo, if anything has changed since the last time. */
  write(): void {
    const facts = bounded(this.#facts)
    const text = JSON.stringify(facts)
    if (text === this.#written) return
    this.#written = text
    upsertMemo({ [factsKey]: facts })
  }

  /** `atMs`: epoch ms, of what this run hears of late. Outcomes stay in the order in which they were heard of. */
  #note(what: string, atMs = Date.now()): void {
    const lastMs = this.#outcomes.at(-1)?.atMs ?? 0
    this.#outcomes = [...this.#outcomes, { atMs: Math.max(atMs, lastMs), what: oneLine(what) }].slice(-mostOutcomes)
  }
}
