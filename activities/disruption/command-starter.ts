import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowIdReusePolicy } from '@temporalio/client'
import { commandSummary, proposedFacts } from '../../core/history/command-facts.ts'
import { type CommandFacts, factsKey } from '../../core/history/life.ts'
import { readCommandFacts } from '../../core/history/read-facts.ts'
import { disruptionCommandId, taskQueue } from '../../core/task-queues.ts'
import { runningCommands } from '../../core/workflow-queries.ts'
import type { disruptionCommand } from '../../workflows/index.ts'
import { commandAttributes } from '../../workflows/search-attributes.ts'
import type { AttributedStarts } from '../attributed-starts.ts'
import { listRuns, openRun } from '../workflow-runs.ts'
import type { DisruptionProposal } from './contract.ts'

/** A command that waits to be validated again. */
export interface Validating {
  readonly id: string
  readonly method: DisruptionProposal['method']
  /** Names of NodeClaims. */
  readonly nodeClaims: readonly string[]
  /** Epoch ms. */
  readonly dueMs: number
}

export interface CommandStarterInput {
  readonly client: Client
  readonly cluster: string
  readonly starts: AttributedStarts
  /** Epoch ms. */
  readonly now: () => number
}

/** Starts the workflows of disruption commands, and asks Temporal which of them run. */
export class CommandStarter {
  readonly #input: CommandStarterInput

  constructor(input: CommandStarterInput) {
    this.#input = input
  }

  /** Starts a command, which is validated again after `delayMs`. Returns false where one for the same nodes runs. Errors: Temporal's. */
  async start(proposal: DisruptionProposal, delayMs: number): Promise<boolean> {
    const { client, cluster, starts, now } = this.#input
    const { id, candidates } = proposal
    try {
      await starts.start((areUsable) =>
        client.workflow.start<typeof disruptionCommand>('disruptionCommand', {
          workflowId: disruptionCommandId(cluster, id),
          taskQueue: taskQueue('core', cluster),
          args: [{ cluster, proposal, delayMs }],
          workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
          memo: { [factsKey]: proposedFacts(proposal, now(), delayMs) },
          staticSummary: commandSummary(proposal),
          ...(areUsable && { typedSearchAttributes: commandAttributes(candidates) }),
        }),
      )
      return true
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
      return false
    }
  }

  /** Returns the ids of commands that Temporal lists as running. The list lags by seconds. Errors: Temporal's. */
  async listed(): Promise<ReadonlySet<string>> {
    return new Set((await this.#running()).map(({ id }) => id))
  }

  /** Returns the commands that wait to be validated, as Temporal lists them. Errors: Temporal's. */
  async validating(): Promise<readonly Validating[]> {
    return (await this.#running()).flatMap(({ id, method, candidates, dueMs }) =>
      dueMs === undefined ? [] : [{ id, method, nodeClaims: candidates, dueMs }],
    )
  }

  /** Returns whether a command still runs, by its own workflow (not by the list, which lags). Errors: Temporal's. */
  async isRunning(id: string): Promise<boolean> {
    const facts = await this.#open(id)
    // What cannot be read is not taken for another's.
    return facts === 'unreadable' || facts?.id === id
  }

  /** Returns whether a command still waits for its commit, likewise. Errors: Temporal's. */
  async isValidating(id: string): Promise<boolean> {
    const facts = await this.#open(id)
    return facts !== undefined && facts !== 'unreadable' && facts.id === id && facts.dueMs !== undefined
  }

  /** The facts of the command that runs for these nodes. */
  async #open(id: string): Promise<CommandFacts | 'unreadable' | undefined> {
    const { client, cluster } = this.#input
    const run = await openRun(client, disruptionCommandId(cluster, id))
    return run && (readCommandFacts(await run.memo(factsKey)) ?? 'unreadable')
  }

  async #running() {
    const { client, cluster } = this.#input
    const facts = []
    for await (const run of listRuns(client, runningCommands(cluster))) {
      const own = readCommandFacts(await run.memo(factsKey))
      if (own !== undefined) facts.push(own)
    }
    return facts
  }
}
