/** What a bucket holds: filled steadily, or whole again at the end of each window. */
export type BucketLimit =
  | {
      /** Requests that may come at once. */
      readonly tokens: number
      readonly refillPerMinute: number
    }
  | { readonly tokens: number; readonly windowSeconds: number }

/**
 * Azure's documented limits for one subscription, principal and region (reference/azure-limits.md 1;
 * https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling,
 * https://learn.microsoft.com/azure/virtual-machines/compute-throttling-limits,
 * https://learn.microsoft.com/azure/governance/resource-graph/concepts/guidance-for-throttled-requests).
 * `...PerVm` are held for each VM, `getOperationPerOperation` for each operation.
 */
export const documentedLimits = {
  armReads: { tokens: 250, refillPerMinute: 1500 },
  armWrites: { tokens: 200, refillPerMinute: 600 },
  armDeletes: { tokens: 200, refillPerMinute: 600 },
  createVm: { tokens: 1500, refillPerMinute: 500 },
  updateVm: { tokens: 1500, refillPerMinute: 500 },
  deleteVm: { tokens: 1500, refillPerMinute: 500 },
  getVm: { tokens: 24_000, refillPerMinute: 8000 },
  listVms: { tokens: 900, refillPerMinute: 300 },
  getOperation: { tokens: 15_000, refillPerMinute: 5000 },
  createPerVm: { tokens: 12, refillPerMinute: 4 },
  updatePerVm: { tokens: 12, refillPerMinute: 4 },
  deletePerVm: { tokens: 12, refillPerMinute: 4 },
  getOperationPerOperation: { tokens: 45, refillPerMinute: 15 },
  networkReads: { tokens: 10_000, windowSeconds: 300 },
  networkWrites: { tokens: 1000, windowSeconds: 300 },
  resourceGraph: { tokens: 15, windowSeconds: 5 },
} as const satisfies Readonly<Record<string, BucketLimit>>

export type BucketName = keyof typeof documentedLimits

/** Which buckets there are. Own numbers: only those that are named hold requests back. */
export type ThrottlingSetting = 'off' | 'documented' | { readonly [Name in BucketName]?: BucketLimit }

/** What happened at a bucket since throttling was set or the counts were cleared. */
export interface BucketCounts {
  taken: number
  refused: number
  /** Requests that came before the Retry-After of the bucket's last refusal had passed, of whatever caller. */
  early: number
  /** Of those, repetitions of a request that was itself refused: same method, same path. */
  earlyRetries: number
}

/** A bucket as one request meets it. */
export interface BucketUse {
  readonly name: BucketName
  /** Which VM or operation, where there is a bucket for each. */
  readonly of?: string
}

type Answer = { readonly kind: 'taken'; readonly headers: Readonly<Record<string, string>> } | Refused

/** The bucket that is empty, and when there is a token again. */
export interface Refused {
  readonly kind: 'refused'
  readonly bucket: BucketName
  readonly limit: BucketLimit
  readonly retryAfterSeconds: number
  readonly headers: Readonly<Record<string, string>>
}

interface Bucket {
  tokens: number
  /** When tokens were last filled up, or the window began. */
  sinceMs: number
  /** Until when callers were told to wait. */
  retryAtMs: number
}

/** Refusals of single requests are remembered up to this many; the oldest go first. */
const rememberedRefusals = 20_000

/** Token buckets of a subscription. Nothing is taken from any bucket for a request that one of them refuses. */
export class Throttling {
  readonly #limits: { readonly [Name in BucketName]?: BucketLimit }
  readonly #buckets = new Map<string, Bucket>()
  readonly #counts = new Map<BucketName, BucketCounts>()
  readonly #retryAtMs = new Map<string, number>()
  readonly #now: () => number

  constructor(setting: ThrottlingSetting, now: () => number = Date.now) {
    this.#limits = setting === 'documented' ? documentedLimits : setting === 'off' ? {} : setting
    this.#now = now
  }

  /** Whether any bucket holds requests back. */
  get isOn(): boolean {
    return Object.keys(this.#limits).length > 0
  }

  /** Counts by bucket, of those that were used. */
  get counts(): Readonly<Record<string, BucketCounts>> {
    return Object.fromEntries(this.#counts)
  }

  clearCounts(): void {
    this.#counts.clear()
  }

  /** Lets a request pass its buckets, or says which one is empty and when there is a token again. `call` tells it from other requests. */
  take(uses: readonly BucketUse[], call: string): Answer {
    const now = this.#now()
    const held = uses.flatMap((use) => {
      const limit = this.#limits[use.name]
      return limit === undefined ? [] : [{ use, limit, bucket: this.#filled(use, limit, now) }]
    })
    this.#countEarly(held, call, now)
    const empty = held.filter(({ bucket }) => bucket.tokens < 1)
    const worst = empty.toSorted((one, other) => waitMs(other, now) - waitMs(one, now))[0]
    if (worst === undefined) {
      this.#retryAtMs.delete(call)
      for (const { use, bucket } of held) {
        bucket.tokens -= 1
        this.#count(use.name).taken += 1
      }
      return { kind: 'taken', headers: remainingHeaders(held) }
    }
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs(worst, now) / 1000))
    const retryAtMs = now + retryAfterSeconds * 1000
    for (const { use, bucket } of empty) {
      bucket.retryAtMs = retryAtMs
      this.#count(use.name).refused += 1
    }
    this.#remember(call, retryAtMs)
    const { use, limit } = worst
    return { kind: 'refused', bucket: use.name, limit, retryAfterSeconds, headers: remainingHeaders(held) }
  }

  #countEarly(held: readonly { readonly use: BucketUse; readonly bucket: Bucket }[], call: string, now: number): void {
    const isRetry = (this.#retryAtMs.get(call) ?? 0) > now
    for (const { use, bucket } of held) {
      if (bucket.retryAtMs <= now) continue
      const counts = this.#count(use.name)
      counts.early += 1
      if (isRetry) counts.earlyRetries += 1
    }
  }

  #remember(call: string, retryAtMs: number): void {
    this.#retryAtMs.set(call, retryAtMs)
    if (this.#retryAtMs.size <= rememberedRefusals) return
    const oldest = this.#retryAtMs.keys().next().value
    if (oldest !== undefined) this.#retryAtMs.delete(oldest)
  }

  #filled({ name, of }: BucketUse, limit: BucketLimit, now: number): Bucket {
    const key = of === undefined ? name : `${name}/${of}`
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      const full = { tokens: limit.tokens, sinceMs: now, retryAtMs: 0 }
      this.#buckets.set(key, full)
      return full
    }
    if ('refillPerMinute' in limit) {
      const gained = ((now - bucket.sinceMs) / 60_000) * limit.refillPerMinute
      bucket.tokens = Math.min(limit.tokens, bucket.tokens + gained)
      bucket.sinceMs = now
    } else if (now - bucket.sinceMs >= limit.windowSeconds * 1000) {
      bucket.tokens = limit.tokens
      bucket.sinceMs = now
    }
    return bucket
  }

  #count(name: BucketName): BucketCounts {
    const counts = this.#counts.get(name) ?? { taken: 0, refused: 0, early: 0, earlyRetries: 0 }
    this.#counts.set(name, counts)
    return counts
  }
}

interface Held {
  readonly use: BucketUse
  readonly limit: BucketLimit
  readonly bucket: Bucket
}

/** Time until there is a token. */
function waitMs({ limit, bucket }: Held, now: number): number {
  if ('refillPerMinute' in limit) return ((1 - bucket.tokens) / limit.refillPerMinute) * 60_000
  return bucket.sinceMs + limit.windowSeconds * 1000 - now
}

/** Policies of Microsoft.Compute by the names that its header gives them. */
const computePolicies: { readonly [Name in BucketName]?: string } = {
  createVm: 'CreateVMSubscriptionMaximum',
  updateVm: 'UpdateVMSubscriptionMaximum',
  deleteVm: 'DeleteVMSubscriptionMaximum',
  getVm: 'LowCostGetSubscriptionMaximum',
  listVms: 'HighCostGetSubscriptionMaximum',
  getOperation: 'GetOperationSubscriptionMaximum',
  createPerVm: 'CreateVMResource',
  updatePerVm: 'UpdateVMResource',
  deletePerVm: 'DeleteVMResource',
  getOperationPerOperation: 'GetOperationResource',
}

const armHeaders: { readonly [Name in BucketName]?: string } = {
  armReads: 'x-ms-ratelimit-remaining-subscription-reads',
  armWrites: 'x-ms-ratelimit-remaining-subscription-writes',
  armDeletes: 'x-ms-ratelimit-remaining-subscription-deletes',
  resourceGraph: 'x-ms-user-quota-remaining',
}

/** What is left of each bucket, as ARM's and Compute's headers report it. */
function remainingHeaders(held: readonly Held[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  const policies: string[] = []
  for (const { use, bucket } of held) {
    const left = Math.max(0, Math.floor(bucket.tokens))
    const [header, policy] = [armHeaders[use.name], computePolicies[use.name]]
    if (header !== undefined) headers[header] = String(left)
    if (policy !== undefined) policies.push(`Microsoft.Compute/${policy};${left}`)
  }
  if (policies.length > 0) headers['x-ms-ratelimit-remaining-resource'] = policies.join(',')
  return headers
}

/** The name by which a refusal calls a bucket. */
export function policyName(bucket: BucketName): string {
  return computePolicies[bucket] ?? bucket
}
