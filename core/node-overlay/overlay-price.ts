import type { NodeOverlay } from '../objects.ts'

/** Returns whether an overlay changes prices. */
export function changesPrice({ price, priceAdjustment }: NodeOverlay): boolean {
  return price !== undefined || priceAdjustment !== undefined
}

/** Returns an offering's price under an overlay, in USD an hour: at least 0 (reference/karpenter-core.md 3.17). A text that is no number changes nothing. */
export function overlaidPrice(price: number, overlay: NodeOverlay): number {
  const { price: fixed, priceAdjustment: adjustment } = overlay
  if (fixed !== undefined) return numberOr(fixed, price)
  if (adjustment === undefined) return price
  const changed = adjustment.endsWith('%')
    ? price * (1 + numberOr(adjustment.slice(0, -1), 0) / 100)
    : price + numberOr(adjustment, 0)
  return Math.max(0, changed)
}

function numberOr(text: string, otherwise: number): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) ? value : otherwise
}
