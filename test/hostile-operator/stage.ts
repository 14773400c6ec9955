import proto from '@temporalio/proto'
import { lifecycleId, maintenanceScheduleId } from '../../core/task-queues.ts'
import { clusterName } from '../../deploy/local/cluster.ts'
import type { Fault } from '../../starter/temporal/findings/finding.ts'
import { loopStatusQuery } from '../../workflows/messages.ts'
import { searchAttributes } from '../../workflows/search-attributes.ts'
import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import { DenyingTemporal } from '../denying-temporal.ts'
import { type Seen, World } from '../world.ts'
import { failedTasks, objections } from './histories.ts'
import { Probes, probesPool } from './probes.ts'

const { INDEXED_VALUE_TYPE_KEYWORD: keyword } = proto.temporal.api.enums.v1.IndexedValueType

/** Nodes with a pod each that nothing takes by itself. */
const nodes = 52
const settleMs = 300_000
const lookMs = 500
/** The watchdog leaves younger NodeClaims to their planner. */
const youngMs = 30_000

export const loops = ['provisioning', 'disruption'].map((name) => `${name}/${clusterName}`)
export const scheduleId = maintenanceScheduleId(clusterName)
export const idOf = ({ metadata }: Seen) => lifecycleId(clusterName, metadata)

/** What somebody does with Temporal. */
export interface Act {
  readonly what: string
  readonly act: (stage: Stage) => Promise<Done>
  /** What a person does about it, where Joiner only names it. */
  readonly undo?: (stage: Stage) => Promise<unknown>
  /** It shows by its name first: until then all looks as before. */
  readonly isShown?: true
  /** How many nodes may go of those that nothing takes by itself. */
  readonly mayTake?: number
}

export interface Done {
  /** How often it was done. */
  readonly times: number
  /** Whether Joiner says what is wrong. Unset: there is nothing to say. */
  readonly isNamed?: () => Promise<boolean>
}

interface Played {
  readonly what: string
  /** How often it was done. */
  readonly times: number
  /** From its end until Joiner named it, in ms; undefined: it did not, or it was healed before. */
  readonly namedMs: number | undefined
  /** From its end until all was as before, in ms; undefined: it takes a person. */
  readonly healedMs: number | undefined
  /** NodeClaims that went, of those that nothing takes by itself. */
  readonly gone: number
  readonly fromMs: number
  readonly toMs: number
}

/** What came of an act. */
export interface Row extends Omit<Played, 'fromMs' | 'toMs'> {
  /** How long each pod that came meanwhile waited for the request for its VM, in ms; undefined: there was none. */
  readonly waits: readonly (number | undefined)[]
}

export interface Outcome {
  readonly rows: readonly Row[]
  /** Version of the server. */
  readonly temporal: string
  readonly histories: number
  /** Workflow tasks that failed, by cause. */
  readonly failedTasks: Readonly<Record<string, number>>
  /** What replay objects to. */
  readonly objections: readonly string[]
  /** VMs that were asked for more than once. */
  readonly twice: readonly string[]
  /** VMs without NodeClaim, and NodeClaims without VM. */
  readonly odd: readonly string[]
  /** Whether the pause from before all acts is in force. */
  readonly isPaused: boolean
}

/** A cluster at work, and what Joiner says about its Temporal. */
export class Stage {
  readonly world: World
  /** Between Joiner and Temporal. */
  readonly proxy: DenyingTemporal
  readonly #probes: Probes
  readonly #say: (text: string) => void
  readonly #played: Played[] = []

  private constructor(world: World, proxy: DenyingTemporal, say: (text: string) => void) {
    this.world = world
    this.proxy = proxy
    this.#probes = new Probes(world)
    this.#say = say
  }

  static async start(say: (text: string) => void): Promise<Stage> {
    const world = await World.start({ cloud: 'instant' })
    const stage = new Stage(world, await DenyingTemporal.start(world.cluster.ports.temporal, []), say)
    try {
      await stage.#begin()
    } catch (error) {
      await stage.stop()
      throw error
    }
    return stage
  }

  async #begin(): Promise<void> {
    const { world } = this
    world.startJoiner('joiner', { TEMPORAL_ADDRESS: this.proxy.address, TEMPORAL_TLS: 'false' })
    const kept = nodePool({ consolidateAfter: 'Never' })
    const keptPods = deployment({ apart: true, nodeSelector: { 'karpenter.sh/nodepool': 'general' } })
    await world.apply(nodeClass(), kept, probesPool, nodePool({ name: 'paused' }), keptPods)
    for (const pool of ['general', 'probes', 'paused']) await world.untilReady(pool)
    await world.joiner('pause', '--nodepool', 'paused', '--reason', 'from before')
    await world.scale('inflate', nodes)
    await world.untilRunning(nodes, settleMs)
    await world.until('no NodeClaim is young', async () =>
      (await this.kept()).every(({ metadata }) => Date.parse(metadata.creationTimestamp) < Date.now() - youngMs),
    )
    this.#probes.start()
    await world.until('all is as it should be', () => this.#isWhole(), settleMs)
    this.#say(`${nodes} nodes are ready, and a pod comes every 5 s`)
  }

  /** NodeClaims that nothing takes by itself, and that nobody has deleted. */
  async kept(): Promise<readonly Seen[]> {
    const claims = await this.world.list('nodeclaims')
    return claims.filter(
      ({ metadata }) =>
        metadata.labels?.['karpenter.sh/nodepool'] === 'general' && metadata.deletionTimestamp === undefined,
    )
  }

  /** Does something, and looks when Joiner names it and when all is as before. */
  async play(act: Act): Promise<void> {
    const before = await this.kept()
    const fromMs = Date.now()
    const done = await act.act(this)
    const seen = await this.#watch(act, done)
    await act.undo?.(this)
    await this.world.until('all is as before', () => this.#isWhole(), settleMs)
    await this.world.until('nothing is found any more', async () => (await this.found()) === 0, settleMs)
    const left = new Set((await this.kept()).map(({ metadata }) => metadata.uid))
    const gone = before.filter(({ metadata }) => !left.has(metadata.uid)).length
    this.#played.push({ what: act.what, times: done.times, ...seen, gone, fromMs, toMs: Date.now() })
  }

  async #watch({ undo, isShown }: Act, { isNamed }: Done): Promise<Pick<Played, 'namedMs' | 'healedMs'>> {
    const startMs = Date.now()
    let namedMs: number | undefined
    while (Date.now() - startMs < settleMs) {
      if ((await isNamed?.()) === true) namedMs ??= Date.now() - startMs
      const mayBeWhole = undo === undefined && (isShown === undefined || namedMs !== undefined)
      if (mayBeWhole && (await this.#isWhole())) return { namedMs, healedMs: Date.now() - startMs }
      if (undo !== undefined && namedMs !== undefined) break
      await new Promise((resolve) => setTimeout(resolve, lookMs))
    }
    return { namedMs, healedMs: undefined }
  }

  /** How much the watchdog finds, of one kind or in all; that the server is old is no fault of anybody here. */
  async found(fault?: Fault): Promise<number> {
    const metrics = Object.entries(await this.world.metrics())
    const prefix = `joiner_temporal_findings{${fault === undefined ? '' : `fault="${fault}"`}`
    return metrics.reduce(
      (sum, [name, value]) => sum + (name.startsWith(prefix) && !name.includes('server too old') ? value : 0),
      0,
    )
  }

  /** How many events of a reason there were. */
  async events(reason: string): Promise<number> {
    const events = (await this.world.list('events')).filter((event) => event.reason === reason)
    return events.length
  }

  /** Whether everything runs in Temporal that should, and each pod has its node. */
  async #isWhole(): Promise<boolean> {
    const { world } = this
    const claims = await this.kept()
    if (claims.length !== nodes || (await world.running()) !== nodes) return false
    const running = new Set((await world.lifecycles("ExecutionStatus = 'Running'")).map(({ id }) => id))
    if (!claims.every((claim) => running.has(idOf(claim)))) return false
    const runs = await Promise.all(loops.map((id) => world.temporal.workflow.getHandle(id).describe()))
    if (!runs.every(({ status }) => status.name === 'RUNNING')) return false
    const schedule = await world.temporal.schedule
      .getHandle(scheduleId)
      .describe()
      .catch(() => undefined)
    if (schedule?.state.paused !== false) return false
    const { customAttributes } = await world.temporal.connection.operatorService.listSearchAttributes({
      namespace: world.temporal.options.namespace,
    })
    return Object.values(searchAttributes).every(({ name }) => customAttributes[name] === keyword)
  }

  /** Lets the last pods run and go, and looks at what is left. */
  async outcome(): Promise<Outcome> {
    const { world } = this
    this.#say('waiting until the last pods have run')
    await this.#probes.stop()
    await world.until('their nodes are gone', async () => (await world.list('nodeclaims')).length === nodes, settleMs)
    const rows = await Promise.all(
      this.#played.map(async ({ fromMs, toMs, ...row }) => ({ ...row, waits: await this.#probes.waits(fromMs, toMs) })),
    )
    const { partialPauses = [] } = await world.loop('disruption').query(loopStatusQuery)
    this.#say('replaying every history')
    const histories = await world.histories()
    const { serverVersion } = await world.temporal.workflowService.getSystemInfo({})
    return {
      rows,
      temporal: serverVersion ?? '',
      histories: histories.size,
      failedTasks: failedTasks([...histories.values()]),
      objections: await objections(histories),
      ...(await this.#vms()),
      isPaused: partialPauses.some(({ reason }) => reason === 'from before'),
    }
  }

  async #vms(): Promise<Pick<Outcome, 'twice' | 'odd'>> {
    const puts = (await this.world.journal()).filter(({ method }) => method === 'PUT')
    const byName = Map.groupBy(puts, ({ name }) => name)
    const claims = new Set((await this.world.list('nodeclaims')).map(({ metadata }) => `aks-${metadata.name}`))
    const vms = new Set((await this.world.azure()).virtualMachines.map(({ name }) => name))
    return {
      twice: [...byName].filter(([, own]) => own.length > 1).map(([name]) => name),
      odd: [...claims.symmetricDifference(vms)],
    }
  }

  async stop(): Promise<void> {
    this.#probes.abandon()
    this.proxy.stop()
    await this.world.stop()
  }
}
