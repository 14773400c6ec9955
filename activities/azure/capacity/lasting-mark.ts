// Marks that last longer each time: of sizes, and of node images.
import {
  forgottenAtMs,
  type ImageMark,
  imageKey,
  type Mark,
  type Marks,
  type SizeMark,
  type SizeUse,
  sizeKey,
} from './mark.ts'

const hour = 60 * 60_000
const lasting = {
  size: { firstMs: hour, longestMs: 24 * hour },
  // Another trial of an image costs a node that does not join, so it is tried once a day.
  image: { firstMs: 24 * hour, longestMs: 7 * 24 * hour },
}

/** A size that does not work, and why. */
export interface RefusedSize extends SizeUse {
  readonly instanceType: string
  readonly reason: string
  readonly cause: string
}

/** A node image that does not work for an AKSNodeClass, and why. */
export type RefusedImage = Pick<ImageMark, 'image' | 'nodeClass' | 'reason'> & { readonly cause: string }

/** The mark of a size: for an hour, and for twice as long, at most 24 hours, when an earlier mark is remembered. */
export function sizeMark(marks: Marks, size: RefusedSize, nowMs: number): SizeMark {
  const lastsMs = lastsFor('size', marks.get(sizeKey(size.instanceType, size)), nowMs)
  return { kind: 'size', ...size, lastsMs, untilMs: nowMs + lastsMs }
}

/** The mark of an image: for a day, and for twice as long, at most a week, when an earlier mark is remembered. */
export function imageMark(marks: Marks, image: RefusedImage, nowMs: number): ImageMark {
  const lastsMs = lastsFor('image', marks.get(imageKey(image.image, image.nodeClass)), nowMs)
  return { kind: 'image', ...image, lastsMs, untilMs: nowMs + lastsMs }
}

function lastsFor(kind: keyof typeof lasting, before: Mark | undefined, nowMs: number): number {
  const { firstMs, longestMs } = lasting[kind]
  if (before === undefined || !('lastsMs' in before) || forgottenAtMs(before) <= nowMs) return firstMs
  // Several launches may be refused at the same time, for one reason.
  return before.untilMs > nowMs ? before.lastsMs : Math.min(before.lastsMs * 2, longestMs)
}
