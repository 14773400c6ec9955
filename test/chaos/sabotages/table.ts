/** A fault that Joiner once had, as a change of today's code. */
export interface Sabotage {
  readonly name: string
  /** The commit that mended it. */
  readonly fix: string
  /** What is wrong where it is noticed for what it is. */
  readonly kind: string
  readonly path: string
  /** Is in the file once. */
  readonly text: string
  readonly by: string
}

/** Faults from the history of this repository. What seeds of chaos don't notice of these, they would not notice of new ones. */
export const sabotages: readonly Sabotage[] = [
  {
    name: 'a PUT that is repeated changes the VM that the first one made',
    fix: '6f2a114c',
    kind: 'VM made twice',
    path: 'activities/azure/launch/put-vm.ts',
    text: ", body, { ifNoneMatch: '*' })",
    by: ', body)',
  },
  {
    name: 'VMs of another cluster of the same name are collected',
    fix: '400e5f76',
    kind: 'foreign VM is gone',
    path: 'activities/azure/launch/ownership.ts',
    text: 'if (uid !== undefined && uid !== clusterUid)',
    by: 'if (uid === undefined && uid !== clusterUid)',
  },
  {
    name: 'a VM that lost its NodeClaim is collected while pods run there',
    fix: '122d86ff',
    kind: 'VM without a NodeClaim',
    path: 'core/machines-in-use.ts',
    text: 'return uses.find(({ pods }) => pods !== undefined) ?? uses[0]',
    by: 'return uses.find(({ pods }) => pods === -1)',
  },
  {
    name: 'what lost its NodeClaim is kept for ever, and gets none again',
    fix: '3cc967b9',
    kind: 'VM without a NodeClaim',
    path: 'core/adoption.ts',
    text: '? doubt === undefined && now - sinceMs >= adoptAfterMs',
    by: '? doubt !== undefined && now - sinceMs >= adoptAfterMs',
  },
  {
    name: 'a Node is a NodeClaim’s by the provider id that its kubelet says',
    fix: 'cd100224',
    kind: 'foreign Node is written',
    path: 'core/node-claim/node-owner.ts',
    text: 'return metadata.name === vm.name.toLowerCase() && isSameId(providerId, vm.providerId)',
    by: 'return isSameId(providerId, vm.providerId) || metadata.name === vm.providerId',
  },
  {
    name: 'a NodeClaim waits for ever for a Node that finalizers of others hold',
    fix: '51519e8f',
    kind: 'left',
    path: 'activities/kubernetes/draining/finalize.ts',
    text: 'if (deps.now() - sinceMs < heldNodeMs) throw new Error(message)',
    by: 'if (deps.now() - sinceMs < 1000 * heldNodeMs) throw new Error(message)',
  },
  {
    name: 'what a dead planner had begun gets its stamps without a look at budgets',
    fix: '12fc199f',
    kind: 'budget',
    path: 'activities/disruption/commit/commit.ts',
    text: 'if (!hasBudgetRoom(this.#deps, { candidates: unstamped, reason: this.#proposal.reason })) return false',
    by: 'hasBudgetRoom(this.#deps, { candidates: unstamped, reason: this.#proposal.reason })',
  },
  {
    name: 'a node that another command has by now is taken from it',
    fix: '12fc199f',
    kind: 'taken from its command',
    path: 'activities/disruption/commit/command-writes.ts',
    text: `(current) =>
        stampOf(current) === undefined
          ? lockedPatch({ metadata: { annotations: { [annotations.disruptionCommand]: id } } }, current.metadata)
          : undefined,`,
    by: '() => ({ metadata: { annotations: { [annotations.disruptionCommand]: id } } }),',
  },
  {
    name: 'a commit that stood still takes a node from the command that has it by then',
    fix: '80770357',
    kind: 'taken from its command',
    path: 'activities/disruption/commit/command-writes.ts',
    text: '? lockedPatch({ metadata: { annotations: { [annotations.disruptionCommand]: id } } }, current.metadata)',
    by: '? { metadata: { annotations: { [annotations.disruptionCommand]: id } } }',
  },
  {
    name: 'a node goes for a replacement whose Node is gone',
    fix: 'd9378692',
    kind: 'node deleted for a lost replacement',
    path: 'activities/kubernetes/commands/candidates.ts',
    text: 'if (isUnready(claim) || hasLostNode(claim, node))',
    by: "if (!isTrue(claim.status.conditions, 'Initialized') && node !== undefined)",
  },
  {
    name: 'the taint of a commit that was cut off before its stamps stays',
    fix: 'a5c10df1',
    kind: 'marked without a command',
    path: 'activities/disruption/abandoned.ts',
    text: 'else if (isMarked(deps, claim)) yield { claim }',
    by: 'else isMarked(deps, claim)',
  },
  {
    name: 'a node goes though a pod there must not be disrupted by now',
    fix: '9061396c',
    kind: 'node deleted with a protected pod',
    path: 'activities/kubernetes/commands/candidates.ts',
    text: 'if (isBinding && blocking !== undefined)',
    by: 'if (isBinding && blocking !== undefined && blocking.metadata.name === "")',
  },
  {
    name: 'a node goes though it is held while its DELETE is under way',
    fix: '05492ca9',
    kind: 'deleted in a hold',
    path: 'activities/kubernetes/commands/candidates.ts',
    text: 'await deleteClaim(deps, ref, { claim: bound, mayGo })',
    by: 'await deleteClaim(deps, ref, { claim: bound, mayGo: async () => true })',
  },
  {
    name: 'limits do not count what another plan has admitted',
    fix: '1a9c840c',
    kind: 'limit',
    path: 'activities/provisioning/pool-limits.ts',
    text: 'usage: mergeResources(usageOf(this.#deps, name, this.#without), underWay.get(name) ?? {}),',
    by: 'usage: mergeResources(usageOf(this.#deps, name, this.#without), underWay.get("") ?? {}),',
  },
  {
    name: 'a lifecycle that is cancelled in Temporal ends where it stands',
    fix: '36b5fbe9',
    kind: 'lifecycle cut short',
    path: 'workflows/node-claim-lifecycle.ts',
    text: 'return CancellationScope.nonCancellable(() => lifecycle.run())',
    by: 'return CancellationScope.cancellable(() => lifecycle.run())',
  },
  {
    name: 'a VM whose bootstrap token was replaced is adopted, and never joins',
    fix: '23f772c3',
    kind: 'VM that cannot join',
    path: 'activities/azure/launch/claim-vm.ts',
    text: 'if (!(await isTokenLost(deps.client, claim.metadata.uid, held))) return false',
    by: 'if (!(await isTokenLost(deps.client, claim.metadata.uid, held)) || held !== "") return false',
  },
]
