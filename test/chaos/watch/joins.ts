import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Scene } from '../scene.ts'

/**
 * For how long a VM that cannot join may be there: who waits for its Node asks two minutes after the launch and each half minute from then on, the
 * next try makes room, and each of its requests to Azure may take a minute.
 */
const mostMs = 5 * 60_000
/** The same for one of a NodeClaim that is made again for it: which token it holds nothing says then, and its registration takes too long. */
const mostAdoptedMs = 20 * 60_000

/** VMs that the API server refuses. */
export class Joins {
  readonly #scene: Scene
  /** For how long each has been there while Joiner could do something about it. */
  readonly #refused = new Map<string, number>()

  constructor(scene: Scene) {
    this.#scene = scene
  }

  /**
   * Returns the VMs of NodeClaims that stay though they cannot join. `claims`: NodeClaims that are not being deleted. `actedMs`: the time since the last
   * look in which Joiner could act.
   */
  look(claims: readonly Json[], actedMs: number): readonly string[] {
    const refused = new Set(this.#scene.fast.azure.refused)
    for (const name of this.#refused.keys()) if (!refused.has(name)) this.#refused.delete(name)
    for (const name of refused) this.#refused.set(name, (this.#refused.get(name) ?? -actedMs) + actedMs)
    return claims
      .filter((claim) => {
        const { name, annotations: own = {} } = metaOf(claim)
        return (this.#refused.get(`aks-${name}`) ?? 0) >= (annotations.adoptedFrom in own ? mostAdoptedMs : mostMs)
      })
      .map((claim) => `aks-${metaOf(claim).name}`)
  }
}
