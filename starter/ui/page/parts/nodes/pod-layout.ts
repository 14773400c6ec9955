import type { NodeView } from '../../../contract.ts'

type PodBox = NodeView['pods'][number]

/** Pods that are drawn alike. */
export type PodStyle = 'work' | 'daemon' | 'leaving' | 'held'

interface Rectangle {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface PlacedPod extends Rectangle {
  readonly pod: PodBox
}

/** A pod that asks for nothing is still seen. */
const leastShare = 0.008

/**
 * Places a node's pods in a box from the left: each pod's area is the larger of its shares of cores and memory, so what stays empty is free. The
 * largest come first, and each is as square as can be (Bruls et al., squarified treemaps).
 */
export function placePods(node: NodeView, width: number, height: number): readonly PlacedPod[] {
  const shares = node.pods
    .map((pod) => ({
      pod,
      share: Math.max(leastShare, shareOf(pod[1], node.allocatable.cpu), shareOf(pod[2], node.allocatable.memory)),
    }))
    .toSorted((a, b) => b.share - a.share)
  const total = shares.reduce((sum, { share }) => sum + share, 0)
  const scale = (width * height) / Math.max(1, total)
  const placed: PlacedPod[] = []
  let free: Rectangle = { x: 0, y: 0, width: width * Math.min(1, total), height }
  let at = 0
  while (at < shares.length) {
    const side = Math.min(free.width, free.height)
    let end = at + 1
    let area = (shares[at]?.share ?? 0) * scale
    let worst = ratio({ area, largest: area, smallest: area, side })
    for (; end < shares.length; end += 1) {
      const next = (shares[end]?.share ?? 0) * scale
      const wider = ratio({ area: area + next, largest: (shares[at]?.share ?? 0) * scale, smallest: next, side })
      if (wider > worst) break
      worst = wider
      area += next
    }
    free = placeRow({ row: shares.slice(at, end), area, scale, free, placed })
    at = end
  }
  return placed
}

const shareOf = (part: number, whole: number) => (whole > 0 ? part / whole : 0)

/** How far from a square the worst of a row is. */
function ratio({ area, largest, smallest, side }: Readonly<Record<'area' | 'largest' | 'smallest' | 'side', number>>) {
  return Math.max((side * side * largest) / (area * area), (area * area) / (side * side * smallest))
}

interface Row {
  readonly row: readonly { readonly pod: PodBox; readonly share: number }[]
  readonly area: number
  readonly scale: number
  readonly free: Rectangle
  readonly placed: PlacedPod[]
}

/** Places a row along the shorter side, and returns what is left of the box. */
function placeRow({ row, area, scale, free, placed }: Row): Rectangle {
  const isColumn = free.width >= free.height
  const depth = area / (isColumn ? free.height : free.width)
  let offset = 0
  for (const { pod, share } of row) {
    const length = (share * scale) / depth
    placed.push(
      isColumn
        ? { pod, x: free.x, y: free.y + offset, width: depth, height: length }
        : { pod, x: free.x + offset, y: free.y, width: length, height: depth },
    )
    offset += length
  }
  return isColumn
    ? { x: free.x + depth, y: free.y, width: free.width - depth, height: free.height }
    : { x: free.x, y: free.y + depth, width: free.width, height: free.height - depth }
}

export function styleOf([, , , mark]: PodBox): PodStyle {
  if (mark === 't') return 'leaving'
  if (mark === 'h') return 'held'
  return mark === undefined ? 'work' : 'daemon'
}

/** One path for all pods of a style, so that a node costs a handful of elements however many pods it has. */
export function podPaths(placed: readonly PlacedPod[]): readonly (readonly [style: PodStyle, path: string])[] {
  const byStyle = Map.groupBy(placed, ({ pod }) => styleOf(pod))
  return [...byStyle].map(([style, list]) => [style, list.map(boxPath).join('')] as const)
}

function boxPath({ x, y, width, height }: Rectangle): string {
  const gap = Math.min(1, width / 4, height / 4)
  const w = round(width - gap)
  return `M${round(x + gap / 2)} ${round(y + gap / 2)}h${w}v${round(height - gap)}h-${w}z`
}

const round = (value: number) => Math.round(value * 10) / 10
