/** Shortest and longest time until another node is bought for a class of pods whose nodes kube-scheduler refuses. */
const [shortestMs, longestMs] = [30_000, 30 * 60_000]
/** At most so many NodeClaims for such a class within this time, whatever the back-off. So only the last ones are kept. */
const [mostClaims, claimsMs] = [3, 5 * 60_000]
/** Refusals that are kept; a ConfigMap takes 1 MiB. */
const mostRefusals = 200
/** Nodes of a class whose refusals are known, the last ones. */
export const mostNodes = 20
export const longestMessage = 2000

/** A class of pods that kube-scheduler does not bind to the nodes that were made for it, though they have room. Times are epoch ms. */
export interface NodeRefusal {
  /** Fingerprint of what its pods have in common. */
  readonly podClass: string
  /** One of the pods, as `namespace/name`. */
  readonly pod: string
  readonly nodePool: string
  /** State of the NodePools and their classes: the back-off ends when it changes. */
  readonly state: string
  /** What kube-scheduler says. */
  readonly message: string
  /** NodeClaims whose nodes were refused, the last ones. */
  readonly refused: readonly string[]
  /** The NodeClaims that were created last for the class, in the last minutes, with the time of each. */
  readonly claims: Readonly<Record<string, number>>
  /** Refusals in a row; 0 after a change of NodePools or classes, when only the refused nodes are still known. */
  readonly count: number
  readonly sinceMs: number
  /** The end of the back-off. */
  readonly untilMs: number
}

/** By class, the oldest first. */
export type NodeRefusals = ReadonlyMap<string, NodeRefusal>

export interface Refused extends Pick<NodeRefusal, 'podClass' | 'pod' | 'nodePool' | 'state' | 'message' | 'claims'> {
  /** The NodeClaim whose node was refused. */
  readonly claim: string
}

/** Returns the refusals with one more. A node counts once, and nodes that were made before the back-off count as one. */
export function withRefusal(all: NodeRefusals, { claim, ...found }: Refused, now: number): NodeRefusals {
  const { podClass } = found
  const before = reviewed(all, found.state, now).get(podClass)
  if (before?.refused.includes(claim)) return all
  const isOfBackOff = before !== undefined && before.count > 0 && before.untilMs > now
  const count = (before?.count ?? 0) + (isOfBackOff ? 0 : 1)
  const claims = recent({ ...found.claims, ...before?.claims }, now)
  const restMs = Math.min(shortestMs * 2 ** (count - 1), longestMs)
  const one: NodeRefusal = {
    ...found,
    message: found.message.slice(0, longestMessage),
    refused: [...(before?.refused ?? []), claim].slice(-mostNodes),
    claims,
    count,
    sinceMs: before === undefined || before.count === 0 ? now : before.sinceMs,
    untilMs: isOfBackOff ? before.untilMs : now + restMs,
  }
  return replacing(all, one)
}

/** Returns the refusals with a NodeClaim that was created for one of the classes. */
export function withClaim(
  all: NodeRefusals,
  { podClass, claim }: { readonly podClass: string; readonly claim: string },
  now: number,
): NodeRefusals {
  const before = all.get(podClass)
  if (before === undefined) return all
  return replacing(all, { ...before, claims: recent({ ...before.claims, [claim]: now }, now) })
}

/**
 * Returns the refusals that still count. Those of another state of NodePools and classes are over: pods are planned again at once, but the nodes of
 * that state were refused already.
 */
export function reviewed(all: NodeRefusals, state: string, now: number): NodeRefusals {
  return new Map(
    [...all]
      .filter(([, one]) => now - one.untilMs <= longestMs && !isAhead(one, now))
      .map(([name, one]) => [name, one.state === state ? one : { ...one, state, claims: {}, count: 0, untilMs: now }]),
  )
}

/** Whether it was written with a clock that was wrong: it would hold pods back until that time comes. */
function isAhead({ untilMs, claims }: NodeRefusal, now: number): boolean {
  return untilMs - now > longestMs || Object.values(claims).some((at) => at - now > claimsMs)
}

function replacing(all: NodeRefusals, one: NodeRefusal): NodeRefusals {
  const others = [...all].filter(([podClass]) => podClass !== one.podClass).slice(1 - mostRefusals)
  return new Map([...others, [one.podClass, one]])
}

function recent(claims: NodeRefusal['claims'], now: number): NodeRefusal['claims'] {
  const own = Object.entries(claims).filter(([, at]) => now - at < claimsMs)
  return Object.fromEntries(own.sort(([, a], [, b]) => a - b).slice(-mostClaims))
}

/** Returns when the next NodeClaim may be created for the class: after the back-off, and when few enough were created before. */
export function nextClaimAt({ claims, untilMs }: Pick<NodeRefusal, 'claims' | 'untilMs'>): number {
  const last = Object.values(claims)
    .sort((a, b) => a - b)
    .at(-mostClaims)
  return last === undefined ? untilMs : Math.max(untilMs, last + claimsMs)
}

/** Returns a refusal as text. */
export function formatRefusal(one: NodeRefusal): string {
  return JSON.stringify(one)
}
