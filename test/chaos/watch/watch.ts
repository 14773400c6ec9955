import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { annotations as keys } from '../../../core/requirements/labels.ts'
import { durationMs } from '../../../core/values/duration.ts'
import type { SimulatedVm } from '../../clusters/servers.ts'
import { traceKeys } from '../../command-writes.ts'
import type { FakeRequest } from '../../fakes/cluster.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Change } from '../../fast/kubernetes/api/watches.ts'
import { hasKubelet } from '../../fast/kubernetes/controllers/kubelets.ts'
import { SimulatedProcess } from '../../fast/simulated-process.ts'
import type { Scene } from '../scene.ts'
import { Accounts } from './accounts.ts'
import { Brakes, isHeld } from './brakes.ts'
import { Joins } from './joins.ts'
import { Limits } from './limits.ts'
import { isBarred, owning, poolOf, resolved } from './lost-vms.ts'
import { type Condition, isGoing, isTrue } from './objects-seen.ts'
import { Replacements } from './replacements.ts'
import { actMs, staleMs, type Wrong } from './wrong.ts'

interface PodSeen extends Json {
  readonly spec?: { readonly nodeName?: string }
  readonly status?: { readonly phase?: string }
}

interface ClaimSeen extends Json {
  readonly spec?: { readonly terminationGracePeriod?: string; readonly expireAfter?: string }
  readonly status?: {
    readonly conditions?: readonly Condition[]
    readonly nodeName?: string
  }
}

const lookMs = 10_000
/** By how much a pod may be deleted before its node's deadline: clocks differ a little, and an interrupted VM ends a little later. */
const earlyMs = 10_000
/** How long a VM may be without its NodeClaim while nothing else is wrong: two runs of maintenance and their jitter. */
const mostOrphanMs = 25 * 60_000
/** The same for one whose Node runs pods: it gets a NodeClaim again, ten minutes after it was found without one. */
const mostLostMs = 45 * 60_000
/** How long a node may be marked for a command that does not come, while nothing else is wrong. */
const mostMarkedMs = 5 * 60_000
const deadlineKey = 'karpenter.sh/nodeclaim-termination-timestamp'
const uidTag = 'joiner.sh_nodeclaim-uid'

/** Looks at all times for what must not be. */
export class Watch {
  readonly wrong: Wrong[] = []
  readonly #scene: Scene
  readonly #brakes: Brakes
  readonly #joins: Joins
  readonly #accounts: Accounts
  readonly #replacements: Replacements
  readonly #limits: Limits
  /** Foreign VMs that were seen. */
  readonly #foreignVms = new Set<string>()
  readonly #orphans = new Map<string, number>()
  /** For how long NodeClaims have had the traces of a commit without its last one, in ms. */
  readonly #marks = new Map<string, number>()
  /** When Joiner deleted Nodes that nobody had deleted before, epoch ms. By name. */
  readonly #nodesDeleted = new Map<string, number>()
  /** When Joiner asked for the deletion of NodeClaims last, epoch ms. By name. */
  readonly #claimsAsked = new Map<string, number>()
  /** How many NodeClaims each NodePool had, at each look. */
  #sizes: readonly { readonly atMs: number; readonly ofPools: ReadonlyMap<string, number> }[] = []
  readonly #stops: (() => void)[]

  constructor(scene: Scene) {
    this.#scene = scene
    const { cluster } = scene.fast
    this.#brakes = new Brakes(cluster.server)
    this.#joins = new Joins(scene)
    this.#accounts = new Accounts(scene)
    this.#replacements = new Replacements(scene)
    this.#limits = new Limits(scene, (what) => this.note('limit', what))
    const timer = SimulatedProcess.outside(() => setInterval(() => void this.#look(), lookMs))
    this.#stops = [
      () => clearInterval(timer),
      cluster.intercept((request) => this.#asked(request)),
      cluster.server.objects.onChange((change) => this.#changed(change)),
    ]
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }

  /** Notes something wrong, once for each kind and text. */
  note(kind: string, what: string): void {
    if (this.wrong.some((one) => one.kind === kind && one.what === what)) return
    this.wrong.push({ kind, what })
    this.#scene.say(`WRONG: ${kind}: ${what}`)
  }

  async #look(): Promise<void> {
    const { etcd, nowMs } = this.#scene
    etcd.backUp(nowMs, () => this.#scene.state)
    this.#brakes.look(nowMs)
    const claims = this.#claims()
    for (const { kind, what } of await this.#accounts.look()) this.note(kind, what)
    const ofPools = Map.groupBy(claims, poolOf)
    this.#noteSizes(new Map([...ofPools].map(([pool, own]) => [pool, own.length])))
    // No copies: of all that Azure has two fields are looked at, each ten seconds.
    const virtualMachines = this.#scene.fast.azure.deps.machines.all
    this.#scene.count(virtualMachines.length > 0 ? 'looks with VMs' : 'looks without VMs')
    const isOwned = owning(claims)
    const names = new Set(virtualMachines.map(({ name }) => name))
    for (const name of this.#orphans.keys()) if (!names.has(name)) this.#orphans.delete(name)
    for (const {
      name,
      body: { tags = {} },
    } of virtualMachines)
      if (!this.#scene.foreign.vms.has(name)) this.#lookAtVm({ name, tags }, isOwned(tags))
    this.#lookAtMarks(claims)
    this.#limits.look(claims, new Set(virtualMachines.map(({ body: { tags = {} } }) => tags[uidTag])))
    const staying = claims.filter((claim) => !isGoing(claim))
    for (const name of this.#joins.look(staying, this.#isCalm ? lookMs : 0)) this.note('VM that cannot join', name)
    for (const name of this.#scene.foreign.vms)
      if (names.has(name)) this.#foreignVms.add(name)
      else if (this.#foreignVms.has(name)) this.note('foreign VM is gone', name)
  }

  /** Whether Joiner can do something about what is wrong. */
  get #isCalm(): boolean {
    const { fast, api } = this.#scene
    return !fast.temporal.isAway && !api.isTroubled && fast.joiners.size > 0
  }

  /** Only the time counts in which Joiner can do something about it: what is drained once it has a NodeClaim waits for its NodePool's budgets. */
  #lookAtVm({ name, tags }: Pick<SimulatedVm, 'name' | 'tags'>, isOwned: boolean): void {
    if (isOwned) return void this.#orphans.delete(name)
    const node = this.#scene.fast.cluster.server.objects.find(`/api/v1/nodes/${name}`)
    const ms = (this.#orphans.get(name) ?? 0) + (this.#isCalm && !isBarred(this.#scene, { name, tags }) ? lookMs : 0)
    this.#orphans.set(name, ms)
    const isKept = node !== undefined && isTrue(node, 'Ready')
    if (ms > (isKept ? mostLostMs : mostOrphanMs)) this.note('VM without a NodeClaim', name)
  }

  /** A commit that was cut off is finished or undone. */
  #lookAtMarks(claims: readonly ClaimSeen[]): void {
    const isMarked = (claim: ClaimSeen) =>
      isTrue(claim, 'DisruptionReason') &&
      !isTrue(claim, 'Rebooting') &&
      !isGoing(claim) &&
      metaOf(claim).annotations?.[traceKeys.stamp] === undefined
    const marked = new Set(claims.filter(isMarked).map((claim) => metaOf(claim).name))
    for (const name of this.#marks.keys()) if (!marked.has(name)) this.#marks.delete(name)
    if (!this.#isCalm || !this.#scene.isCalmFor(actMs)) return
    for (const name of marked) {
      const ms = (this.#marks.get(name) ?? 0) + lookMs
      this.#marks.set(name, ms)
      if (ms > mostMarkedMs) this.note('marked without a command', name)
    }
  }

  /** Joiner may delete a pod, past its PodDisruptionBudget, only where it does not run any more, or where its node's time is over. */
  #asked({ verb, path }: FakeRequest): void {
    const { cluster } = this.#scene.fast
    if (verb === 'evict') return this.#scene.count('evictions asked for')
    if (verb !== 'get' && verb !== 'list') this.#lookAtForeign(path)
    if (verb === 'delete' && path.includes('/nodeclaims/')) this.#lookAtDeletion(path)
    if (verb === 'delete' && path.includes('/nodes/')) this.#noteNodeDeleted(path)
    if (verb !== 'delete' || !path.includes('/pods/')) return
    const pod = cluster.server.objects.find(path)
    const { nodeName = '' } = (pod?.['spec'] ?? {}) as { readonly nodeName?: string }
    const node = cluster.server.objects.find(`/api/v1/nodes/${nodeName}`)
    if (node === undefined || pod === undefined) return
    if (!isTrue(node, 'Ready')) return
    if (this.#deadlineOf(nodeName) <= this.#soonMs) return this.#scene.count('pods deleted in time')
    this.note('pod deleted past its budget', `${path} on ${nodeName}`)
  }

  /** By the clock of one of the processes it may be that time, epoch ms: one that is less than a minute ahead counts as right (ADR 53). */
  get #soonMs(): number {
    const ahead = [...this.#scene.fast.joiners.values()].map(({ process }) => process.skewMs)
    return this.#scene.nowMs + earlyMs + Math.max(0, ...ahead.filter((ms) => ms <= 60_000))
  }

  /** When a node's pods have to be gone, epoch ms; infinity: it has no such time. */
  #deadlineOf(nodeName: string): number {
    // A NodeClaim that is made again for a VM that is to be drained never learns of its Node.
    const claim = this.#claims().find(
      (one) => one.status?.nodeName === nodeName || this.#scene.vmNameOf(metaOf(one).name) === nodeName,
    )
    const text = claim && metaOf(claim).annotations?.[deadlineKey]
    return text === undefined ? Number.POSITIVE_INFINITY : Date.parse(text)
  }

  /** No node that is held goes by a command, or expires: not even where its DELETE was sent before, which is of the version that was judged. */
  #lookAtDrained(claim: ClaimSeen): void {
    this.#scene.count('drains')
    const { name, annotations = {} } = metaOf(claim)
    const isAsked = (this.#claimsAsked.get(name) ?? Number.NEGATIVE_INFINITY) >= this.#scene.nowMs - actMs
    const isBound = this.#isExpired(claim)
      ? annotations[keys.holdExpiry] === 'true' && isTrue(claim, 'Initialized')
      : annotations[traceKeys.stamp] !== undefined
    if (!isAsked || !isBound || annotations[keys.cancelledAt] !== undefined) return
    if (isHeld(claim, this.#soonMs) && !this.#isNodeDeletedByOthers(claim)) this.note('deleted in a hold', name)
  }

  /** A command deletes no NodeClaim with a pod that somebody protects, if it could know, nor for a replacement that is lost. */
  #lookAtDeletion(path: string): void {
    const claim: ClaimSeen | undefined = this.#scene.fast.cluster.server.objects.find(path)
    if (claim !== undefined) this.#claimsAsked.set(metaOf(claim).name, this.#scene.nowMs)
    const { [traceKeys.stamp]: command, [keys.cancelledAt]: cancelled } = (claim && metaOf(claim).annotations) ?? {}
    if (claim === undefined || isGoing(claim) || command === undefined || !this.#scene.isCalmFor(actMs)) return
    // Who cancels its lifecycle asks for its deletion, as kubectl delete nodeclaim does, and so does who deletes its Node.
    if (cancelled !== undefined || this.#isNodeDeletedByOthers(claim) || this.#isExpired(claim)) return
    const knownMs = this.#scene.nowMs - actMs
    if (isBoundByPods(claim)) this.#noteProtected('node deleted with a protected pod', claim, knownMs)
    const lost = this.#replacements.lostFor(claim, knownMs)
    if (lost !== undefined) this.note('node deleted for a lost replacement', `${path}, ${lost}`)
  }

  /** Whether a node's time is over, which no command asks for: by the clock of a process that counts as right. */
  #isExpired(claim: ClaimSeen): boolean {
    const livesMs = durationMs(claim.spec?.expireAfter) ?? Number.POSITIVE_INFINITY
    return Date.parse(metaOf(claim).creationTimestamp ?? '') + livesMs <= this.#soonMs
  }

  #noteNodeDeleted(path: string): void {
    const node = this.#scene.fast.cluster.server.objects.find(path)
    if (node !== undefined && !isGoing(node)) this.#nodesDeleted.set(metaOf(node).name, this.#scene.nowMs)
  }

  /** Whether somebody else than Joiner deletes the Node of a NodeClaim: kubectl, or the cloud controller, once its VM is gone. */
  #isNodeDeletedByOthers({ status: { nodeName = '' } = {} }: ClaimSeen): boolean {
    const { fast, etcd } = this.#scene
    const node = fast.cluster.server.objects.find(`/api/v1/nodes/${nodeName}`)
    // A restore of etcd takes Joiner's own deletion back.
    const isOwn = (this.#nodesDeleted.get(nodeName) ?? Number.NEGATIVE_INFINITY) > etcd.restoredMs
    return node !== undefined && isGoing(node) && !isOwn
  }

  #noteProtected(kind: string, { status, metadata }: ClaimSeen, sinceMs: number): void {
    const { nodeName } = status ?? {}
    const pod = this.#podsOn(nodeName).find((one) => this.#brakes.isProtected(one, sinceMs))
    if (pod !== undefined) this.note(kind, `${(metadata as { name: string }).name}, ${metaOf(pod).name}`)
  }

  #podsOn(nodeName: string | undefined): readonly PodSeen[] {
    const pods: readonly PodSeen[] = this.#scene.fast.cluster.server.objects.of('pods')
    return pods.filter(({ spec, status, metadata }) => {
      const { deletionTimestamp } = metadata as { readonly deletionTimestamp?: string }
      return spec?.nodeName === nodeName && status?.phase === 'Running' && deletionTimestamp === undefined
    })
  }

  /** Joiner deletes no VM on which pods run, unless their node's time is over. */
  #lookAtEndedVm(name: string): void {
    const { struck, foreign } = this.#scene
    const [pod] = this.#podsOn(name)
    if (pod === undefined || struck.has(name) || foreign.nodes.has(name)) return
    if (this.#isDeletionRestored(name)) return
    if (this.#deadlineOf(name) > this.#soonMs) this.note('VM ended with pods', `${name}, ${metaOf(pod).name}`)
  }

  /** Whether the DELETE of a VM was on its way when a restore of etcd brought its pods back, and none was sent since (docs/restored-clusters.md). */
  #isDeletionRestored(name: string): boolean {
    const { fast, etcd } = this.#scene
    const deletions = [...fast.network.underWay].filter(({ request }) => request === `DELETE virtualMachines/${name}`)
    return deletions.length > 0 && deletions.every(({ sentMs }) => sentMs <= etcd.restoredMs)
  }

  #lookAtForeign(path: string): void {
    const [, name = ''] = /\/nodes\/([^/]+)/.exec(path) ?? []
    if (this.#scene.foreign.nodes.has(name)) this.note('foreign Node is written', path)
  }

  #changed(change: Change): void {
    if (this.#scene.etcd.isRestoring) return
    if (change.resource === 'nodes') this.#changedNode(change)
    if (change.resource === 'nodeclaims') this.#changedClaim(change)
  }

  #changedNode({ object, before, type }: Change): void {
    const { name } = metaOf(object)
    if (before !== undefined && hasKubelet(before) && !hasKubelet(object)) this.#lookAtEndedVm(name)
    if (type === 'DELETED' && this.#scene.foreign.nodes.has(name)) this.note('foreign Node is gone', name)
    if (type === 'DELETED') this.#replacements.nodeGone(name)
  }

  #changedClaim({ object, before, type }: Change): void {
    if (type === 'ADDED') this.#made(object)
    if (isGoing(object) && before !== undefined && !isGoing(before)) this.#lookAtDrained(before)
    const [stamp, former] = [object, before].map((one) => one && metaOf(one).annotations?.[traceKeys.stamp])
    if (stamp !== undefined && former !== undefined && stamp !== former)
      this.note('taken from its command', `${metaOf(object).name}, ${former}, by ${stamp}`)
    const since = this.#scene.nowMs - staleMs
    if (type === 'DELETED' || !isDisrupted(object)) return
    // What a commit that was cut off had begun is finished by a process that knows the budgets of now.
    if (before !== undefined && isDisrupted(before)) {
      if (stamp !== undefined && former === undefined)
        this.#lookAtBudget(poolOf(object), Math.max(since, this.#startMs))
      return
    }
    this.#scene.count(`nodes disrupted: ${reasonOf(object)}${isTrue(object, 'Rebooting') ? ', rebooted' : ''}`)
    this.#lookAtBudget(poolOf(object), since)
    const { name } = metaOf(object)
    if (this.#brakes.isPaused('disruption', since, this.#soonMs)) this.note('disrupted in a pause', name)
    if (this.#brakes.isHeld(object, since, this.#soonMs)) this.note('disrupted in a hold', name)
    if (isBoundByPods(object)) this.#noteProtected('disrupted with a protected pod', object, since)
  }

  #made(claim: Json): void {
    const { name, annotations = {} } = metaOf(claim)
    this.#scene.count('claims')
    // Its machine is there already: limits and pauses do not count (docs/adr/0054-lost-nodeclaims-are-made-again.md).
    if (keys.adoptedFrom in annotations) return
    this.#limits.made(claim)
    const isReplacement = traceKeys.replacementFor in annotations
    if (!isReplacement && this.#brakes.isPaused('provisioning', this.#scene.nowMs - staleMs, this.#soonMs))
      this.note('made in a pause', name)
  }

  /** Since when whoever writes has run; where there are two processes it may be either. */
  get #startMs(): number {
    return this.#scene.plan.replicas > 1 ? 0 : this.#scene.startedMs
  }

  /** How many nodes are disrupted together, by commands that were committed. `since`: what was allowed since then counts as well, epoch ms. */
  #lookAtBudget(pool: string, since: number): void {
    const disrupted = this.#claims().filter((claim) => poolOf(claim) === pool && isDisrupted(claim))
    const sizes = this.#sizes.map(({ ofPools }) => ofPools.get(pool) ?? 0)
    const most = Math.max(disrupted.length, ...sizes)
    const rules = this.#scene.rulesSince(pool, since)
    const allowed = Math.max(...rules.map(({ budget }) => resolved(budget, most)))
    if (disrupted.length > allowed)
      this.note(
        'budget',
        `${disrupted.map((claim) => metaOf(claim).name).join(', ')} are disrupted, ${allowed} of ${most} of ${pool} may be`,
      )
  }

  #noteSizes(ofPools: ReadonlyMap<string, number>): void {
    const { nowMs } = this.#scene
    this.#sizes = [...this.#sizes.filter(({ atMs }) => atMs >= nowMs - staleMs), { atMs: nowMs, ofPools }]
  }

  #claims(): readonly ClaimSeen[] {
    return this.#scene.fast.cluster.server.objects.of('nodeclaims')
  }
}

/** Why a NodeClaim is disrupted. */
const reasonOf = ({ status }: ClaimSeen) => status?.conditions?.find(({ type }) => type === 'DisruptionReason')?.reason

/** Whether a pod that must not be disrupted keeps a command from a node: not from a sick one, and not from a drifted one whose drain has an end. */
function isBoundByPods(claim: ClaimSeen): boolean {
  const reason = reasonOf(claim)
  return reason !== 'Unhealthy' && (reason !== 'Drifted' || claim.spec?.terminationGracePeriod === undefined)
}

/** A node whose VM goes already counts for no budget (reference/karpenter-core.md 4.10). */
const isDisrupted = (claim: Json) => isTrue(claim, 'DisruptionReason') && !isTrue(claim, 'InstanceTerminating')
