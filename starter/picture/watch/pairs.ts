import { nodesOfClaim } from '../../../core/node-claim/node-owner.ts'
import type { ClaimFact, NodeFact } from './facts.ts'

/** Nodes and NodeClaims, and which belong together: by the VM's id, by the name in the claim's status, by their own names. */
export class Pairs {
  readonly nodes = new Map<string, NodeFact>()
  readonly claims = new Map<string, ClaimFact>()
  readonly #nodesOfVm = new Map<string, Set<string>>()
  readonly #claimsOfVm = new Map<string, Set<string>>()
  readonly #claimsOfNode = new Map<string, Set<string>>()

  setNode(name: string, after: NodeFact | undefined): void {
    moved(this.#nodesOfVm, name, [this.nodes.get(name)?.providerId, after?.providerId])
    put(this.nodes, name, after)
  }

  setClaim(name: string, after: ClaimFact | undefined): void {
    const before = this.claims.get(name)
    moved(this.#claimsOfVm, name, [before?.providerId, after?.providerId])
    moved(this.#claimsOfNode, name, [before?.nodeName, after?.nodeName])
    put(this.claims, name, after)
  }

  /** Returns the Node of a claim, unless it belongs to another one. */
  nodeOf(claim: ClaimFact): NodeFact | undefined {
    const node = this.#wanted(claim)
    return node !== undefined && this.claimOf(node) === claim ? node : undefined
  }

  /** Returns the claim of a Node. Of several that name it, the one of its VM, else the first by name. */
  claimOf(node: NodeFact): ClaimFact | undefined {
    for (const name of this.claimsNear(node)) {
      const claim = this.claims.get(name)
      if (claim !== undefined && this.#wanted(claim) === node) return claim
    }
    return undefined
  }

  /** Returns names of claims that a Node may belong to, the likeliest first. */
  claimsNear({ metadata, providerId }: NodeFact): ReadonlySet<string> {
    return new Set([
      ...[...(this.#claimsOfVm.get(providerId ?? '') ?? [])].sort(),
      ...[...(this.#claimsOfNode.get(metadata.name) ?? [])].sort(),
      metadata.name,
    ])
  }

  /** Returns the Node that is a claim's, as registration sees it. Objects without the id of a VM go by their names. */
  #wanted({ metadata, status, ...ids }: ClaimFact): NodeFact | undefined {
    const { providerId, nodeName } = ids
    const ofVm = [...(this.#nodesOfVm.get(providerId ?? '') ?? [])].flatMap((name) => this.nodes.get(name) ?? [])
    if (ofVm.length > 0) return nodesOfClaim({ metadata, status: { ...status, ...ids } }, ofVm)[0]
    const named = this.nodes.get(nodeName ?? metadata.name)
    // A Node of another VM has only the name in common.
    return named?.providerId !== undefined && providerId !== undefined ? undefined : named
  }

  /** Returns names of Nodes that may belong to a claim. */
  nodesNear({ metadata, providerId, nodeName }: ClaimFact): ReadonlySet<string> {
    return new Set([...(this.#nodesOfVm.get(providerId ?? '') ?? []), nodeName ?? metadata.name, metadata.name])
  }
}

function moved(index: Map<string, Set<string>>, name: string, [before, after]: readonly (string | undefined)[]): void {
  if (before === after) return
  if (before !== undefined) {
    index.get(before)?.delete(name)
    if (index.get(before)?.size === 0) index.delete(before)
  }
  if (after !== undefined) index.set(after, (index.get(after) ?? new Set()).add(name))
}

/** Sets or removes an entry. */
export function put<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}
