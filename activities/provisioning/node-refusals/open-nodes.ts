import { readyTime } from '../../../core/history/claim-facts.ts'
import type { NodeClaim, Pod } from '../../../core/objects.ts'
import { hasPromisedRoom, type MadeNode } from '../../../core/scheduling/node-verdict.ts'
import type { SchedulingPlan } from '../../../core/scheduling/snapshot.ts'
import type { MadeNodes } from './made-nodes.ts'

interface OpenNode {
  readonly node: MadeNode
  readonly readyMs: number
}

/** Nodes of which no verdict is known, for the pods of one plan: a class may have a thousand of each. */
export class OpenNodes {
  readonly #made: MadeNodes
  readonly #planned: ReadonlyMap<string, readonly Pod[]>
  readonly #byClass = new Map<string, OpenNode[]>()

  constructor(made: MadeNodes, existing: SchedulingPlan['existing']) {
    this.#made = made
    this.#planned = new Map(existing.map(({ node, pods }) => [node, pods]))
  }

  /** Returns the NodeClaim of a node that was made for a pod's class after it came, and that has room for it by its promise. `refused`: NodeClaims to leave out. */
  claimFor(pod: Pod, podClass: string, refused: readonly string[]): NodeClaim | undefined {
    const { uid, creationTimestamp } = pod.metadata
    const createdMs = Date.parse(creationTimestamp)
    const nodes = this.#byClass.get(podClass) ?? this.#openFor(podClass, refused)
    this.#byClass.set(podClass, nodes)
    for (let at = 0; at < nodes.length; ) {
      const { node, readyMs } = nodes[at] as OpenNode
      // The others were ready before it came, too.
      if (readyMs < createdMs) return undefined
      if (hasPromisedRoom(pod, node, false)) return node.claim
      // Others of the class find as much, unless it depends on the pod itself.
      const isOwn = pod.persistentVolumeClaims.length > 0 || node.pods.some(({ metadata }) => metadata.uid === uid)
      if (isOwn) at += 1
      else nodes.splice(at, 1)
    }
    return undefined
  }

  /** The last one first. */
  #openFor(podClass: string, refused: readonly string[]): OpenNode[] {
    const open = this.#made.of(podClass).flatMap((claim): readonly OpenNode[] => {
      const { name, creationTimestamp } = claim.metadata
      const { readyMs } = readyTime(claim)
      if (readyMs === undefined || refused.includes(name)) return []
      const node = this.#made.nodeOf(claim)
      if (node === undefined || this.#made.hasBound(podClass, Date.parse(creationTimestamp))) return []
      return [
        { readyMs, node: { ...node, pods: [...node.pods, ...(this.#planned.get(node.node.metadata.name) ?? [])] } },
      ]
    })
    return open.sort((a, b) => b.readyMs - a.readyMs)
  }
}
