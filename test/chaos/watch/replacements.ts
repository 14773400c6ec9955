import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { traceKeys } from '../../command-writes.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Scene } from '../scene.ts'
import { poolOf } from './lost-vms.ts'
import { isGoing, isTrue } from './objects-seen.ts'

/** Nodes that pods of a command's nodes are to move to. */
export class Replacements {
  readonly #scene: Scene
  /** When Nodes went, epoch ms. */
  readonly #goneMs = new Map<string, number>()

  constructor(scene: Scene) {
    this.#scene = scene
  }

  nodeGone(name: string): void {
    this.#goneMs.set(name, this.#scene.nowMs)
  }

  /**
   * Returns the replacement that is missing where a command is about to delete the first of its nodes. `knownMs`: what has been so since then everybody
   * knows, epoch ms.
   */
  lostFor(claim: Json, knownMs: number): string | undefined {
    const command = stampOf(claim)
    if (this.#hasToGo(claim)) return undefined
    const claims = this.#scene.fast.cluster.server.objects.of('nodeclaims')
    // Once one of them goes, its pods need what there is.
    if (claims.some((one) => isGoing(one) && stampOf(one) === command)) return undefined
    const lost = claims.find((one) => {
      if (metaOf(one).annotations?.[traceKeys.replacementFor] !== command) return false
      const name = nodeOf(one)
      const isKnown = (this.#goneMs.get(name) ?? Number.POSITIVE_INFINITY) < knownMs
      return !isTrue(one, 'Initialized') || (isKnown && this.#node(name) === undefined)
    })
    return lost && metaOf(lost).name
  }

  /** Whether something else than its command may delete a NodeClaim: Azure takes its VM, it lost its Node, or its NodePool goes. */
  #hasToGo(claim: Json): boolean {
    const node = this.#node(nodeOf(claim))
    const pool = this.#scene.fast.cluster.server.objects.find(`/apis/karpenter.sh/v1/nodepools/${poolOf(claim)}`)
    const isTaken = metaOf(claim).annotations?.[annotations.interrupted] !== undefined
    const isSick = node === undefined || isGoing(node) || !isTrue(node, 'Ready')
    return isTaken || isSick || pool === undefined || isGoing(pool)
  }

  #node(name: string): Json | undefined {
    return this.#scene.fast.cluster.server.objects.find(`/api/v1/nodes/${name}`)
  }
}

const stampOf = (claim: Json) => metaOf(claim).annotations?.[traceKeys.stamp]

const nodeOf = (claim: Json) => (claim['status'] as { readonly nodeName?: string } | undefined)?.nodeName ?? ''
