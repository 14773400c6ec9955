import type { CommitOutcome, DisruptionProposal } from '../../../activities/disruption/contract.ts'
import type { FakeCluster } from '../cluster.ts'
import { disrupted, replacementKey, stampKey } from '../commit-world.ts'
import { olderCommand } from './cluster.ts'
import {
  allowedOf,
  isProtected,
  type PoolState,
  poolStates,
  type Stored,
  storedAll,
  storedNode,
  usageOf,
  within,
} from './rules.ts'

/** A stamp that this case has written. */
interface Stamp {
  readonly command: string
  readonly pool: string
  /** Commands that were decided by then. */
  readonly after: ReadonlySet<string>
}

/** Watches a cluster while proposals are committed, and keeps what must never be. */
export class CommitWatch {
  readonly violations: string[] = []
  readonly #cluster: FakeCluster
  readonly #proposals: ReadonlyMap<string, DisruptionProposal>
  readonly #outcomes: ReadonlyMap<string, CommitOutcome>
  readonly #stamps = new Map<string, Stamp>()
  readonly #usageBefore: ReadonlyMap<string, PoolState>

  /** `outcomes`: grows while proposals are decided. */
  constructor(
    cluster: FakeCluster,
    proposals: readonly DisruptionProposal[],
    outcomes: ReadonlyMap<string, CommitOutcome>,
  ) {
    this.#outcomes = outcomes
    this.#cluster = cluster
    this.#proposals = new Map(proposals.map((proposal) => [proposal.id, proposal]))
    this.#usageBefore = poolStates(cluster)
    cluster.server.objects.onChange(({ resource }) => {
      if (resource === 'nodeclaims') this.#look()
    })
  }

  /** Looks at the cluster once all proposals are decided: nothing is under way any more. */
  end(): void {
    const outcomes = this.#outcomes
    this.#checkLimits(new Set())
    const committed = new Set([...outcomes].flatMap(([id, { kind }]) => (kind === 'committed' ? [id] : [])))
    for (const id of this.#proposals.keys()) if (!outcomes.has(id)) this.#violated(`${id} was never decided`)
    for (const claim of storedAll(this.#cluster, 'nodeclaims')) this.#checkMarks(claim, committed)
    for (const [id, outcome] of outcomes) this.#checkOutcome(id, outcome)
  }

  #look(): void {
    const claims = storedAll(this.#cluster, 'nodeclaims')
    const fresh = claims.filter((claim) => this.#learn(claim))
    for (const claim of fresh) this.#checkStamp(claim)
    this.#checkBudgets()
    this.#checkLimits(this.#underWay(claims))
  }

  /** Returns whether a claim has a stamp that was not there before. */
  #learn({ metadata }: Stored): boolean {
    const { name, annotations = {}, labels = {} } = metadata
    const [command, before] = [annotations[stampKey], this.#stamps.get(name)]
    if (command === olderCommand || command === before?.command) return false
    if (command === undefined) return !this.#stamps.delete(name)
    if (before !== undefined)
      this.#violated(`${name} had the stamp of ${before.command} when it got that of ${command}`)
    this.#stamps.set(name, {
      command,
      pool: labels['karpenter.sh/nodepool'] ?? '',
      after: new Set(this.#outcomes.keys()),
    })
    return true
  }

  #checkStamp({ metadata: { name, annotations = {} } }: Stored): void {
    const proposal = this.#proposals.get(annotations[stampKey] ?? '')
    if (proposal === undefined) return this.#violated(`${name} has the stamp of a command that nobody proposed`)
    const { id, method, decision } = proposal
    const why = isProtected(this.#cluster, name, method)
    if (why !== undefined) this.#violated(`${name} was stamped by ${id} although ${why}`)
    if (decision === 'replace' && this.#replacementsOf(id).length === 0)
      this.#violated(`${name} was stamped by ${id} before there was a replacement`)
  }

  /**
   * Holds stamps to the budgets. Commands that were decided before count for a later one. Those of one round are written at once, so among them the
   * budget that allows least comes first: if they fit in any order, then in this one.
   */
  #checkBudgets(): void {
    const reasonOf = ({ command }: Stamp) => this.#proposals.get(command)?.reason ?? ''
    for (const [pool, state] of poolStates(this.#cluster)) {
      const own = [...this.#stamps.values()].filter((stamp) => stamp.pool === pool)
      for (const stamp of own) {
        const allowed = allowedOf(state, reasonOf(stamp))
        const before = own.filter(
          (other) => stamp.after.has(other.command) || allowedOf(state, reasonOf(other)) <= allowed,
        )
        if (state.lost + before.length > allowed)
          this.#violated(
            `${pool}: ${state.lost} + ${before.length} nodes are disrupted, and budgets allow ${allowed} for ${reasonOf(stamp)}`,
          )
      }
    }
  }

  /**
   * NodeClaims of commands that are being written: they are marked, or have a replacement, and are not yet stamped. Once all is decided they leave, or
   * nothing is made for them.
   */
  #underWay(claims: readonly Stored[]): ReadonlySet<string> {
    const marked = claims.filter(({ metadata: { name } }) => isTainted(storedNode(this.#cluster, name)))
    const replaced = claims.flatMap(({ metadata: { annotations } }) => {
      const { candidates = [] } = this.#proposals.get(annotations?.[replacementKey] ?? '') ?? {}
      return candidates.map(({ name }) => name)
    })
    return new Set([...marked.map(({ metadata }) => metadata.name), ...replaced])
  }

  #checkLimits(going: ReadonlySet<string>): void {
    for (const [pool, { limits, isStatic }] of poolStates(this.#cluster)) {
      const before = this.#usageBefore.get(pool)?.usage ?? {}
      const usage = usageOf(this.#cluster, { pool, isStatic, going })
      for (const excess of within(usage, limits, before)) this.#violated(`${pool} is above its limits: ${excess}`)
    }
  }

  #checkMarks({ metadata, status }: Stored, committed: ReadonlySet<string>): void {
    const { name, annotations = {}, deletionTimestamp } = metadata
    const { [stampKey]: stamp, [replacementKey]: replaced } = annotations
    if (stamp === olderCommand) return
    const node = storedNode(this.#cluster, name)
    const isMarked =
      stamp !== undefined || isTainted(node) || status?.conditions?.some(({ type }) => type === 'DisruptionReason')
    if (isMarked && !committed.has(stamp ?? ''))
      this.#violated(`${name} is marked, and its stamp is ${stamp}, which was not committed`)
    if (replaced !== undefined && deletionTimestamp === undefined && !committed.has(replaced))
      this.#violated(`${name} replaces nodes of ${replaced}, which was not committed`)
  }

  #checkOutcome(id: string, outcome: CommitOutcome): void {
    const { decision } = this.#proposals.get(id) as DisruptionProposal
    const stamped = [...this.#stamps].flatMap(([name, { command }]) => (command === id ? [name] : []))
    const said = outcome.kind === 'committed' ? outcome : { candidates: [], replacements: [] }
    const made = this.#replacementsOf(id)
    const differences = [
      ['nodes', names(said.candidates), stamped.sort().join(' ')],
      ['replacements', names(said.replacements), made.join(' ')],
    ] as const
    for (const [what, told, found] of differences)
      if (told !== found) this.#violated(`${id} was ${outcome.kind} with ${what} [${told}], and there are [${found}]`)
    if (outcome.kind === 'committed' && decision === 'replace' && made.length === 0)
      this.#violated(`${id} was committed without a replacement`)
  }

  /** Names of the replacements of a command that stay. */
  #replacementsOf(id: string): readonly string[] {
    return storedAll(this.#cluster, 'nodeclaims')
      .filter(
        ({ metadata: { annotations, deletionTimestamp } }) =>
          annotations?.[replacementKey] === id && deletionTimestamp === undefined,
      )
      .map(({ metadata }) => metadata.name)
      .sort()
  }

  #violated(what: string): void {
    if (!this.violations.includes(what)) this.violations.push(what)
  }
}

const isTainted = (node: Stored | undefined) => node?.spec.taints?.some(({ key }) => key === disrupted.key) === true
const names = (refs: readonly { readonly name: string }[]) =>
  refs
    .map(({ name }) => name)
    .sort()
    .join(' ')
