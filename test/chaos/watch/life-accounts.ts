import { lifecycleKey } from '../../../core/task-queues.ts'
import { nodeRows } from '../../../starter/cli/node/report.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Scene } from '../scene.ts'
import { nodeFactsOf } from './answers.ts'
import { mostBehindMs, rowUntruths, runningIds } from './row-untruths.ts'
import { everyNth, Lasting, type Untruth } from './wrong.ts'

/** Holds what `joiner node list` says at a time of all nodes against the objects that there are then. */
export class LifeAccounts {
  readonly #scene: Scene
  readonly #lasting = new Lasting()

  constructor(scene: Scene) {
    this.#scene = scene
  }

  /** Something is wrong that a list may not have caught up with. */
  forget(): void {
    this.#lasting.keep([])
  }

  /** Returns what has not been so for too long. */
  async look(): Promise<readonly string[]> {
    if (!this.#lasting.isDue(everyNth.list)) return []
    const { facts } = await nodeFactsOf(this.#scene)
    const rows = nodeRows(facts, this.#scene.nowMs)
    const running = runningIds(this.#scene)
    const listed = rows.map(({ nodeClaim }) => nodeClaim)
    const missing = this.#scene.fast.cluster.server.objects
      .of('nodeclaims')
      .map((claim) => metaOf(claim).name)
      .filter((name) => !listed.includes(name))
    this.#scene.count('accounts of lifecycles')
    const untrue: readonly Untruth[] = [
      ...missing.map((name) => ({ what: `nothing is said of ${name}`, mostMs: 0 })),
      ...rows.flatMap((row) => rowUntruths(this.#scene, row, running)),
      // Which of them are asked what they do follows from it.
      ...(facts.lifecycles ?? []).flatMap((life) => {
        const row = rows.find(({ workflowId }) => workflowId === life.workflowId)
        const isUntrue = row !== undefined && life.phase !== 'Unknown' && !isListedAs(life.phase, row.phase)
        const what = `${lifecycleKey(life)} has the search attribute ${life.phase}, and is ${row?.phase}`
        return isUntrue ? [{ what, mostMs: mostBehindMs }] : []
      }),
    ]
    return this.#lasting.look('list', untrue, this.#scene.nowMs)
  }
}

/** Search attributes tell nodes that come, nodes that are ready and nodes that go. */
function isListedAs(said: string, phase: string): boolean {
  const isLeaving = phase === 'Draining' || phase === 'Terminating'
  return isLeaving === (said === 'Draining') && (said !== 'Launching' || phase !== 'Ready')
}
