import type { Call } from './faults/gate.ts'
import { written } from './patch-body.ts'

/** What a disruption command leaves on objects while it runs. */
export const traceKeys = {
  taint: 'karpenter.sh/disrupted',
  condition: 'DisruptionReason',
  stamp: 'joiner.sh/disruption-command',
  replacementFor: 'joiner.sh/replacement-for',
} as const

const { taint, condition, stamp, replacementFor } = traceKeys
const claims = '/apis/karpenter.sh/v1/nodeclaims'

/** A node that is to be disrupted. */
export interface Old {
  readonly pool: string
  readonly claim: string
  readonly uid: string
  readonly node: string
  /** Names. */
  readonly pods: readonly string[]
}

/** How to tell the writes of a command over one node, in the order in which they come, and those that undo it. */
export const writes = {
  taint: ({ node }, call) => isPatch(call, `/api/v1/nodes/${node}`) && taintsIn(call)?.includes(taint) === true,
  condition: ({ claim }, call) => isPatch(call, `${claims}/${claim}/status`) && call.body.includes(condition),
  create: ({ pool }, { method, path, body }) => method === 'POST' && path === claims && body.includes(`"${pool}"`),
  stamp: ({ claim }, call) => isPatch(call, `${claims}/${claim}`) && call.body.includes(`"${stamp}":"`),
  /** Not of the command, but what it waits for: the replacement can take pods. */
  initialize: (old, call) =>
    isPatch(call, new RegExp(`^${claims}/${old.pool}-[^/]+/status$`)) &&
    !call.path.includes(old.claim) &&
    conditionsOf(call).some(({ type, status }) => type === 'Initialized' && status === 'True'),
  remove: ({ claim }, { method, path }) => method === 'DELETE' && path === `${claims}/${claim}`,
  letGo: ({ pool }, call) =>
    isPatch(call, new RegExp(`^${claims}/${pool}-[^/]+$`)) && call.body.includes(`"${replacementFor}":null`),
  // The condition stands in every write of conditions until one takes it off.
  untaint: ({ node }, call) => isPatch(call, `/api/v1/nodes/${node}`) && taintsIn(call)?.includes(taint) === false,
  uncondition: ({ claim }, call) =>
    isPatch(call, `${claims}/${claim}/status`) && conditionsOf(call).length > 0 && !call.body.includes(condition),
  unstamp: ({ claim }, call) => isPatch(call, `${claims}/${claim}`) && call.body.includes(`"${stamp}":null`),
  discard: ({ pool, claim }, { method, path }) =>
    method === 'DELETE' && path.startsWith(`${claims}/${pool}-`) && path !== `${claims}/${claim}`,
} satisfies Readonly<Record<string, (old: Old, call: Call) => boolean>>

export type Write = keyof typeof writes

function isPatch({ method, path }: Call, expected: string | RegExp): boolean {
  return method === 'PATCH' && (typeof expected === 'string' ? path === expected : expected.test(path))
}

/** The keys of the taints that a Node is to have from now on. */
function taintsIn({ body }: Call): readonly string[] | undefined {
  return (written(body) as { spec?: { taints?: { key: string }[] } }).spec?.taints?.map(({ key }) => key)
}

function conditionsOf({ body }: Call): readonly { readonly type: string; readonly status: string }[] {
  return (written(body) as { status?: { conditions?: { type: string; status: string }[] } }).status?.conditions ?? []
}
