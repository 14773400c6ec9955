import type { ConnectionLike } from '@temporalio/client'
import { forEachOf } from '../../activities/concurrency.ts'
import { claimNode } from '../../activities/kubernetes/lifecycle/claim-nodes.ts'
import { initialize, type Joined, type JoiningDeps, register } from '../../activities/kubernetes/lifecycle/joining.ts'
import { isTrue } from '../../core/conditions.ts'
import { hasLostNode } from '../../core/node-claim/node-owner.ts'
import { initializationState } from '../../core/node-claim/registration.ts'
import { lookAfterChanges } from './after-changes.ts'

/** How often joined Nodes are looked for that wait, how long one waits before Temporal is asked, and how long for the answer: 12 s in all. */
const lookMs = 2000
const patienceMs = 8000
const answerMs = 2000

const concurrency = 20

export interface JoinKeeperInput {
  readonly deps: JoiningDeps
  readonly connection: Pick<ConnectionLike, 'withDeadline' | 'workflowService'>
  /** Only a leader looks and writes. */
  readonly isLeader: () => boolean
  /** Counts what was done in place of a lifecycle. */
  readonly onDone: (step: JoinStep) => void
}

type JoinStep = 'registered' | 'initialized'

/** A Node that waits for its lifecycle to register it, or to mark it as initialized. */
interface Waiting extends Joined {
  readonly step: JoinStep
}

/**
 * Has Nodes used that join while Temporal is away: they would stay tainted, paid and empty. The lifecycle registers a Node within a second; one that
 * waits for long has Temporal asked, and if that is silent this does what the lifecycle would do, with the same functions and the same proof of
 * whose the Node is. The lifecycle finds it done when it goes on.
 */
export class JoinKeeper {
  readonly #input: JoinKeeperInput
  /** Since when Nodes wait, epoch ms, by UID of their NodeClaim and step. */
  #since: ReadonlyMap<string, number> = new Map()
  #isAway = false

  constructor(input: JoinKeeperInput) {
    this.#input = input
  }

  /** Looks from now on. Returns what ends it. */
  start(): () => void {
    const { cache } = this.#input.deps
    return lookAfterChanges({ cache, kinds: ['Node', 'NodeClaim'], everyMs: lookMs, look: () => this.#look() })
  }

  async #look(): Promise<'done' | 'due'> {
    const { deps, isLeader } = this.#input
    if (!isLeader()) return 'due'
    const found = waiting(deps)
    const due = this.#due(found)
    if (due.length > 0) {
      const isAway = !(await this.#answers())
      if (isAway && !this.#isAway)
        deps.log.warn({ nodes: due.length }, 'temporal does not answer, so the bridge registers the nodes that join')
      this.#isAway = isAway
      if (isAway) await forEachOf(due, concurrency, (each) => this.#take(each))
    }
    return found.length > 0 ? 'due' : 'done'
  }

  /** What waits for long; all that waits, while Temporal is known to be away. */
  #due(found: readonly Waiting[]): readonly Waiting[] {
    const now = this.#input.deps.now()
    const before = this.#since
    this.#since = new Map(found.map((each) => [keyOf(each), before.get(keyOf(each)) ?? now]))
    if (found.length === 0) this.#isAway = false
    return found.filter((each) => this.#isAway || now - (this.#since.get(keyOf(each)) ?? now) >= patienceMs)
  }

  async #answers(): Promise<boolean> {
    const { connection } = this.#input
    try {
      // The library counts a deadline by the clock of the machine, which may be another than the API server's.
      await connection.withDeadline(Date.now() + answerMs, () => connection.workflowService.getSystemInfo({}))
      return true
    } catch {
      return false
    }
  }

  async #take(each: Waiting): Promise<void> {
    const { deps, isLeader, onDone } = this.#input
    if (!isLeader()) return
    const { step, claim } = each
    try {
      await (step === 'registered' ? register(deps, each) : initialize(deps, each))
      onDone(step)
    } catch (error) {
      deps.log.warn({ nodeClaim: claim.metadata.name, err: error }, 'failed to register a node that joined, retrying')
    }
  }
}

function keyOf({ claim, step }: Waiting): string {
  return `${step} ${claim.metadata.uid}`
}

function waiting(deps: JoiningDeps): readonly Waiting[] {
  return [...deps.cache.nodeClaims.values()].flatMap((claim): readonly Waiting[] => {
    const { conditions } = claim.status
    if (claim.metadata.deletionTimestamp !== undefined || !isTrue(conditions, 'Launched')) return []
    const node = claimNode(deps, claim)
    if (node === undefined || node.metadata.deletionTimestamp !== undefined) return []
    if (!isTrue(conditions, 'Registered') || hasLostNode(claim, node)) return [{ claim, node, step: 'registered' }]
    if (isTrue(conditions, 'Initialized') || !initializationState(claim, node).initialized) return []
    return [{ claim, node, step: 'initialized' }]
  })
}
