/** The lowest score at which a move is worth its disruption: its share of the savings is half its share of the disruption. */
const k = 2
const balancedThreshold = 1 / k

/** Score of a move for one pool. */
export interface Score {
  readonly nodePool: string
  readonly value: number
  /** The move's shares of the pool's cost and of its disruption. */
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

/** Returns a score as events show it (reference/karpenter-core.md 4.8). */
export function scoreText(score: Score): string {
  const { value, savings, disruption } = score
  const percent = (part: number) => `${(part * 100).toFixed(1)}%`
  return `score ${value.toFixed(2)} ${isApproved(score) ? '>=' : '<'} threshold ${balancedThreshold.toFixed(2)} (k: ${k}, savings ${percent(savings)}, disruption ${percent(disruption)})`
}
