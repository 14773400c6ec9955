import type { Connection } from '@temporalio/client'
import { decodeNodeClaim } from '../../../activities/kubernetes/cache/decode.ts'
import { phaseOf } from '../../../core/node-claim/phase.ts'
import { lifecycleKey } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { findLifecycles } from '../../../starter/picture/lifecycles.ts'
import type { Scene } from '../scene.ts'

/** How far a list may be behind: a lifecycle that nothing wakes looks at its NodeClaim each five minutes. */
const mostBehindMs = 7 * 60_000

/** Holds what `joiner node list` reads of lifecycles, which phase a node is in and that it is there, against the NodeClaims that there are then. */
export class LifeAccounts {
  readonly #scene: Scene
  /** Since when something has been said that is not so, by its words. */
  #untrue = new Map<string, number>()

  constructor(scene: Scene) {
    this.#scene = scene
  }

  /** Something is wrong that a list may not have caught up with. */
  forget(): void {
    this.#untrue.clear()
  }

  /** Returns what has not been so for too long. */
  async look(): Promise<readonly string[]> {
    const { fast, world, nowMs } = this.#scene
    const client = world.temporal
    const connection = client.connection as Connection
    const access = { client, connection, address: '', namespace: client.options.namespace, cluster: clusterName }
    const lives = await findLifecycles(access)
    const claims = new Map(
      fast.cluster.server.objects
        .of('nodeclaims')
        .map(decodeNodeClaim)
        .map((claim) => [lifecycleKey(claim.metadata), phaseOf(claim).phase]),
    )
    const untrue = lives.flatMap((life) => {
      const phase = claims.get(lifecycleKey(life))
      if (phase === undefined) return [`${life.name} is said to be ${life.phase}, and its NodeClaim is gone`]
      return isSame(life.phase, phase) ? [] : [`${life.name} is said to be ${life.phase}, and is ${phase}`]
    })
    this.#scene.count('accounts of lifecycles')
    this.#untrue = new Map(untrue.map((what) => [what, this.#untrue.get(what) ?? nowMs]))
    return untrue.filter((what) => nowMs - (this.#untrue.get(what) ?? nowMs) > mostBehindMs)
  }
}

/** Search attributes tell nodes that come, nodes that are ready and nodes that go. A lifecycle that began without them says nothing. */
function isSame(said: string, phase: string): boolean {
  if (said === 'Unknown') return true
  const isGoing = phase === 'Draining' || phase === 'Terminating'
  return isGoing === (said === 'Draining') && (said !== 'Launching' || phase !== 'Ready')
}
