import { batch, type Signal, signal } from '@preact/signals'
import type { ClusterChange, ClusterView, NodeView } from '../../contract.ts'

/** The small parts of a view, which come with each change. */
export type Summary = Omit<ClusterView, 'nodes'>

export const summary = signal<Summary | undefined>(undefined)
/** What the server cannot read, a line each. */
export const missing = signal<readonly string[]>([])
/** Keys of nodes by NodePool, both in the order of their names; changes only where a node comes, goes or moves. */
export const pools = signal<readonly PoolNodes[]>([])

export interface PoolNodes {
  readonly name: string
  readonly keys: readonly string[]
}

const nodes = new Map<string, Signal<NodeView>>()

/** A node of the view. Who reads its value is drawn again when this node changes, and for no other. */
export const nodeOf = (key: string): Signal<NodeView> | undefined => nodes.get(key)

/** A node by its key, or by the name of its Node, as decisions name it. */
export const findNode = (name: string): Signal<NodeView> | undefined =>
  nodes.get(name) ?? [...nodes.values()].find((each) => each.peek().node === name)

export const allNodes = (): readonly NodeView[] => [...nodes.values()].map((node) => node.peek())

/** Takes the whole view. What is the same as before stays the same object. */
export function takeCluster({ nodes: list, ...rest }: ClusterView): void {
  const keys = new Set(list.map(({ key }) => key))
  const gone = [...nodes.keys()].filter((key) => !keys.has(key))
  takeChange({ ...rest, nodes: list, gone })
}

export function takeChange({ nodes: changed, gone, ...rest }: ClusterChange): void {
  batch(() => {
    let isMoved = gone.length > 0
    for (const key of gone) nodes.delete(key)
    for (const node of changed) {
      const known = nodes.get(node.key)
      if (known === undefined) nodes.set(node.key, signal(node))
      isMoved ||= known === undefined || known.peek().nodePool !== node.nodePool
      if (known !== undefined) known.value = node
    }
    summary.value = rest
    if (isMoved) pools.value = sorted()
  })
}

function sorted(): readonly PoolNodes[] {
  const byPool = Map.groupBy(allNodes(), ({ nodePool = '' }) => nodePool)
  return (
    [...byPool]
      .map(([name, list]) => ({
        name,
        keys: list.toSorted((a, b) => a.createdMs - b.createdMs || compare(a.key, b.key)).map(({ key }) => key),
      }))
      // Nodes of nobody come last.
      .toSorted((a, b) => Number(a.name === '') - Number(b.name === '') || compare(a.name, b.name))
  )
}

const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b))
