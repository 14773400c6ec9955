import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { disruptionCommandId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { traceKeys } from '../../command-writes.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Run } from '../../fast/temporal/run.ts'
import type { Scene } from '../scene.ts'
import { poolOf } from './lost-vms.ts'
import { cpuOf, isGoing, isTrue, requestedCpu } from './objects-seen.ts'
import { actMs, staleMs } from './wrong.ts'

/** Looks for NodePools that get more than their limits. */
export class Limits {
  readonly #scene: Scene
  readonly #note: (what: string) => void
  /** NodeClaims that were made over the number of nodes that a static NodePool may have, by UID. */
  readonly #overLimit = new Map<string, string>()

  constructor(scene: Scene, note: (what: string) => void) {
    this.#scene = scene
    this.#note = note
  }

  /**
   * A process that stood still while its POST was under way makes a NodeClaim that another one knows nothing of. It takes it back before there is a VM:
   * that was no node.
   */
  look(claims: readonly Json[], ofVms: ReadonlySet<string | undefined>): void {
    for (const [uid, what] of this.#overLimit) {
      const claim = claims.find((one) => metaOf(one).uid === uid)
      if (ofVms.has(uid) || (claim !== undefined && !isGoing(claim))) this.#note(what)
      if (claim === undefined || ofVms.has(uid)) this.#overLimit.delete(uid)
    }
  }

  /**
   * Looks at the limit of a NodePool that gets another NodeClaim. Until its launch a NodeClaim counts with what its pods request, so that sizes that are
   * larger exceed the limit later (docs/placement.md). Nodes that go, or are to be replaced, are no part of a run and count for no limit
   * (reference/karpenter-core.md 3.6).
   */
  made(made: Json): void {
    const pool = poolOf(made)
    const claims = this.#claims().filter((claim) => poolOf(claim) === pool)
    const rules = this.#scene.rulesSince(pool, this.#scene.nowMs - staleMs)
    const most = rules.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...rules.map(({ cpuLimit }) => cpuLimit))
    const mostNodes =
      rules.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...rules.map(({ nodeLimit }) => nodeLimit))
    if (claims.length > mostNodes)
      this.#overLimit.set(metaOf(made).uid, `${pool} has ${claims.length} nodes of ${mostNodes}`)
    // What was made in place of a node that stays after all is over the limit: its command ended before it was done.
    const undone = new Set(
      this.#scene.fast.temporal.runs.filter(hasEndedUndone).map(({ identity }) => identity.workflowId),
    )
    const isSecond = (claim: Json) => {
      const { [traceKeys.replacementFor]: command = '' } = metaOf(claim).annotations ?? {}
      return undone.has(disruptionCommandId(clusterName, command))
    }
    // The machines of NodeClaims that are made again are there already.
    const isAdopted = (claim: Json) => metaOf(claim).annotations?.['joiner.sh/adopted-from'] !== undefined
    const staying = claims.filter(
      (claim) => !isGoing(claim) && !isTrue(claim, 'DisruptionReason') && !isSecond(claim) && !isAdopted(claim),
    )
    // The plan may have been held to the limit before the launch.
    const launchedMs = this.#scene.nowMs - actMs
    const cpus = staying.reduce((sum, claim) => {
      const own = isTrue(claim, 'Launched', launchedMs) ? cpuOf(claim) : undefined
      return sum + (own ?? requestedCpu(claim))
    }, 0)
    if (cpus > most) this.#note(`${pool} has ${cpus} vCPUs of ${most}`)
  }

  #claims(): readonly Json[] {
    return this.#scene.fast.cluster.server.objects.of('nodeclaims')
  }
}

/** A disruption command that ended without its nodes. */
const hasEndedUndone = ({ identity, status, result }: Run) =>
  identity.workflowType === 'disruptionCommand' &&
  status !== 'running' &&
  (result as { readonly outcome?: string } | null | undefined)?.outcome !== 'done'
