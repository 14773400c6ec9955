import {
  ApplicationFailure,
  CancellationScope,
  condition,
  makeContinueAsNewFunc,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import type { JoinOutcome, LaunchOutcome } from '../activities/azure/contract.ts'
import type { Asked, ClaimRef, Ended, GiveUpReason, NextStep, StepInput } from '../activities/kubernetes/contract.ts'
import { factsKey, type Leaving } from '../core/history/life.ts'
import { readLeaving } from '../core/history/read-facts.ts'
import { bounded } from '../core/history/record.ts'
import { failureOf, type LifeResult } from '../core/history/result.ts'
import { phaseStart } from '../core/history/timeline.ts'
import { type DrainWaits, nothingReported, waitsText } from '../core/node-claim/drain-waits.ts'
import type { Wake } from '../core/node-claim/lifecycle.ts'
import { limits } from '../core/node-claim/limits.ts'
import type { Phase } from '../core/node-claim/phase.ts'
import { defined } from '../core/values/defined.ts'
import { limitText } from '../core/values/time.ts'
import { clusterSteps, clusterWaits, deletions, kubernetes, launches, readyWaits } from './activities.ts'
import { causeMessage, isFailedAttempt, isRefusedEnd } from './cause-message.ts'
import { LifeRecord } from './life-record.ts'
import { type LifecycleStatus, lifecycleStatusQuery, pokeSignal } from './messages.ts'
import { NodeRequests } from './node-requests.ts'
import { isVmGone, observe } from './observation.ts'
import { reboot } from './reboot.ts'
import { type AttributeValues, ShownAttributes } from './shown-attributes.ts'

/** The whole state of a lifecycle: everything else is read from the cluster. */
export interface LifecycleInput {
  readonly cluster: string
  readonly name: string
  readonly uid: string
  /** Epoch ms of the claim's creation, when its creator starts this at once: nothing can have changed, so the first observation is skipped. */
  readonly createdAtMs?: number
  /** The search attributes that it is started with. Absent: it has none, for as long as it runs. */
  readonly attributes?: AttributeValues
  readonly state?: LifecycleState
}

interface LifecycleState {
  readonly attempt: number
  readonly lastCapacityFailure?: string
  readonly endedMs?: number
  /** Why the run before was not cancelled. */
  readonly refused?: string
}

/**
 * The lifecycle of one NodeClaim: launch, register, initialize, steady, drain, terminate (design: workflows). Each step is an activity that observes
 * and acts; this function holds only the order. Errors: `GaveUp`, `Lost` or `Refused` of a node that something kept from being ready.
 */
export async function nodeClaimLifecycle(input: LifecycleInput): Promise<LifeResult> {
  const lifecycle = new Lifecycle(input)
  const description = 'Evaluate the NodeClaim, its Node and its VM again.'
  setHandler(pokeSignal, (_, leaving) => lifecycle.poke(leaving), { description })
  setHandler(lifecycleStatusQuery, () => lifecycle.status(), { description: 'Phase, attempt and what is waited for.' })
  // A cancellation asks for the NodeClaim's deletion. Who cancels does not know how to end a node: its lifecycle does.
  return CancellationScope.nonCancellable(() => lifecycle.run())
}

class Lifecycle {
  readonly #claim: ClaimRef
  readonly #input: LifecycleInput
  /** Undefined until the run enters its first one. */
  #phase: Phase | undefined
  #sinceMs = Date.now()
  #waitingFor = 'the NodeClaim to be read'
  #attempt: number
  #lastCapacityFailure: string | undefined
  /** When the last step with a time limit ended, epoch ms, until the next one begins or the node is used. */
  #endedMs: number | undefined
  #drainWaits: DrainWaits | undefined
  /** The last poke since the last observation, with why the claim goes where it says so. */
  #poked: { readonly leaving: Leaving | undefined } | undefined
  readonly #requests: NodeRequests
  readonly #record: LifeRecord
  /** The work that an operator's request interrupted, for the next observation. */
  #retried: (Asked & { readonly what: string }) | undefined
  #hold: string | undefined
  #refused: string | undefined
  readonly #attributes: ShownAttributes

  constructor(input: LifecycleInput) {
    this.#input = input
    this.#attributes = new ShownAttributes(input.attributes)
    this.#claim = { name: input.name, uid: input.uid }
    this.#record = new LifeRecord(input.name)
    this.#requests = new NodeRequests(this.#claim, (why) => {
      this.#refused = why
      this.#record.describe(this.status())
    })
    this.#requests.listen(CancellationScope.current(), { [pokeSignal.name]: () => this.poke() })
    this.#attempt = input.state?.attempt ?? 0
    this.#lastCapacityFailure = input.state?.lastCapacityFailure
    this.#endedMs = input.state?.endedMs
    this.#refused = input.state?.refused
  }

  poke(leaving?: unknown): void {
    this.#poked = { leaving: readLeaving(leaving) }
  }

  status(): LifecycleStatus {
    return {
      phase: this.#phase ?? 'Launching',
      sinceMs: this.#sinceMs,
      attempt: this.#attempt,
      ...this.#record.leaves,
      waitingFor: this.#waitingFor,
      ...defined({ lastCapacityFailure: this.#lastCapacityFailure, hold: this.#hold }),
      ...defined({ refused: this.#refused, drain: this.#drainWaits }),
    }
  }

  async run(): Promise<LifeResult> {
    const { createdAtMs, state } = this.#input
    let step: NextStep | undefined =
      createdAtMs === undefined || state !== undefined ? undefined : { kind: 'launch', idleSinceMs: createdAtMs }
    for (;;) {
      if (workflowInfo().continueAsNewSuggested && !this.#requests.areWaiting) await this.#continueAsNew()
      step = await this.#runStep(step)
      if (step?.kind === 'finished') return this.#finish()
    }
  }

  /** Runs one observation and one step, which an operator's messages may interrupt. */
  async #runStep(step: NextStep | undefined): Promise<NextStep | undefined> {
    const run = await this.#requests.beside(
      async () => this.#execute(step ?? (await this.#observe())),
      () => this.#doing(),
    )
    if (run.kind === 'done') return run.result
    if (run.kind === 'forced') {
      this.#record.forced(run.reason)
      return { kind: 'finished' }
    }
    if (run.kind === 'retry') this.#retried = run.retried
    else if (run.refused !== undefined) await this.#continueAsNew({ refused: run.refused })
    return undefined
  }

  #doing(): string {
    const { phase, waitingFor, sinceMs } = this.status()
    return `${phase} (it waited for ${waitingFor} since ${new Date(sinceMs).toISOString()})`
  }

  /** Runs one step. Returns the next one where the outcome decides it; otherwise the world is observed. */
  async #execute(step: NextStep): Promise<NextStep | undefined> {
    switch (step.kind) {
      case 'launch':
        if (this.#attempt === 0) this.#endedMs ??= step.idleSinceMs
        return this.#launch()
      case 'awaitRegistration':
        return this.#register()
      case 'awaitInitialization':
        return this.#initialize()
      case 'reboot':
        await reboot(this.#claim, (waitingFor) => this.#enter('Rebooting', waitingFor))
        return undefined
      case 'steady':
        return this.#rest(step)
      case 'terminate':
        return this.#terminate(step).catch((error: unknown) => this.#goOn(error))
      case 'finished':
        return step
    }
  }

  /** Errors: `failureOf` the result. */
  async #finish(): Promise<LifeResult> {
    this.#phase = 'Gone'
    this.#sinceMs = Date.now()
    this.#waitingFor = 'nothing'
    this.#hold = undefined
    const result = this.#record.ended()
    this.#record.describe(this.status())
    const { name } = this.#claim
    await this.#requests.close(`the lifecycle of NodeClaim ${name} has ended`)
    const failure = failureOf(name, this.#record.facts, result)
    if (failure !== undefined) throw ApplicationFailure.nonRetryable(failure.message, failure.type, result)
    return result
  }

  async #observe(): Promise<NextStep> {
    this.#poked = undefined
    const observation = await observe({ claim: this.#claim, ...defined({ retried: this.#retried }) })
    this.#retried = undefined
    this.#hold = observation.hold
    this.#attributes.learn(observation)
    this.#record.observed(observation)
    return observation.step
  }

  /** Tries offerings of the same NodeClaim until one launches. The history records each attempt with its outcome. */
  async #launch(): Promise<NextStep | undefined> {
    this.#enter('Launching', 'Azure to accept a VM, and its Node to join')
    this.#attempt += 1
    const summary = this.#record.attempt(this.#attempt)
    let outcome: LaunchOutcome & Ended
    try {
      outcome = await launches().launch.executeWithOptions({ summary }, [
        { ...this.#begin(), attempt: this.#attempt, limits: limits.launch, limitMs: limits.registrationMs },
      ])
    } catch (error) {
      if (!isFailedAttempt(error)) throw error
      outcome = { kind: 'late', message: causeMessage(error) }
    }
    this.#endedMs = outcome.endedMs
    const last = this.#lastCapacityFailure === undefined ? '' : `; last: ${this.#lastCapacityFailure}`
    switch (outcome.kind) {
      case 'launched':
        this.#attributes.learn(outcome)
        this.#record.launched(outcome)
        return outcome.join === undefined ? { kind: 'awaitRegistration' } : this.#joined(outcome.join)
      case 'capacity':
        this.#record.refused(outcome)
        this.#lastCapacityFailure = `${outcome.instanceType} ${outcome.capacityType} in zone ${outcome.zone}: ${outcome.reason}`
        return this.#poked === undefined ? { kind: 'launch' } : undefined
      case 'late':
        // It may have left a VM: the observation that follows finds it.
        this.#lastCapacityFailure = outcome.message
        return undefined
      case 'timeout':
        return this.#giveUp(
          'launch_timeout',
          `no VM after ${limitText(limits.launch.claimMs)} and ${this.#attempt} attempts${last}`,
        )
      case 'exhausted':
        return this.#giveUp('insufficient_capacity', outcome.message)
      case 'nodeClassNotReady':
        return this.#giveUp('nodeclass_not_ready', outcome.message)
      case 'invalid':
        return this.#giveUp('invalid_nodeclaim', outcome.message)
      case 'claimGone':
        return undefined
    }
  }

  /** A node that joined takes precedence over anything Azure still reports of its VM. */
  async #register(): Promise<NextStep | undefined> {
    this.#enter('Registering', 'the Node to join')
    const outcome = await launches().awaitNode.executeWithOptions({ summary: this.#record.before('the Node joins') }, [
      { ...this.#begin(), limitMs: limits.registrationMs },
    ])
    this.#endedMs = outcome.endedMs
    return this.#joined(outcome)
  }

  async #joined(outcome: JoinOutcome): Promise<NextStep | undefined> {
    switch (outcome.kind) {
      case 'initialized':
      case 'registered':
        this.#attributes.learn(outcome)
        this.#record.joined(outcome)
        return outcome.kind === 'registered' ? { kind: 'awaitInitialization' } : { ...outcome, kind: 'steady' }
      case 'timeout':
        return this.#giveUp('registration_timeout', outcome.message)
      case 'failed':
      case 'vmGone':
        // Launched is no longer True, so the observation that follows launches again, within the claim's own limit.
        this.#lastCapacityFailure =
          outcome.kind === 'failed' ? `${outcome.reason}: ${outcome.message}` : 'the VM vanished'
        this.#record.vmEnded(outcome.kind, this.#lastCapacityFailure)
        return undefined
      case 'claimGone':
      case 'observeAgain':
        return undefined
    }
  }

  async #initialize(): Promise<NextStep | undefined> {
    this.#enter('Initializing', 'the Node to be ready')
    this.#endedMs = undefined
    this.#record.write()
    const outcome = await readyWaits().awaitInitialization.executeWithOptions(
      { summary: this.#record.before('it becomes ready') },
      [{ claim: this.#claim }],
    )
    if (outcome.kind !== 'initialized') return undefined
    this.#record.observed(outcome)
    return { ...outcome, kind: 'steady' }
  }

  /** Returns the input of a step whose time is limited. */
  #begin(): StepInput {
    const idleSinceMs = this.#endedMs
    this.#endedMs = undefined
    return { claim: this.#claim, ...defined({ idleSinceMs }) }
  }

  /** Returns the end as next step if a poke tells of it: the drain looks by itself whether the claim is being deleted. */
  async #rest({ wakeAtMs, wakeFor = 'expiry' }: Wake): Promise<NextStep | undefined> {
    this.#endedMs = undefined
    this.#enter(
      'Ready',
      wakeAtMs === undefined ? 'a change' : `a change, or ${wakeFor} at ${new Date(wakeAtMs).toISOString()}`,
    )
    this.#record.write()
    const changed = () => this.#poked !== undefined || workflowInfo().continueAsNewSuggested
    if (wakeAtMs === undefined) await condition(changed)
    else
      await condition(changed, Math.max(wakeAtMs - Date.now(), 1), { summary: this.#record.before(`until ${wakeFor}`) })
    const leaving = this.#poked?.leaving
    if (leaving === undefined) return undefined
    this.#poked = undefined
    this.#record.observed(leaving)
    return { kind: 'terminate' }
  }

  async #terminate({ isDrained }: Extract<NextStep, { kind: 'terminate' }>): Promise<NextStep | undefined> {
    if (isDrained) this.#record.drained(0, { sinceMs: Date.now(), isDone: true })
    const drained = isDrained ? 'drained' : await this.#drain()
    if (drained === 'cutShort') return undefined
    this.#drainWaits = undefined
    this.#enter('Terminating', 'the VM to be gone')
    const isVmGone = drained === 'vmGone'
    const summary = this.#record.before('delete VM, NIC, disk, token')
    const deleted = await deletions().deleteInstance.executeWithOptions({ summary }, [
      { claim: this.#claim, finalize: !isVmGone },
    ])
    if (isVmGone) this.#record.vmWasGone()
    this.#record.vmDeleted(deleted)
    // Pods that were not drained are deleted with the finalizers, which only the role core may do.
    if (isVmGone)
      await kubernetes().finalize.executeWithOptions({ summary: 'delete lost pods, remove finalizers' }, [
        { claim: this.#claim, isVmGone },
      ])
    return { kind: 'finished' }
  }

  /** A restore of etcd has taken back the deletion of the claim, which is evaluated again; not at once, since caches may lag. Errors: any other. */
  async #goOn(error: unknown): Promise<undefined> {
    if (!isRefusedEnd(error)) throw error
    this.#drainWaits = undefined
    this.#record.stays()
    await condition(() => this.#poked !== undefined, 1000)
  }

  /** Runs one activity. If something delays the drain for long, it returns to report the cause. `cutShort`: a new run is due. */
  async #drain(): Promise<'drained' | 'vmGone' | 'cutShort'> {
    this.#drainWaits = undefined
    this.#enter('Draining', 'pods to leave the Node')
    for (let reported = nothingReported; ; ) {
      const drains = reported.waits.on.length === 0 ? clusterSteps() : clusterWaits()
      const outcome = await drains.drain.executeWithOptions({ summary: this.#record.drain(reported.waits) }, [
        { claim: this.#claim, reported },
      ])
      if (outcome.kind !== 'noNode')
        this.#record.drained(outcome.pods ?? 0, { sinceMs: this.#sinceMs, isDone: outcome.kind === 'drained' })
      if (outcome.kind === 'drained' || outcome.kind === 'noNode') return 'drained'
      if (outcome.kind === 'notReady') {
        if (await isVmGone(this.#claim)) return 'vmGone'
        reported = { ...reported, vmLooks: reported.vmLooks + 1 }
      } else {
        reported = { ...reported, waits: outcome.waits, reports: reported.reports + 1 }
        this.#drainWaits = outcome.waits
        this.#enter('Draining', waitsText(outcome.waits) || 'pods to leave the Node')
        if (reported.reports === 1) this.#record.write()
      }
      if (workflowInfo().continueAsNewSuggested) return 'cutShort'
    }
  }

  async #giveUp(reason: GiveUpReason, message: string): Promise<NextStep | undefined> {
    const outcome = await kubernetes().giveUp.executeWithOptions({ summary: reason }, [
      { claim: this.#claim, reason, message },
    ])
    if (outcome.kind === 'kept') return undefined
    this.#record.gaveUp(reason, message)
    return { kind: 'terminate' }
  }

  #enter(phase: Phase, waitingFor: string): void {
    this.#waitingFor = waitingFor
    // A lifecycle that starts again finds its node in a phase that began earlier.
    if (this.#phase === undefined) this.#sinceMs = phaseStart(this.#record.facts, phase) ?? Date.now()
    else if (this.#phase !== phase) this.#sinceMs = Date.now()
    this.#phase = phase
    this.#attributes.show(phase)
    this.#record.describe(this.status())
  }

  async #continueAsNew(why: Pick<LifecycleState, 'refused'> = {}): Promise<never> {
    await this.#requests.close('its lifecycle begins a new run at this very moment; send it again')
    const state: LifecycleState = {
      attempt: this.#attempt,
      ...defined({ lastCapacityFailure: this.#lastCapacityFailure, endedMs: this.#endedMs }),
      ...why,
    }
    const next = makeContinueAsNewFunc<typeof nodeClaimLifecycle>({ memo: { [factsKey]: bounded(this.#record.facts) } })
    const attributes = this.#attributes.values
    return next({ ...this.#input, ...(attributes && { attributes }), state })
  }
}
