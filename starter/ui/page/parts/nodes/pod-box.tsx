import type { NodeView } from '../../../contract.ts'
import { placePods, podPaths } from './pod-layout.ts'

interface Props {
  readonly node: NodeView
  readonly width: number
  readonly height: number
}

/** A node's pods as boxes within the node's box; what is empty is free. The card's own name tells their number. */
export function PodBoxes({ node, width, height }: Props) {
  return (
    <svg
      class="pods"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      data-pods={node.pods.length}
    >
      {podPaths(placePods(node, width, height)).map(([style, path]) => (
        <path key={style} class={style} d={path} />
      ))}
    </svg>
  )
}
