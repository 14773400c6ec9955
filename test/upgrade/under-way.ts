// Much that is under way at the moment of an upgrade, and the ids under which an earlier version had it.
import { randomUUID } from 'node:crypto'
import { lifecycleId, taskQueue } from '../../core/task-queues.ts'
import { clusterName } from '../../deploy/local/cluster.ts'
import { loopStatusQuery } from '../../workflows/messages.ts'
import { searchAttributes } from '../../workflows/search-attributes.ts'
import { deployment, nodePool } from '../applied-objects.ts'
import { isTrue, type Seen, type World } from '../world.ts'
import type { TwoVersions } from './two-versions.ts'

const poolLabel = 'karpenter.sh/nodepool'
/** Beside `general`: one whose nodes drain, one whose node a command replaces, and one that is paused. */
const pools = ['web', 'queue', 'paused'] as const
const apps = ['many', ...pools]
const draining = 3
/** Pods whose VMs boot, and those whose VMs Azure makes. */
const booting = 9
const creating = 10
/** Longer than all of it takes on a busy machine. */
export const bootMs = 150_000

const budget = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'web', namespace: 'default' },
  spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'web' } } },
}

const budgetPath = '/apis/policy/v1/namespaces/default/poddisruptionbudgets/web'

/** 20 launches, three drains that a PodDisruptionBudget holds up, a command that waits for its replacement, and a pause. */
export class UnderWay {
  readonly #world: World
  readonly #versions: TwoVersions

  constructor(versions: TwoVersions) {
    this.#versions = versions
    this.#world = versions.world
  }

  /** Brings it all under way. Returns the workflow id of the command. */
  async begin(): Promise<string> {
    const world = this.#world
    await world.apply(
      ...pools.map((name) => nodePool({ name, consolidateAfter: 'Never' })),
      ...apps.map((name) => {
        const nodeSelector = { [poolLabel]: name === 'many' ? 'general' : name }
        return deployment({ name, apart: true, nodeSelector })
      }),
      budget,
    )
    for (const pool of pools) await world.untilReady(pool)
    for (const pool of pools) await world.scale(pool, pool === 'web' ? draining : 1)
    await this.#versions.ready(draining + 2)
    await world.until('the PodDisruptionBudget counts its pods', async () => {
      const { status } = await world.operator.api<{ status?: { currentHealthy?: number } }>('GET', budgetPath)
      return status?.currentHealthy === draining
    })
    await world.joiner('pause', '--nodepool', 'paused', '--reason', 'an upgrade')

    await world.timing({ bootMs })
    const web = (await world.list('nodeclaims')).filter(({ metadata }) => metadata.labels?.[poolLabel] === 'web')
    const names = web.map(({ metadata }) => metadata.name)
    await world.operator.kubectl(['delete', 'nodeclaims', ...names, '--wait=false'])
    const template = { metadata: { labels: { team: 'drifted' } } }
    for (const pool of ['queue', 'paused'])
      await world.operator.api('PATCH', `/apis/karpenter.sh/v1/nodepools/${pool}`, { spec: { template } })
    const command = await world.until('a command waits for its replacement', () => this.#versions.waitingCommand())
    await this.#launch(booting)
    await world.timing({ createMs: bootMs, bootMs: 0 })
    await this.#launch(booting + creating)
    await world.until('the drains are held up', async () => {
      const phases = await this.#versions.phases()
      return phases.filter((phase) => phase === 'Draining').length === draining
    })
    return command
  }

  async #launch(pods: number): Promise<void> {
    const world = this.#world
    await world.scale('many', pods)
    await world.until(`Azure has accepted the VMs of ${pods} pods`, async () => {
      const accepted = (await world.journal()).filter(({ method, answer }) => method === 'PUT' && answer !== undefined)
      const own = new Set(accepted.map(({ name }) => name))
      const claims = (await world.list('nodeclaims')).filter(
        ({ metadata }) => metadata.labels?.[poolLabel] === 'general',
      )
      return claims.length === pods && claims.every(({ metadata }) => own.has(`aks-${metadata.name}`))
    })
  }

  /** NodeClaims that are to become nodes and are not yet, by their UIDs. */
  launching(): Promise<readonly string[]> {
    return this.#claims((claim) => claim.metadata.deletionTimestamp === undefined && !isTrue(claim, 'Ready'))
  }

  /** NodeClaims that are to end, likewise. */
  draining(): Promise<readonly string[]> {
    return this.#claims(({ metadata }) => metadata.deletionTimestamp !== undefined)
  }

  /** Those that the pause keeps, although they drifted. */
  paused(): Promise<readonly string[]> {
    return this.#claims(({ metadata }) => metadata.labels?.[poolLabel] === 'paused')
  }

  async #claims(isMeant: (claim: Seen) => boolean): Promise<readonly string[]> {
    return (await this.#world.list('nodeclaims')).filter(isMeant).map(({ metadata }) => metadata.uid)
  }

  /** Lets the drains go on, to nodes that take no time. */
  async release(): Promise<void> {
    await this.#world.timing({ createMs: 0, bootMs: 0 })
    await this.#world.operator.kubectl(['-n', 'default', 'delete', 'poddisruptionbudget', 'web', '--ignore-not-found'])
  }

  async isPauseInForce(): Promise<boolean> {
    const { partialPauses = [] } = await this.#world.loop('disruption').query(loopStatusQuery)
    return partialPauses.some(({ reason }) => reason === 'an upgrade')
  }

  /** Whether each NodeClaim has one lifecycle that runs, with its id of now, and nothing else does. */
  async hasEachItsLifecycle(): Promise<boolean> {
    const claims = await this.#world.list('nodeclaims')
    const running = (await this.#world.lifecycles("ExecutionStatus = 'Running'")).map(({ id }) => id)
    const wanted = claims.map(({ metadata }) => lifecycleId(clusterName, metadata))
    return running.length === claims.length && wanted.every((id) => running.includes(id))
  }

  /** VMs that were asked for more than once, and those without a NodeClaim or the reverse. */
  async oddVms(): Promise<readonly string[]> {
    const puts = (await this.#world.journal()).filter(({ method }) => method === 'PUT')
    const twice = [...Map.groupBy(puts, ({ name }) => name)].filter(([, own]) => own.length > 1).map(([name]) => name)
    const claims = new Set((await this.#world.list('nodeclaims')).map(({ metadata }) => `aks-${metadata.name}`))
    const vms = new Set((await this.#world.azure()).virtualMachines.map(({ name }) => name))
    return [...twice, ...claims.symmetricDifference(vms)]
  }

  /** How much of another form the watchdog finds. */
  async found(): Promise<number | undefined> {
    return (await this.#world.metrics())['joiner_temporal_findings{fault="of another form"}']
  }

  /** Takes everything away again, also where a story ended early. */
  async end(): Promise<void> {
    if (this.#world.cluster.supervisor.pids['joiner'] === undefined) this.#world.startJoiner()
    await this.release()
    await this.#world.operator.kubectl(['-n', 'default', 'delete', 'deployments', ...apps, '--ignore-not-found'])
    await this.#versions.endAll()
    await this.#world.operator.kubectl(['delete', 'nodepools', ...pools, '--ignore-not-found'])
  }
}

/** Has each lifecycle go on as 0.2.0 began it: in a new run under `nodeclaim/CLUSTER/NAME/UID`. Returns those ids. */
export async function underOldIds(world: World): Promise<readonly string[]> {
  const ids = (await world.list('nodeclaims')).map(({ metadata }) => ({
    now: lifecycleId(clusterName, metadata),
    before: `nodeclaim/${clusterName}/${metadata.name}/${metadata.uid}`,
  }))
  for (const { now, before } of ids) await beginAgain(world, now, before)
  return ids.map(({ before }) => before)
}

async function beginAgain({ temporal }: World, from: string, workflowId: string): Promise<void> {
  const { workflowService, options } = temporal
  const { namespace } = options
  const execution = { workflowId: from }
  const { workflowExecutionInfo } = await workflowService.describeWorkflowExecution({ namespace, execution })
  const { history } = await workflowService.getWorkflowExecutionHistory({ namespace, execution, maximumPageSize: 1 })
  const begun = history?.events?.[0]?.workflowExecutionStartedEventAttributes
  const own = new Set<string>(Object.values(searchAttributes).map(({ name }) => name))
  const attributes = Object.entries(workflowExecutionInfo?.searchAttributes?.indexedFields ?? {})
  await temporal.workflow.getHandle(from).terminate('as if 0.2.0 had begun it')
  await workflowService.startWorkflowExecution({
    namespace,
    workflowId,
    workflowType: begun?.workflowType ?? null,
    taskQueue: begun?.taskQueue ?? null,
    input: begun?.input ?? null,
    memo: workflowExecutionInfo?.memo ?? null,
    searchAttributes: { indexedFields: Object.fromEntries(attributes.filter(([name]) => own.has(name))) },
    requestId: randomUUID(),
  })
}

/** Begins a run of a type that no worker knows any more. Returns its id. */
export async function beginUnknown({ temporal }: World): Promise<string> {
  const workflowId = `garbageCollection/${clusterName}-workflow-2026-11-24T08:00:00Z`
  await temporal.workflow.start('garbageCollection', {
    workflowId,
    taskQueue: taskQueue('core', clusterName),
    args: [],
  })
  return workflowId
}
