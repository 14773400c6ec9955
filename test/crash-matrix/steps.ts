import type { Answer, Call } from '../faults/gate.ts'
import { written } from '../patch-body.ts'

/** An external write without the names and values of one object: what a crash can come before or after. */
export interface Step {
  /** Method and resource, such as `PATCH nodeclaims/status` or `PUT Microsoft.Compute/virtualMachines`; objects that there is one of by name. */
  readonly kind: string
  /** What of the object it changes, such as `Launched=True`. */
  readonly changes: readonly string[]
}

/** A write that was seen, and whose it is. */
export interface SeenStep extends Step {
  /** Absent: it belongs to no pool. */
  readonly pool?: string
}

export function nameOf({ kind, changes }: Step): string {
  return [kind, changes.join(', ')].join(' ').trim()
}

/** Whether a write is at this step. Conditions that a recording saw in one write may come in several. */
export function isAt(step: Step, seen: Step): boolean {
  if (step.kind !== seen.kind) return false
  return step.changes.length === 0 ? seen.changes.length === 0 : step.changes.some((one) => seen.changes.includes(one))
}

/** More labels or annotations are not named one by one. */
const few = 2
/** Kinds of which there are a few objects, always the same ones. */
const singletons = new Set(['leases', 'configmaps', 'customresourcedefinitions'])
/** Hints to people, with all their reasons: one step. */
const hints = new Set(['events'])

/** Tells steps from requests. It remembers conditions and owners, since requests do not say what was before. */
export class StepReader {
  readonly #conditions = new Map<string, ReadonlyMap<string, string>>()
  readonly #owners = new Map<string, string>()

  /** Undefined: the request changes nothing. */
  read(call: Call): SeenStep | undefined {
    const target = targetOf(call)
    if (target === undefined) return undefined
    const { resource } = target
    const body = written(call.body) as Body
    const name = target.name || (body.metadata?.name ?? '')
    const isNamed = singletons.has(resource) || (resource === 'secrets' && !name.startsWith('bootstrap-token-'))
    const kind = `${call.method} ${resource}${isNamed ? ` ${name.replace(/\d+$/, 'N')}` : ''}`
    const changes = hints.has(resource) || call.method !== 'PATCH' ? created(resource, body) : this.#changes(call, body)
    const pool = this.#poolOf(call, target, body)
    return { kind, changes, ...(pool === undefined ? {} : { pool }) }
  }

  /** Learns conditions, and the owners of objects whose names do not say it. A write that the server refused changes nothing: its retry is the same step. */
  learn(call: Call, { status, text }: Answer): void {
    if (status >= 300) return
    const target = targetOf(call)
    const { conditions } = (written(text) as Body).status ?? {}
    if (conditions !== undefined && target?.resource.endsWith('/status'))
      this.#conditions.set(call.path, statesOf(conditions))
    if (call.method === 'POST' && target?.resource === 'nodeclaims') {
      const { uid, name } = (written(text).metadata ?? {}) as { uid?: string; name?: string }
      const pool = poolIn(name ?? '')
      if (uid !== undefined && pool !== undefined) this.#owners.set(uid, pool)
    }
  }

  /** The pool of a NodeClaim that this reader saw being created. */
  ownerOf(uid: string): string | undefined {
    return this.#owners.get(uid)
  }

  #poolOf(call: Call, { resource, name }: Target, body: Body): string | undefined {
    if (singletons.has(resource)) return undefined
    const named = poolIn(call.path)
    if (named !== undefined) return named
    if (resource !== 'secrets') return poolIn(call.body)
    const uid = body.metadata?.labels?.['joiner.sh/nodeclaim-uid'] ?? ''
    const owner = this.#owners.get(uid || name)
    const secret = body.metadata?.name
    if (owner !== undefined && secret !== undefined) this.#owners.set(secret, owner)
    return owner
  }

  #changes({ path }: Call, body: Body): readonly string[] {
    const { labels = {}, annotations = {}, finalizers } = body.metadata ?? {}
    const { conditions, ...rest } = body.status ?? {}
    const annotated = Object.entries(annotations).map(
      ([key, value]) => `${value === null ? 'no ' : ''}annotation ${key}`,
    )
    const labelled = Object.keys(labels).map((key) => `label ${key}`)
    return [
      ...(labelled.length > few ? ['labels'] : labelled),
      ...(annotated.length > few ? ['annotations'] : annotated),
      ...(finalizers === undefined ? [] : [finalizers.length === 0 ? 'no finalizer' : 'finalizer']),
      ...(body.spec?.taints === undefined ? [] : [taintsIn(body.spec.taints)]),
      ...Object.keys(rest),
      ...(conditions === undefined ? [] : this.#conditionsChanged(path, conditions)),
    ].sort()
  }

  #conditionsChanged(path: string, conditions: readonly Condition[]): readonly string[] {
    const before = this.#conditions.get(path) ?? new Map<string, string>()
    const now = statesOf(conditions)
    const changed = [...now].filter(([type, status]) => before.get(type) !== status)
    const gone = [...before.keys()].filter((type) => !now.has(type))
    const reported = [
      ...changed.filter(([, status]) => status !== 'Unknown').map((entry) => entry.join('=')),
      ...gone.map((type) => `no ${type}`),
    ]
    if (reported.length > 0) return reported
    return changed.length > 0 ? changed.map((entry) => entry.join('=')) : ['messages of conditions']
  }
}

interface Condition {
  readonly type: string
  readonly status: string
}

function statesOf(conditions: readonly Condition[]): ReadonlyMap<string, string> {
  return new Map(conditions.map(({ type, status }) => [type, status]))
}

interface Body {
  readonly metadata?: {
    readonly name?: string
    readonly labels?: Readonly<Record<string, string | null>>
    readonly annotations?: Readonly<Record<string, string | null>>
    readonly finalizers?: readonly string[]
  }
  readonly spec?: { readonly taints?: readonly { readonly key: string }[] }
  readonly status?: { readonly conditions?: readonly Condition[] }
}

interface Target {
  /** With the subresource. */
  readonly resource: string
  readonly name: string
}

/** Names of NodePools that the matrix makes. */
const poolName = /\bm\d{3,}\b/

/** Whether Azure is asked, and not Kubernetes. */
export function isOfAzure({ kind }: Step): boolean {
  return kind.includes(' Microsoft.')
}

export function poolIn(text: string): string | undefined {
  return poolName.exec(text)?.[0]
}

function targetOf({ method, path }: Call): Target | undefined {
  if (method === 'GET') return undefined
  const azure = /\/providers\/(Microsoft\..+)$/.exec(path)?.[1]
  if (azure !== undefined) {
    const [provider = '', ...parts] = azure.split('/')
    const types = parts.filter((_, at) => at % 2 === 0)
    const name = parts[1] ?? ''
    return { resource: [provider, ...types].join('/'), name }
  }
  const [, rest = ''] = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)\/(.+)$/.exec(path) ?? []
  const [resource = '', name = '', sub] = rest.replace(/^namespaces\/[^/]+\//, '').split('/')
  // A review asks what is allowed, and changes nothing.
  if (resource.endsWith('reviews')) return undefined
  return resource === '' ? undefined : { resource: sub === undefined ? resource : `${resource}/${sub}`, name }
}

/** What tells apart objects of a kind that are made for different ends. */
function created(resource: string, body: Body): readonly string[] {
  if (resource !== 'nodeclaims') return []
  return 'joiner.sh/replacement-for' in (body.metadata?.annotations ?? {}) ? ['replacement'] : []
}

function taintsIn(taints: readonly { readonly key: string }[]): string {
  return taints.length === 0
    ? 'no taints'
    : `taint ${taints
        .map(({ key }) => key)
        .sort()
        .join(', ')}`
}
