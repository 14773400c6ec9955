import type { NodePool } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'
import { shortened } from '../values/texts.ts'

const factor = /^\d{1,6}(\.\d{1,6})?$/

/**
 * Returns how many times the cheapest offering's price a node of the pool may cost after a lack of capacity; undefined without a bound. A value that is none
 * is reported by `fallbackPriceErrors`.
 */
export function maxFallbackPriceFactor({ metadata }: Pick<NodePool, 'metadata'>): number | undefined {
  const text = metadata.annotations[annotations.maxFallbackPriceFactor]
  if (text === undefined || !factor.test(text)) return undefined
  const value = Number(text)
  return value >= 1 ? value : undefined
}

/** Returns the error of the annotation, in a list. */
export function fallbackPriceErrors(metadata: NodePool['metadata']): readonly string[] {
  const text = metadata.annotations[annotations.maxFallbackPriceFactor]
  if (text === undefined || maxFallbackPriceFactor({ metadata }) !== undefined) return []
  return [
    `metadata.annotations[${annotations.maxFallbackPriceFactor}] ${JSON.stringify(shortened(text))} is not a number from 1 on; write one such as "3", or remove the annotation`,
  ]
}
