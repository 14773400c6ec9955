/** Azure's limit of a subscription: a burst, and a steady rate (reference/azure-limits.md 1). */
interface Limit {
  readonly burst: number
  readonly perSecond: number
}

const perMinute = (burst: number, tokens: number): Limit => ({ burst, perSecond: tokens / 60 })

/**
 * Azure's documented limits by operation class, for one subscription, principal and region. Network's are a number in each five minutes: a fifth
 * at once and the rest evenly never exceeds it, wherever the five minutes begin. Limits of single VMs need no bucket: one lifecycle
 * works on one VM, and Azure's refusal for it holds up no other.
 */
export const armLimits = {
  armReads: { burst: 250, perSecond: 25 },
  armWrites: { burst: 200, perSecond: 10 },
  armDeletes: { burst: 200, perSecond: 10 },
  createVm: perMinute(1500, 500),
  updateVm: perMinute(1500, 500),
  deleteVm: perMinute(1500, 500),
  getVm: perMinute(24_000, 8000),
  listVms: perMinute(900, 300),
  getOperation: perMinute(15_000, 5000),
  networkReads: perMinute(2000, 1600),
  networkWrites: perMinute(200, 160),
} as const satisfies Readonly<Record<string, Limit>>

export type ArmBucket = keyof typeof armLimits

export const armBuckets = Object.keys(armLimits) as readonly ArmBucket[]

/** A request as budgets and metrics classify it. */
export interface ArmOperation {
  /** Verb and type, such as `list virtualMachines`: few enough for a metric's label. */
  readonly name: string
  /** Buckets it takes a token from: ARM's own first, then its resource provider's. */
  readonly buckets: readonly ArmBucket[]
}

/** Returns the operation of a request, by its method and its URL. */
export function armOperation(method: string, url: string): ArmOperation {
  const path = new URL(url).pathname
  const [, provider = '', below] = /.*\/providers\/([^/]+)\/(.*)$/i.exec(path) ?? []
  const segments = (below ?? path).split('/').filter((part) => part !== '')
  const { verb, type } = verbAndType(method, segments)
  const own = providerBucket(provider.toLowerCase(), verb, type)
  return { name: `${verb} ${type}`, buckets: [armBucketOf(method), ...(own === undefined ? [] : [own])] }
}

/** Returns verb and type. Types and names alternate: an odd number of segments ends in a type, which is a list, or after a POST in an action. */
function verbAndType(method: string, segments: readonly string[]): { readonly verb: string; readonly type: string } {
  const last = segments.at(-1) ?? 'unknown'
  const endsInType = segments.length % 2 === 1
  if (method === 'POST') return { verb: 'post', type: segments.length > 2 ? `${segments.at(-3)}/${last}` : last }
  if (method === 'GET')
    return { verb: endsInType ? 'list' : 'get', type: endsInType ? last : (segments.at(-2) ?? last) }
  return { verb: method.toLowerCase(), type: segments.at(-2) ?? last }
}

function armBucketOf(method: string): ArmBucket {
  if (method === 'GET' || method === 'HEAD') return 'armReads'
  return method === 'DELETE' ? 'armDeletes' : 'armWrites'
}

function providerBucket(provider: string, verb: string, type: string): ArmBucket | undefined {
  if (provider === 'microsoft.network') return verb === 'get' || verb === 'list' ? 'networkReads' : 'networkWrites'
  if (provider !== 'microsoft.compute') return undefined
  const machines: Readonly<Record<string, ArmBucket>> = {
    'put virtualMachines': 'createVm',
    'patch virtualMachines': 'updateVm',
    'delete virtualMachines': 'deleteVm',
    'get virtualMachines': 'getVm',
    'list virtualMachines': 'listVms',
    'put extensions': 'updateVm',
    'patch extensions': 'updateVm',
    'delete extensions': 'updateVm',
    'get operations': 'getOperation',
  }
  return machines[`${verb} ${type}`] ?? (type.startsWith('virtualMachines/') ? 'updateVm' : undefined)
}

/** Compute's policies for one VM or one operation, as its header names them. */
const ofOneResource = /Resource$/

/**
 * Returns the remaining tokens of a request's buckets, from ARM's headers. `onlyItself`: its own VM's policy is used up, and no shared one.
 * Headers: `x-ms-ratelimit-remaining-subscription-<kind>` and, of Compute, `x-ms-ratelimit-remaining-resource: <policy>;<left>,...`.
 */
export function remainingTokens(
  { buckets }: ArmOperation,
  header: (name: string) => string | undefined,
): { readonly left: ReadonlyMap<ArmBucket, number>; readonly onlyItself: boolean } {
  const left = new Map<ArmBucket, number>()
  const [first, own] = buckets
  const kind = first === 'armReads' ? 'reads' : first === 'armWrites' ? 'writes' : 'deletes'
  const shared = Number(header(`x-ms-ratelimit-remaining-subscription-${kind}`) ?? Number.NaN)
  if (first !== undefined && !Number.isNaN(shared)) left.set(first, shared)
  let itself = false
  for (const text of (header('x-ms-ratelimit-remaining-resource') ?? '').split(',')) {
    const [policy = '', count] = text.trim().split(';')
    const tokens = count === undefined ? Number.NaN : Number(count)
    if (Number.isNaN(tokens)) continue
    if (ofOneResource.test(policy)) itself ||= tokens < 1
    else if (own !== undefined) left.set(own, Math.min(tokens, left.get(own) ?? Number.POSITIVE_INFINITY))
  }
  return { left, onlyItself: itself && [...left.values()].every((tokens) => tokens >= 1) }
}
