import { assert, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Node, Pod } from '../../core/objects.ts'
import { untolerated } from '../../core/taints.ts'
import { hasNodeAffinity } from '../fast/kubernetes/controllers/scheduler/node-affinity.ts'
import type { Place } from '../fast/kubernetes/controllers/scheduler/places.ts'
import { spreadRefusal } from '../fast/kubernetes/controllers/scheduler/topology.ts'
import { schedule } from '../samples/schedule.ts'
import { plentifulTypes, type SpreadCluster, scarceTypes, snapshotOf, spreadClusters } from './random-spreads.ts'
import { everyNewNode, nodeOfClaim } from './spread-nodes.ts'

const clusters = Number(process.env['CLUSTERS'] ?? 300)
const place = (node: Node, pods: readonly Pod[] = []): Place => ({ node, pods: [...pods], free: {} })
const refuses = (pod: Pod, there: Place, all: readonly Place[]) =>
  spreadRefusal(pod, there, { all, namespaceLabels: new Map() })

interface Planned {
  /** In the order in which they were placed. */
  readonly placed: readonly { readonly pod: Pod; readonly place: Place }[]
  readonly left: readonly Pod[]
  /** The Nodes of the cluster and of the plan, with what runs there before the plan. */
  readonly places: readonly Place[]
}

function planned(cluster: SpreadCluster): Planned {
  const order: Pod[] = []
  const inHand = (pod: Pod | undefined) => {
    if (pod !== undefined) order.push(pod)
  }
  const { newNodeClaims, existing, unschedulable } = schedule(snapshotOf(cluster), { inHand })
  const nodes = new Map(cluster.nodes.map((node) => [node.metadata.name, place(node)]))
  for (const pod of cluster.running) nodes.get(pod.nodeName as string)?.pods.push(pod)
  const claims = newNodeClaims.map((claim, at) => place(nodeOfClaim(`claim-${at}`, claim, cluster)))
  const on = (there: Place | undefined, pods: readonly Pod[]) => pods.map((pod) => ({ pod, place: there as Place }))
  const placed = [
    ...newNodeClaims.flatMap(({ pods }, at) => on(claims[at], pods)),
    ...existing.flatMap(({ node, pods }) => on(nodes.get(node), pods)),
  ]
  return {
    placed: placed.sort((a, b) => order.lastIndexOf(a.pod) - order.lastIndexOf(b.pod)),
    left: unschedulable.map(({ pod }) => pod),
    places: [...nodes.values(), ...claims],
  }
}

/** Places the pods one after the other, as kube-scheduler binds them. Returns the first that its rule refuses. */
function firstRefused({ placed, places }: Planned): string | undefined {
  for (const { pod, place: there } of placed) {
    const refusal = refuses(pod, there, places)
    if (refusal !== undefined) return `${pod.metadata.name} on ${there.node.metadata.name}: ${refusal}`
    there.pods.push(pod)
  }
  return undefined
}

const mayUse = (pod: Pod, { node }: Place) =>
  hasNodeAffinity(pod, node) && untolerated(node.taints, pod.tolerations).length === 0

describe("kube-scheduler's rule for spreads", () => {
  it('accepts every placement, in their order, over the nodes as planned', { timeout: 60_000 }, () => {
    let placements = 0
    const isAccepted = (cluster: SpreadCluster) => {
      const all = planned(cluster)
      expect(firstRefused(all)).toBeUndefined()
      placements += all.placed.length
    }
    assert(property(spreadClusters(scarceTypes), isAccepted), { numRuns: clusters })
    assert(property(spreadClusters(plentifulTypes), isAccepted), { numRuns: clusters })
    expect(placements).toBeGreaterThan(clusters)
  })

  it('refuses each pod that is left, on every node that pools can make, were there one of each kind', {
    timeout: 60_000,
  }, () => {
    let left = 0
    assert(
      property(spreadClusters(plentifulTypes), (cluster) => {
        const all = planned(cluster)
        firstRefused(all)
        const made = everyNewNode(cluster).map((node) => place(node))
        const accepted = all.left.filter((pod) =>
          made.some((one) => mayUse(pod, one) && refuses(pod, one, [...all.places, ...made]) === undefined),
        )
        expect(accepted.map(({ metadata }) => metadata.name)).toEqual([])
        left += all.left.length
      }),
      { numRuns: clusters },
    )
    expect(left).toBeGreaterThan(clusters / 10)
  })
})
