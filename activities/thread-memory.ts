import type { ResourceLimits } from 'node:worker_threads'

/**
 * Most memory of a thread's young objects, in MiB; the image's `--max-semi-space-size` gives as much. At its heap limit Node leaves a thread some
 * 16 MiB to end in. A collection that moves more than that out of the young objects ends the whole process, as it did with Node's default.
 */
const youngMiB = 48

/** Limits of a thread that ends alone, with `ERR_WORKER_OUT_OF_MEMORY`, when its heap is full. */
export function threadMemory(heapMiB: number): ResourceLimits {
  return { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: Math.min(youngMiB, heapMiB / 4) }
}
