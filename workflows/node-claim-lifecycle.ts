import {
  condition,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import type { LaunchOutcome } from '../activities/azure/contract.ts'
import type {
  Asked,
  ClaimRef,
  GiveUpReason,
  KubernetesActivities,
  NextStep,
  Observation,
} from '../activities/kubernetes/contract.ts'
import { type DrainWaits, nothingTold, waitsText } from '../core/node-claim/drain-waits.ts'
import type { Wake } from '../core/node-claim/lifecycle.ts'
import { azure, instanceLooks, kubernetes, launching, looks, waits } from './activities.ts'
import { type LifecycleStatus, lifecycleStatusQuery, pokeSignal } from './messages.ts'
import { NodeRequests } from './node-requests.ts'
import { type SearchAttributeName, searchAttributes } from './search-attributes.ts'

/** The whole state of a life: everything else is read from the cluster. */
export interface LifecycleInput {
  readonly cluster: string
  readonly name: string
  readonly uid: string
  /** Epoch ms of the creation of a claim that its creator starts at once: nothing can have happened to it, so the first look is spared. */
  readonly createdAtMs?: number
  readonly state?: LifecycleState
}

interface LifecycleState {
  readonly attempt: number
  readonly lastCapacityFailure?: string
}

type Phase = 'Launching' | 'Registering' | 'Initializing' | 'Ready' | 'Draining' | 'Terminating' | 'Gone'

/** However many offerings are left, a claim that has no node after this long makes room for another plan. */
const launchLimitMs = 15 * 60_000

/**
 * The life of one NodeClaim: launch, register, initialize, steady, drain, terminate (design: workflows).
 * Each step is an activity that observes and acts; this function holds only the order.
 */
export async function nodeClaimLifecycle(input: LifecycleInput): Promise<void> {
  const life = new Lifecycle(input)
  setHandler(pokeSignal, () => life.poke(), { description: 'Look at the NodeClaim, its Node and its VM again.' })
  setHandler(lifecycleStatusQuery, () => life.status(), { description: 'Phase, attempt and what is waited for.' })
  await life.run()
}

class Lifecycle {
  readonly #claim: ClaimRef
  readonly #input: LifecycleInput
  #phase: Phase = 'Launching'
  #sinceMs = Date.now()
  #waitingFor = 'the NodeClaim to be read'
  #attempt: number
  #lastCapacityFailure: string | undefined
  #drainWaits: DrainWaits | undefined
  #poked = false
  readonly #requests: NodeRequests
  /** What an operator had cut short, for the look that follows. */
  #retried: (Asked & { readonly what: string }) | undefined
  #hold: string | undefined
  readonly #attributes = new Map<SearchAttributeName, string>()

  constructor(input: LifecycleInput) {
    this.#input = input
    this.#claim = { name: input.name, uid: input.uid }
    this.#requests = new NodeRequests(this.#claim)
    this.#requests.listen({ [pokeSignal.name]: () => this.poke() })
    this.#attempt = input.state?.attempt ?? 0
    this.#lastCapacityFailure = input.state?.lastCapacityFailure
  }

  poke(): void {
    this.#poked = true
  }

  status(): LifecycleStatus {
    return {
      phase: this.#phase,
      sinceMs: this.#sinceMs,
      attempt: this.#attempt,
      waitingFor: this.#waitingFor,
      ...(this.#lastCapacityFailure === undefined ? {} : { lastCapacityFailure: this.#lastCapacityFailure }),
      ...(this.#hold === undefined ? {} : { hold: this.#hold }),
      ...(this.#drainWaits === undefined ? {} : { drain: this.#drainWaits }),
    }
  }

  async run(): Promise<void> {
    const { createdAtMs, state } = this.#input
    let step: NextStep | undefined =
      createdAtMs === undefined || state !== undefined ? undefined : { kind: 'launch', startedAtMs: createdAtMs }
    for (;;) {
      if (workflowInfo().continueAsNewSuggested && !this.#requests.areWaiting) await this.#continueAsNew()
      step = await this.#takeHearing(step)
      if (step?.kind === 'finished') return this.#requests.close(`the life of NodeClaim ${this.#claim.name} has ended`)
    }
  }

  /** One look and one step, which an operator's messages may cut short. */
  async #takeHearing(step: NextStep | undefined): Promise<NextStep | undefined> {
    const heard = await this.#requests.beside(
      async () => this.#take(step ?? (await this.#observe())),
      () => this.#doing(),
    )
    if (heard.kind === 'done') return heard.result
    if (heard.kind === 'forced') return this.#take({ kind: 'finished' })
    this.#retried = heard.retried
    return undefined
  }

  #doing(): string {
    return `${this.#phase} (it waited for ${this.#waitingFor} since ${new Date(this.#sinceMs).toISOString()})`
  }

  /** Takes one step. Returns the next one where this one's outcome already tells it; otherwise the world is observed. */
  async #take(step: NextStep): Promise<NextStep | undefined> {
    switch (step.kind) {
      case 'launch':
        return this.#launch(step.startedAtMs)
      case 'awaitRegistration':
        return this.#register()
      case 'awaitInitialization':
        return this.#initialize()
      case 'steady':
        return this.#rest(step)
      case 'terminate':
        return this.#terminate()
      case 'finished':
        this.#phase = 'Gone'
        this.#waitingFor = 'nothing'
        return step
    }
  }

  async #observe(): Promise<NextStep> {
    this.#poked = false
    const retried = this.#retried
    const look = { claim: this.#claim, ...(retried === undefined ? {} : { retried }) }
    const observation =
      (await this.#lookAtOnce(look)) ??
      (await kubernetes().observe.executeWithOptions({ summary: 'read NodeClaim, Node and deadlines' }, [look]))
    this.#retried = undefined
    this.#hold = observation.hold
    this.#learn(observation)
    return observation.step
  }

  /** A look without an activity of its own; undefined when the API server does not answer at once. */
  async #lookAtOnce(look: Parameters<KubernetesActivities['observe']>[0]): Promise<Observation | undefined> {
    try {
      return await looks().observe(look)
    } catch (error) {
      if (isCancellation(error)) throw error
      return undefined
    }
  }

  /** Tries offerings of this same NodeClaim until one launches. Each attempt stands in the history with its outcome. */
  async #launch(startedAtMs: number): Promise<NextStep | undefined> {
    this.#enter('Launching', 'Azure to accept a VM')
    if (Date.now() > startedAtMs + launchLimitMs) {
      return this.#giveUp(
        'launch_timeout',
        `no VM after 15 minutes and ${this.#attempt} attempts${this.#lastFailureText()}`,
      )
    }
    this.#attempt += 1
    let outcome: LaunchOutcome
    try {
      outcome = await launching().launch.executeWithOptions({ summary: `attempt ${this.#attempt}` }, [
        { claim: this.#claim, attempt: this.#attempt },
      ])
    } catch (error) {
      if (isCancellation(error)) throw error
      // The attempt's own time is over; whether the claim's is, is decided at the top of the next one.
      this.#lastCapacityFailure = causeMessage(error)
      return this.#poked ? undefined : { kind: 'launch', startedAtMs }
    }
    switch (outcome.kind) {
      case 'launched':
        this.#learn({ instanceType: outcome.instanceType, capacityType: outcome.capacityType, zone: outcome.zone })
        return { kind: 'awaitRegistration' }
      case 'capacity':
        this.#lastCapacityFailure = `${outcome.instanceType} ${outcome.capacityType} in zone ${outcome.zone}: ${outcome.reason}`
        return this.#poked ? undefined : { kind: 'launch', startedAtMs }
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

  /** A node that joined wins over whatever Azure still says of its VM. */
  async #register(): Promise<NextStep | undefined> {
    this.#enter('Registering', 'the Node to join')
    const outcome = await azure().awaitNode.executeWithOptions({ summary: 'VM is created, Node joins' }, [
      { claim: this.#claim },
    ])
    switch (outcome.kind) {
      case 'initialized':
        this.#learn({ nodeName: outcome.nodeName })
        return { ...outcome, kind: 'steady' }
      case 'registered':
        this.#learn({ nodeName: outcome.nodeName })
        return { kind: 'awaitInitialization' }
      case 'timeout':
        return this.#giveUp('registration_timeout', outcome.message)
      case 'failed':
      case 'vmGone':
        // Launched is no longer True, so the observation that follows launches again, within the claim's own limit.
        this.#lastCapacityFailure =
          outcome.kind === 'failed' ? `${outcome.reason}: ${outcome.message}` : 'the VM vanished'
        return undefined
      case 'claimGone':
      case 'lookAgain':
        return undefined
    }
  }

  async #initialize(): Promise<NextStep | undefined> {
    this.#enter('Initializing', 'the Node to be ready')
    const outcome = await waits().awaitInitialization.executeWithOptions({ summary: 'Node becomes ready' }, [
      { claim: this.#claim },
    ])
    return outcome.kind === 'initialized' ? { ...outcome, kind: 'steady' } : undefined
  }

  async #rest({ wakeAtMs, wakeFor = 'expiry' }: Wake): Promise<undefined> {
    this.#enter(
      'Ready',
      wakeAtMs === undefined ? 'a change' : `a change, or ${wakeFor} at ${new Date(wakeAtMs).toISOString()}`,
    )
    const changed = () => this.#poked || workflowInfo().continueAsNewSuggested
    if (wakeAtMs === undefined) await condition(changed)
    else await condition(changed, Math.max(wakeAtMs - Date.now(), 1))
  }

  async #terminate(): Promise<NextStep | undefined> {
    const drained = await this.#drain()
    if (drained === 'cutShort') return undefined
    this.#drainWaits = undefined
    this.#enter('Terminating', 'the VM to be gone')
    const isVmGone = drained === 'vmGone'
    await azure().deleteInstance.executeWithOptions({ summary: 'delete VM, NIC, disk, token' }, [
      { claim: this.#claim, finalize: !isVmGone },
    ])
    // Pods that were not drained are deleted with the finalizers, which only the role core may do.
    if (isVmGone)
      await kubernetes().finalize.executeWithOptions({ summary: 'delete lost pods, remove finalizers' }, [
        { claim: this.#claim, isVmGone },
      ])
    return { kind: 'finished' }
  }

  /** One activity, unless something holds up the drain for long: then it comes back to tell what. `cutShort`: a new run is due. */
  async #drain(): Promise<'drained' | 'vmGone' | 'cutShort'> {
    this.#drainWaits = undefined
    this.#enter('Draining', 'pods to leave the Node')
    for (let told = nothingTold; ; ) {
      const outcome = await waits().drain.executeWithOptions({ summary: 'evict pods, wait for volumes' }, [
        { claim: this.#claim, told },
      ])
      if (outcome.kind === 'drained' || outcome.kind === 'noNode') return 'drained'
      if (outcome.kind === 'notReady') {
        if (await this.#isVmGone()) return 'vmGone'
        told = { ...told, vmLooks: told.vmLooks + 1 }
      } else {
        told = { ...told, waits: outcome.waits, reports: told.reports + 1 }
        this.#drainWaits = outcome.waits
        this.#enter('Draining', waitsText(outcome.waits) || 'pods to leave the Node')
      }
      if (workflowInfo().continueAsNewSuggested) return 'cutShort'
    }
  }

  /** Whether Azure says that there is no VM. Without an answer the node is drained like any. */
  async #isVmGone(): Promise<boolean> {
    try {
      const found = await instanceLooks().findInstance.executeWithOptions({ summary: 'does the VM exist?' }, [
        { claim: this.#claim },
      ])
      return !found.exists
    } catch (error) {
      if (isCancellation(error)) throw error
      return false
    }
  }

  async #giveUp(reason: GiveUpReason, message: string): Promise<NextStep | undefined> {
    const outcome = await kubernetes().giveUp.executeWithOptions({ summary: reason }, [
      { claim: this.#claim, reason, message },
    ])
    return outcome.kind === 'kept' ? undefined : { kind: 'terminate' }
  }

  #lastFailureText(): string {
    return this.#lastCapacityFailure === undefined ? '' : `; last: ${this.#lastCapacityFailure}`
  }

  #enter(phase: Phase, waitingFor: string): void {
    this.#waitingFor = waitingFor
    if (this.#phase !== phase) this.#sinceMs = Date.now()
    this.#phase = phase
    this.#learn({ nodePhase: phase })
    this.#publish()
    const failure =
      this.#lastCapacityFailure === undefined ? '' : `\n\nLast failed attempt: ${this.#lastCapacityFailure}`
    const hold = this.#hold === undefined ? '' : `\n\nThe NodeClaim is ${this.#hold}`
    setCurrentDetails(
      `**${phase}** since ${new Date(this.#sinceMs).toISOString()}, waits for ${waitingFor}; launch attempt ${this.#attempt}.${failure}${hold}`,
    )
  }

  /** Keeps search attributes until the next phase is entered. */
  #learn(values: Partial<Record<SearchAttributeName, string>> | Observation): void {
    for (const [name, value] of Object.entries(values)) {
      if (name in searchAttributes && typeof value === 'string')
        this.#attributes.set(name as SearchAttributeName, value)
    }
  }

  /** Upserts what changed, in one event. */
  #publish(): void {
    const known = workflowInfo().typedSearchAttributes
    const changed = [...this.#attributes]
      .map(([name, value]) => ({ key: searchAttributes[name], value }))
      .filter(({ key, value }) => known.get(key) !== value)
    this.#attributes.clear()
    if (changed.length > 0) upsertSearchAttributes(changed)
  }

  async #continueAsNew(): Promise<never> {
    await this.#requests.close('its lifecycle begins a new run at this very moment; send it again')
    const state: LifecycleState = {
      attempt: this.#attempt,
      ...(this.#lastCapacityFailure === undefined ? {} : { lastCapacityFailure: this.#lastCapacityFailure }),
    }
    return continueAsNew<typeof nodeClaimLifecycle>({ ...this.#input, state })
  }
}

function causeMessage(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error ? cause.message : String(cause)
}
