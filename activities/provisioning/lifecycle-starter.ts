import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
} from '@temporalio/client'
import { factsOfClaim } from '../../core/history/claim-facts.ts'
import { factsKey, type Leaving } from '../../core/history/life.ts'
import { bounded, oneLine } from '../../core/history/record.ts'
import { birthText } from '../../core/history/texts.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { lifecycleId, taskQueue } from '../../core/task-queues.ts'
import type { nodeClaimLifecycle } from '../../workflows/index.ts'
import { pokeSignal } from '../../workflows/messages.ts'
import { type SearchAttributeName, searchAttributes } from '../../workflows/search-attributes.ts'
import type { AttributeValues } from '../../workflows/shown-attributes.ts'
import type { AttributedStarts } from '../attributed-starts.ts'

/** Starts and pokes lifecycles. Leaves a running lifecycle as it is; a start for it costs no event. */
export class LifecycleStarter {
  readonly #client: Client
  readonly #cluster: string
  readonly #starts: AttributedStarts
  readonly #started = new Set<string>()

  constructor(client: Client, cluster: string, starts: AttributedStarts) {
    this.#client = client
    this.#cluster = cluster
    this.#starts = starts
  }

  /** Returns whether this process has started the lifecycle already. */
  hasStarted(claim: NodeClaim): boolean {
    return this.#started.has(claim.metadata.uid)
  }

  /** Starts a claim's lifecycle unless it runs. `isNew`: the claim was created just now and nothing has happened to it. */
  async start(claim: NodeClaim, { isNew = false } = {}): Promise<void> {
    try {
      await this.#starts.start((areUsable) =>
        this.#client.workflow.start<typeof nodeClaimLifecycle>('nodeClaimLifecycle', {
          ...this.#options(claim, { isNew, areUsable }),
          workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
          requestEagerStart: true,
        }),
      )
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    }
    this.#started.add(claim.metadata.uid)
    if (this.#started.size > 20_000) this.#started.delete(this.#started.values().next().value as string)
  }

  /** Pokes a claim's lifecycle; starts it if it does not run. `why`: for those who read its history. `leaving`: as `pokeSignal` has it. */
  async poke(claim: NodeClaim, why: string, leaving?: Leaving): Promise<void> {
    await this.#starts.start((areUsable) =>
      this.#client.workflow.signalWithStart<typeof nodeClaimLifecycle, [string?, Leaving?]>('nodeClaimLifecycle', {
        ...this.#options(claim, { isNew: false, areUsable }),
        signal: pokeSignal,
        signalArgs: leaving === undefined ? [why] : [why, leaving],
      }),
    )
  }

  /** Pokes a lifecycle without starting it: it reads that its NodeClaim is gone, and ends. One that has ended already is fine. */
  async pokeOrphan(workflowId: string): Promise<void> {
    try {
      await this.#client.workflow.getHandle(workflowId).signal(pokeSignal, 'the NodeClaim is gone')
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error
    }
  }

  #options(claim: NodeClaim, { isNew, areUsable }: { readonly isNew: boolean; readonly areUsable: boolean }) {
    const { name, uid } = claim.metadata
    const nodePool = claim.metadata.labels[labels.nodePool]
    const facts = factsOfClaim(claim)
    const attributes: AttributeValues = { nodePhase: 'Launching', ...(nodePool === undefined ? {} : { nodePool }) }
    return {
      workflowId: lifecycleId(this.#cluster, { name, uid }),
      taskQueue: taskQueue('core', this.#cluster),
      args: [
        {
          cluster: this.#cluster,
          name,
          uid,
          ...(isNew ? { createdAtMs: Date.parse(claim.metadata.creationTimestamp) } : {}),
          ...(areUsable && { attributes }),
        },
      ] as Parameters<typeof nodeClaimLifecycle>,
      // A lifecycle that somebody terminated goes on in a new run, from the state of the claim's objects.
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      memo: { [factsKey]: bounded(facts) },
      staticSummary: oneLine(
        `NodeClaim ${name}${nodePool === undefined ? '' : ` of NodePool ${nodePool}`}, ${birthText(facts.came)}`,
      ),
      ...(areUsable && {
        typedSearchAttributes: Object.entries(attributes).map(([name, value]) => ({
          key: searchAttributes[name as SearchAttributeName],
          value,
        })),
      }),
    }
  }
}
