import { bundleDigest, readBundle } from '../../workers/bundle.ts'
import { commandStatusQuery, lifecycleStatusQuery } from '../../workflows/messages.ts'
import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import { quietRuntime } from '../runner/quiet-runtime.ts'
import { isTrue, patienceMs, type Seen, World } from '../world.ts'

/** A world in which one version of Joiner goes on with what another one began. */
export class TwoVersions {
  readonly world: World

  private constructor(world: World) {
    this.world = world
  }

  static async start(temporalArgs?: readonly string[]): Promise<TwoVersions> {
    quietRuntime()
    const world = await World.start(temporalArgs === undefined ? {} : { temporalArgs })
    await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
    return new TwoVersions(world)
  }

  /** Ends a story with everything deleted, also one that failed: the next one counts from nothing. */
  async tidy(): Promise<void> {
    const { world } = this
    await world.timing({ createMs: 0, bootMs: 0 })
    await world.operator.simulator('DELETE', '/faults')
    await world.operator.kubectl(['-n', 'joiner', 'delete', 'configmap', 'joiner-pauses', '--ignore-not-found'])
    await world.operator.kubectl(['delete', 'volumeattachments', '--all'])
    // One that failed must not leave its nodes to the next.
    if ((await world.list('nodeclaims')).length > 0) await this.endAll()
    await world.cluster.supervisor.stop('joiner')
    await world.cluster.supervisor.stop('second')
  }

  /** Starts Joiner with another workflow code than its own, which begins the loops as well, and waits until it runs that and can plan. */
  async startWith(bundle: string): Promise<void> {
    await this.endLoops()
    this.world.startJoiner('joiner', { JOINER_WORKFLOW_BUNDLE: bundle })
    const digest = bundleDigest(await readBundle(bundle))
    await this.world.until('its workers run that code', async () =>
      (await this.world.cluster.supervisor.tail('joiner', 200)).includes(`"workflowCode":"${digest}"`),
    )
    await this.world.untilReady('general')
  }

  /** Replaces Joiner by the version of this checkout, at once. */
  async upgrade(): Promise<void> {
    await this.world.crash()
    this.world.startJoiner()
  }

  async ready(count: number, ms = patienceMs): Promise<readonly Seen[]> {
    const areReady = async () => {
      const claims = await this.world.list('nodeclaims')
      return claims.length === count && claims.every((claim) => isTrue(claim, 'Ready')) && claims
    }
    return this.world.until(`${count} NodeClaims are Ready`, areReady, ms)
  }

  /** The phases of all lifecycles that run. */
  async phases(): Promise<readonly string[]> {
    const lifecycles = await this.world.lifecycles("ExecutionStatus = 'Running'")
    return Promise.all(
      lifecycles.map(
        async ({ id }) => (await this.world.temporal.workflow.getHandle(id).query(lifecycleStatusQuery)).phase,
      ),
    )
  }

  async endAll(): Promise<void> {
    await this.world.scale('inflate', 0)
    await this.world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
    await this.world.untilNothingLeft()
  }

  /** How many workflow tasks of a run have failed. */
  async failedTasks(workflowId: string, runId?: string): Promise<number> {
    const { events } = await this.world.temporal.workflow.getHandle(workflowId, runId).fetchHistory()
    return (events ?? []).filter(({ workflowTaskFailedEventAttributes }) => workflowTaskFailedEventAttributes).length
  }

  /** How the runs of lifecycles since a time ended, and how many of their workflow tasks failed. */
  async endings(sinceMs: number): Promise<readonly string[]> {
    const found: string[] = []
    const query = `WorkflowType = 'nodeClaimLifecycle' AND StartTime >= '${new Date(sinceMs).toISOString()}'`
    for await (const { workflowId, runId, status } of this.world.temporal.workflow.list({ query }))
      found.push(`${status.name}, ${await this.failedTasks(workflowId, runId)} tasks failed`)
    return found
  }

  async runOf(workflowId: string): Promise<string> {
    const { runId, status } = await this.world.temporal.workflow.getHandle(workflowId).describe()
    return `${status.name} ${runId}`
  }

  /** Ends both loops, so that the next Joiner begins them. */
  async endLoops(): Promise<void> {
    for (const name of ['provisioning', 'disruption'] as const)
      await this.world
        .loop(name)
        .terminate('to be begun by another version')
        .catch(() => {})
  }

  /** The workflow id of a disruption command that waits for its replacements. */
  async waitingCommand(): Promise<string | undefined> {
    const query = "WorkflowType = 'disruptionCommand' AND ExecutionStatus = 'Running'"
    for await (const { workflowId } of this.world.temporal.workflow.list({ query })) {
      const { doing } = await this.world.temporal.workflow.getHandle(workflowId).query(commandStatusQuery)
      if (doing.startsWith('waiting until')) return workflowId
    }
    return undefined
  }
}
