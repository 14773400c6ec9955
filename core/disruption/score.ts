/** A move is worth its disruption from this score on: half as large a share of the savings as of the disruption. */
const k = 2
const balancedThreshold = 1 / k

/** How a pool sees a move. */
export interface Score {
  readonly nodePool: string
  readonly value: number
  /** The parts of the pool's cost and of its disruption that the move is about. */
  readonly savings: number
  readonly disruption: number
}

/** Returns the score of a move that saves and disrupts these parts of a pool. */
export function scoreOf(parts: Omit<Score, 'value'>): Score {
  const { savings, disruption } = parts
  const value = savings <= 0 ? 0 : disruption === 0 ? Number.POSITIVE_INFINITY : savings / disruption
  return { ...parts, value }
}

export const isApproved = ({ value }: Score) => value >= balancedThreshold

/** A score as events tell it (reference/karpenter-core.md 4.8). */
export function scoreText(score: Score): string {
  const { value, savings, disruption } = score
  const percent = (part: number) => `${(part * 100).toFixed(1)}%`
  return `score ${value.toFixed(2)} ${isApproved(score) ? '>=' : '<'} threshold ${balancedThreshold.toFixed(2)} (k: ${k}, savings ${percent(savings)}, disruption ${percent(disruption)})`
}
