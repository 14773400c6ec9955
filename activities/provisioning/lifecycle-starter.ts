import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
} from '@temporalio/client'
import { factsOfClaim } from '../../core/history/claim-facts.ts'
import { factsKey } from '../../core/history/life.ts'
import { bounded, oneLine } from '../../core/history/record.ts'
import { birthText } from '../../core/history/texts.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { disruptionCommandId, lifecycleId, taskQueue } from '../../core/task-queues.ts'
import { runningCommands } from '../../core/workflow-queries.ts'
import type { nodeClaimLifecycle } from '../../workflows/index.ts'
import { pokeSignal } from '../../workflows/messages.ts'
import { searchAttributes } from '../../workflows/search-attributes.ts'
import { isRunning, listRuns } from '../workflow-runs.ts'

/** Starts and pokes lifecycles. Leaves a running lifecycle as it is; a start for it costs no event. */
export class LifecycleStarter {
  readonly #client: Client
  readonly #cluster: string
  readonly #started = new Set<string>()
  #hasAttributes = true

  constructor(client: Client, cluster: string) {
    this.#client = client
    this.#cluster = cluster
  }

  /** Says whether Temporal's namespace has the search attributes of lifecycles; a start that names an unknown one would fail. */
  useAttributes(areUsable: boolean): void {
    this.#hasAttributes = areUsable
  }

  /** Returns whether this process has started the lifecycle already. */
  hasStarted(claim: NodeClaim): boolean {
    return this.#started.has(claim.metadata.uid)
  }

  /** Starts a claim's lifecycle unless it runs. `isNew`: the claim was created just now and nothing has happened to it. */
  async start(claim: NodeClaim, { isNew = false } = {}): Promise<void> {
    try {
      await this.#client.workflow.start<typeof nodeClaimLifecycle>('nodeClaimLifecycle', {
        ...this.#options(claim, isNew),
        workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
        requestEagerStart: true,
      })
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    }
    this.#started.add(claim.metadata.uid)
    if (this.#started.size > 20_000) this.#started.delete(this.#started.values().next().value as string)
  }

  /** Pokes a claim's lifecycle; starts it if it does not run. `why`: for those who read its history. */
  async poke(claim: NodeClaim, why: string): Promise<void> {
    await this.#client.workflow.signalWithStart<typeof nodeClaimLifecycle, [string?]>('nodeClaimLifecycle', {
      ...this.#options(claim),
      signal: pokeSignal,
      signalArgs: [why],
    })
  }

  /** Returns the ids of the disruption commands that Temporal lists as running. The list lags by seconds. */
  async listedCommands(): Promise<ReadonlySet<string>> {
    const query = runningCommands(this.#cluster)
    const prefix = disruptionCommandId(this.#cluster, '')
    const listed = new Set<string>()
    for await (const { workflowId } of listRuns(this.#client, query)) listed.add(workflowId.slice(prefix.length))
    return listed
  }

  /** Returns whether a disruption command still runs, by its own workflow (not by the list, which lags). */
  async isCommandRunning(commandId: string): Promise<boolean> {
    return isRunning(this.#client, disruptionCommandId(this.#cluster, commandId))
  }

  #options(claim: NodeClaim, isNew = false) {
    const { name, uid } = claim.metadata
    const nodePool = claim.metadata.labels[labels.nodePool]
    const facts = factsOfClaim(claim)
    return {
      workflowId: lifecycleId(this.#cluster, { name, uid }),
      taskQueue: taskQueue('core', this.#cluster),
      args: [
        {
          cluster: this.#cluster,
          name,
          uid,
          ...(isNew ? { createdAtMs: Date.parse(claim.metadata.creationTimestamp) } : {}),
        },
      ] as Parameters<typeof nodeClaimLifecycle>,
      // A lifecycle that somebody terminated goes on in a new run, from the state of the claim's objects.
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      memo: { [factsKey]: bounded(facts) },
      staticSummary: oneLine(
        `NodeClaim ${name}${nodePool === undefined ? '' : ` of NodePool ${nodePool}`}, ${birthText(facts.came)}`,
      ),
      ...(this.#hasAttributes && {
        typedSearchAttributes: [
          { key: searchAttributes.nodePhase, value: 'Launching' },
          ...(nodePool === undefined ? [] : [{ key: searchAttributes.nodePool, value: nodePool }]),
        ],
      }),
    }
  }
}
