import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { holdOf } from '../../../core/node-claim/hold.ts'
import { type LoopName, storedPauses } from '../../../core/pauses/pauses.ts'
import type { ApiServer } from '../../fast/kubernetes/api/api-server.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'

const pausesPath = '/api/v1/namespaces/joiner/configmaps/joiner-pauses'

/** What operators have asked to be left alone, and since when. */
export class Brakes {
  readonly #server: ApiServer
  /** By what is held, protected or paused: the UID of a NodeClaim or pod, or the name of a loop. */
  readonly #since = new Map<string, number>()

  constructor(server: ApiServer) {
    this.#server = server
  }

  /** Looks at what is in force. */
  look(nowMs: number): void {
    const inForce = new Set<string>(
      (['provisioning', 'disruption'] as const).filter((loop) => this.#isPaused(loop, nowMs)),
    )
    for (const claim of this.#server.objects.of('nodeclaims')) if (isHeld(claim, nowMs)) inForce.add(metaOf(claim).uid)
    for (const pod of this.#server.objects.of('pods')) if (isProtected(pod)) inForce.add(metaOf(pod).uid)
    for (const key of this.#since.keys()) if (!inForce.has(key)) this.#since.delete(key)
    for (const key of inForce) if (!this.#since.has(key)) this.#since.set(key, nowMs)
  }

  /** Whether a loop has been paused since then, as far as was looked, and still is. */
  isPaused(loop: LoopName, sinceMs: number, nowMs: number): boolean {
    return (this.#since.get(loop) ?? Number.POSITIVE_INFINITY) <= sinceMs && this.#isPaused(loop, nowMs)
  }

  #isPaused(loop: LoopName, nowMs: number): boolean {
    const { data = {} } = (this.#server.objects.find(pausesPath) ?? {}) as {
      readonly data?: Readonly<Record<string, string>>
    }
    return storedPauses(data, loop, nowMs).inForce.length > 0
  }

  /** Whether a pod has been protected since then, and still is. */
  isProtected(pod: Json, sinceMs: number): boolean {
    return (this.#since.get(metaOf(pod).uid) ?? Number.POSITIVE_INFINITY) <= sinceMs && isProtected(pod)
  }

  /** Whether a NodeClaim has been held since then, and still is. */
  isHeld(claim: Json, sinceMs: number, nowMs: number): boolean {
    const since = this.#since.get(metaOf(claim).uid) ?? Number.POSITIVE_INFINITY
    return since <= sinceMs && isHeld(claim, nowMs)
  }
}

/** Whether somebody has asked that a pod is not disrupted. */
const isProtected = (pod: Json) => metaOf(pod).annotations?.['karpenter.sh/do-not-disrupt'] === 'true'

/** Whether somebody holds a NodeClaim. */
export function isHeld(claim: Json, nowMs: number): boolean {
  const { annotations = {} } = metaOf(claim)
  return holdOf({ metadata: { annotations } } as unknown as Parameters<typeof holdOf>[0], nowMs) !== undefined
}
