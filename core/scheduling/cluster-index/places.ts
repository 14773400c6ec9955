import type { Node, NodeClaim, Pod } from '../../objects.ts'
import type { SchedulableNode } from '../snapshot.ts'
import { type ClusterState, isPlace, type StateNode, schedulable } from '../state-nodes.ts'

/** Everything that a place is made from. */
interface Parts {
  readonly one: StateNode
  readonly nodePods: readonly Pod[]
  readonly claimPods: readonly Pod[]
  /** Inputs that all places share. */
  readonly common: readonly unknown[]
}

interface MadePlace extends Parts {
  readonly place: SchedulableNode
}

const noPods: readonly Pod[] = []

/** Places of the last snapshot: an unchanged one is the same object again. */
export class MadePlaces {
  /** By the Node, or by the claim of a node that has not joined. */
  #made = new Map<Node | NodeClaim | undefined, MadePlace>()

  /** Returns the places of these nodes, in their order. `podsOn`: returns the same list while its pods are unchanged. */
  of(
    known: readonly StateNode[],
    state: ClusterState,
    podsOn: (name: string) => readonly Pod[],
  ): readonly SchedulableNode[] {
    const common = [state.daemonSets, state.storage, state.csiNodes, state.instanceTypes]
    const podsOf = (named: Node | NodeClaim | undefined) => (named === undefined ? noPods : podsOn(named.metadata.name))
    const before = this.#made
    const places: SchedulableNode[] = []
    this.#made = new Map()
    for (const one of known) {
      if (!isPlace(one)) continue
      const named = one.node ?? one.claim
      const parts = { one, nodePods: podsOf(one.node), claimPods: podsOf(one.claim), common }
      let made = before.get(named)
      if (made === undefined || !isSame(made, parts)) made = { ...parts, place: schedulable(one, state) }
      this.#made.set(named, made)
      places.push(made.place)
    }
    return places
  }
}

function isSame(made: MadePlace, { one, nodePods, claimPods, common }: Parts): boolean {
  return (
    made.one.node === one.node &&
    made.one.claim === one.claim &&
    made.nodePods === nodePods &&
    made.claimPods === claimPods &&
    common.every((value, at) => value === made.common[at])
  )
}
