/** A launch that failed after Azure had accepted its VM, in a way that names no cause. */
export interface UnexplainedFailure {
  readonly nodeClass: string
  readonly instanceType: string
  /** `failed`: the VM failed. `notRegistered`: it ran, and its Node did not join in time. */
  readonly kind: 'failed' | 'notRegistered'
  /** What failures that are alike have in common, such as Azure's code. */
  readonly signature: string
}

/**
 * What follows from a failure. `counted`: nothing yet. `mark`: the size does not work and is to be marked. `common`: sizes fail alike, so the cause is
 * not theirs: their marks are to be removed.
 */
export type Verdict =
  | { readonly kind: 'counted' }
  | { readonly kind: 'mark' }
  | { readonly kind: 'common'; readonly sizes: readonly string[]; readonly isNew: boolean }

/** What follows from a success: sizes whose marks may come of a cause that is over, and whether a common cause has ended. */
export interface Recovery {
  readonly cleared: readonly string[]
  readonly ended: boolean
}

/** Failures of one class that are alike, since the last success. */
interface Series {
  readonly nodeClass: string
  readonly kind: UnexplainedFailure['kind']
  readonly signature: string
  /** How often each size failed. */
  readonly sizes: Map<string, number>
  isCommon: boolean
}

/** Between two launches of a class whose failures have a common cause. */
interface Pace {
  waitMs: number
  nextAtMs: number
}

/** How many equal failures of one size mark it. A Node that does not join takes 15 minutes, so it counts for more. */
const failuresOfSize = { failed: 3, notRegistered: 2 } as const
const refusalsOfSize = 3
const failuresOfImage = 2
const sizesInCommon = 3
const firstWaitMs = 2000
const longestWaitMs = 30_000

/**
 * Tells a size that does not work from a cause that all sizes share, by failures that name neither. When three sizes fail alike without a success
 * between, the cause is common: no size is blamed, and launches of the class go on one at a time. Kept in the memory of one process.
 */
export class LaunchHealth {
  readonly #now: () => number
  readonly #series = new Map<string, Series>()
  readonly #paces = new Map<string, Pace>()
  /** How many VMs with an image failed or did not join, by class and image. */
  readonly #images = new Map<string, number>()
  /** How often Azure refused a size for what may pass by itself, by class, size and code. */
  readonly #refusals = new Map<string, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Counts a failure. */
  failed({ nodeClass, instanceType, kind, signature }: UnexplainedFailure): Verdict {
    const key = `${nodeClass}/${kind}/${signature}`
    const series = this.#series.get(key) ?? { nodeClass, kind, signature, sizes: new Map(), isCommon: false }
    this.#series.set(key, series)
    const count = (series.sizes.get(instanceType) ?? 0) + 1
    series.sizes.set(instanceType, count)
    if (series.sizes.size >= sizesInCommon) {
      const isNew = !series.isCommon
      series.isCommon = true
      this.#slowDown(nodeClass)
      return { kind: 'common', sizes: [...series.sizes.keys()], isNew }
    }
    return count >= failuresOfSize[kind] ? { kind: 'mark' } : { kind: 'counted' }
  }

  /** Counts a refusal that may pass by itself. Returns whether it is to be taken for one that does not. */
  refusedAgain(nodeClass: string, instanceType: string, signature: string): boolean {
    const key = `${nodeClass}/${instanceType}/${signature}`
    const count = (this.#refusals.get(key) ?? 0) + 1
    this.#refusals.set(key, count)
    return count >= refusalsOfSize
  }

  /** Counts a VM that failed or did not join with an image that no node has proved yet. Returns whether the image is to be marked. */
  failedOnTrial(nodeClass: string, image: string): boolean {
    const key = imageKey(nodeClass, image)
    const count = (this.#images.get(key) ?? 0) + 1
    this.#images.set(key, count)
    if (count < failuresOfImage) return false
    this.#images.delete(key)
    return true
  }

  /**
   * Records that Azure took a VM of a class (`accepted`), or that its Node joined (`registered`). Where several sizes had failed before, what they had in
   * common may be over, so they are offered again.
   */
  succeeded(nodeClass: string, stage: 'accepted' | 'registered'): Recovery {
    for (const key of this.#refusals.keys()) if (key.startsWith(`${nodeClass}/`)) this.#refusals.delete(key)
    if (stage === 'accepted') return { cleared: [], ended: false }
    const over = [...this.#series].filter(([, series]) => series.nodeClass === nodeClass)
    for (const [key] of over) this.#series.delete(key)
    const ended = over.some(([, series]) => series.isCommon)
    if (ended && this.commonCause(nodeClass) === undefined) this.#paces.delete(nodeClass)
    return { cleared: over.flatMap(([, { sizes }]) => (sizes.size > 1 ? [...sizes.keys()] : [])), ended }
  }

  /** What launches of a class have failed of on all sizes, since the last success. */
  commonCause(nodeClass: string): { readonly signature: string; readonly sizes: readonly string[] } | undefined {
    const found = [...this.#series.values()].find((series) => series.nodeClass === nodeClass && series.isCommon)
    return found && { signature: found.signature, sizes: [...found.sizes.keys()] }
  }

  /** How long the next launch of a class has to wait, in milliseconds. */
  waitMs(nodeClass: string): number {
    return Math.max(0, (this.#paces.get(nodeClass)?.nextAtMs ?? 0) - this.#now())
  }

  /** Takes the turn of a launch. Returns how long to wait before asking again, in milliseconds; 0: go on. */
  takeTurn(nodeClass: string): number {
    const pace = this.#paces.get(nodeClass)
    if (pace === undefined) return 0
    const now = this.#now()
    if (now < pace.nextAtMs) return pace.nextAtMs - now
    pace.nextAtMs = now + pace.waitMs
    return 0
  }

  #slowDown(nodeClass: string): void {
    const pace = this.#paces.get(nodeClass) ?? { waitMs: firstWaitMs / 2, nextAtMs: 0 }
    pace.waitMs = Math.min(pace.waitMs * 2, longestWaitMs)
    pace.nextAtMs = this.#now() + pace.waitMs
    this.#paces.set(nodeClass, pace)
  }
}

const imageKey = (nodeClass: string, image: string) => `${nodeClass} ${image.toLowerCase()}`
