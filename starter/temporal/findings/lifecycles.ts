import { isRunning, listRuns, type WorkflowRun } from '../../../activities/workflow-runs.ts'
import { isTrue } from '../../../core/conditions.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { lifecycleId } from '../../../core/task-queues.ts'
import { isOfThisForm } from '../../../core/workflow-forms.ts'
import { runningLifecycles } from '../../../core/workflow-queries.ts'
import { type Finding, type LookContext, unreadable } from './finding.ts'
import { ofAnotherForm } from './other-forms.ts'

/** Younger NodeClaims and runs are no differences: a planner starts the lifecycles of a plan one after the other, and lists lag by seconds. */
const youngMs = 30_000
/** Lifecycles that one look asks for by their ids, which load Temporal's database and not its lists. */
const mostDescribed = 20
/** An agreement of counts is believed for so long: one lifecycle too few and one too many have the same count. */
const agreedMs = 300_000

export interface LifecycleLookOptions {
  /** Whether it looks once and not again. Otherwise a lifecycle without a NodeClaim is one that two looks in a row find: it may be about to end. */
  readonly isOnly?: boolean
}

/**
 * Compares the lifecycles that run with the NodeClaims: by their count while nothing changes, by their names otherwise. Where Temporal's lists cannot be
 * read, that is a finding, and each look asks for a few lifecycles by their ids, in turn.
 */
export class LifecycleLook {
  readonly #context: LookContext
  readonly #isOnly: boolean
  #agreed: { readonly uids: ReadonlySet<string>; readonly untilMs: number } | undefined
  /** Lifecycles without a NodeClaim, as the look before found them. */
  #suspects: ReadonlySet<string> = new Set()
  /** The last NodeClaim that was asked for by its id. */
  #turn = ''

  constructor(context: LookContext, { isOnly = false }: LifecycleLookOptions = {}) {
    this.#context = context
    this.#isOnly = isOnly
  }

  /** Looks once; NodeClaims under way are found first. Errors: what Temporal says, other than that its lists cannot be read. */
  async look(nodeClaims: () => Iterable<NodeClaim>): Promise<readonly Finding[]> {
    const claims = [...nodeClaims()].sort((a, b) => rank(a) - rank(b))
    // A NodeClaim that went during the look had its lifecycle end.
    const missing = (gone: readonly NodeClaim[]) => {
      const left = new Set([...nodeClaims()].map(({ metadata }) => metadata.uid))
      return gone.filter(({ metadata }) => left.has(metadata.uid)).map(missingLifecycle)
    }
    try {
      if (await this.#isAgreed(claims)) return []
      const { others, gone, orphaned } = await this.#compare(claims)
      // First what is to end: a NodeClaim has no two lifecycles at a time.
      return [...others.map(ofAnotherForm), ...missing(gone), ...orphaned.map(orphan)]
    } catch (error) {
      return [unreadable('the list of lifecycles', error), ...missing(await this.#ask(claims))]
    }
  }

  async #isAgreed(claims: readonly NodeClaim[]): Promise<boolean> {
    const { client, cluster, now } = this.#context
    const { uids, untilMs } = this.#agreed ?? { uids: new Set(), untilMs: 0 }
    if (now() >= untilMs || uids.size !== claims.length || !claims.every(({ metadata }) => uids.has(metadata.uid)))
      return false
    const { namespace } = client.options
    const query = runningLifecycles(cluster)
    const { count } = await client.workflowService.countWorkflowExecutions({ namespace, query })
    return Number(count) === claims.length
  }

  async #compare(claims: readonly NodeClaim[]) {
    const { client, cluster, now } = this.#context
    const listed = new Map<string, number>()
    const others: WorkflowRun[] = []
    for await (const run of listRuns(client, runningLifecycles(cluster)))
      if (isOfThisForm(cluster, run)) listed.set(run.workflowId, run.startMs)
      else others.push(run)
    const missing = claims.filter(({ metadata }) => !listed.delete(lifecycleId(cluster, metadata)))
    const isOld = (sinceMs: number) => now() - sinceMs >= youngMs
    const orphaned = [...listed].filter(([id, startMs]) => isOld(startMs) && (this.#isOnly || this.#suspects.has(id)))
    this.#suspects = new Set(listed.keys())
    this.#agreed =
      others.length + missing.length + listed.size > 0
        ? undefined
        : { uids: new Set(claims.map(({ metadata }) => metadata.uid)), untilMs: now() + agreedMs }
    // The lifecycle of a young NodeClaim may be among those that are to end.
    const old = missing.filter(({ metadata }) => others.length > 0 || isOld(Date.parse(metadata.creationTimestamp)))
    const gone = await this.#notRunning(old, ({ metadata }) => lifecycleId(cluster, metadata))
    const ids = orphaned.map(([id]) => id)
    return { others, gone, orphaned: this.#isOnly ? await this.#running(ids) : ids }
  }

  /** Keeps those of which Temporal itself does not say that they run; where each that is asked for does, the list is what lags. */
  async #notRunning<T>(suspects: readonly T[], idOf: (suspect: T) => string): Promise<readonly T[]> {
    const { client } = this.#context
    const asked = suspects.slice(0, mostDescribed)
    const run = await Promise.all(asked.map((suspect) => isRunning(client, idOf(suspect))))
    if (run.every(Boolean)) return []
    return suspects.filter((_, at) => run[at] !== true)
  }

  async #running(ids: readonly string[]): Promise<readonly string[]> {
    const asked = ids.slice(0, mostDescribed)
    const run = await Promise.all(asked.map((id) => isRunning(this.#context.client, id)))
    return ids.filter((_, at) => run[at] !== false)
  }

  /** Asks for the next few lifecycles by their ids; nothing is found where Temporal does not answer that either. */
  async #ask(claims: readonly NodeClaim[]): Promise<readonly NodeClaim[]> {
    const { client, cluster, now } = this.#context
    const old = claims
      .filter(({ metadata }) => now() - Date.parse(metadata.creationTimestamp) >= youngMs)
      .sort((a, b) => (a.metadata.uid < b.metadata.uid ? -1 : 1))
    const first = old.findIndex(({ metadata }) => metadata.uid > this.#turn)
    const next = [...old.slice(Math.max(first, 0)), ...old.slice(0, Math.max(first, 0))].slice(0, mostDescribed)
    try {
      const run = await Promise.all(next.map(({ metadata }) => isRunning(client, lifecycleId(cluster, metadata))))
      this.#turn = next.at(-1)?.metadata.uid ?? ''
      return next.filter((_, at) => run[at] === false).sort((a, b) => rank(a) - rank(b))
    } catch {
      return []
    }
  }
}

/** What launches comes before what ends, and both before what rests. */
function rank({ metadata, status: { conditions } }: NodeClaim): number {
  if (metadata.deletionTimestamp !== undefined) return 1
  return isTrue(conditions, 'Registered') ? 2 : 0
}

function missingLifecycle({ metadata: { name } }: NodeClaim): Finding {
  return {
    object: `NodeClaim ${name}`,
    fault: 'lifecycle missing',
    remedy: 'a process with the role bridge starts it: kubectl get pods --namespace joiner',
    repair: { kind: 'start', nodeClaim: name },
  }
}

function orphan(workflowId: string): Finding {
  return {
    object: `workflow ${workflowId}`,
    fault: 'lifecycle without NodeClaim',
    remedy: 'a process with the role bridge has it end: kubectl get pods --namespace joiner',
    repair: { kind: 'poke', workflowId },
  }
}
