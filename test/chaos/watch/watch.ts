import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { annotations as keys } from '../../../core/requirements/labels.ts'
import { disruptionCommandId } from '../../../core/task-queues.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import type { SimulatedVm } from '../../clusters/servers.ts'
import { traceKeys } from '../../command-writes.ts'
import type { FakeRequest } from '../../fakes/cluster.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Change } from '../../fast/kubernetes/api/watches.ts'
import { hasKubelet } from '../../fast/kubernetes/controllers/kubelets.ts'
import { SimulatedProcess } from '../../fast/simulated-process.ts'
import type { Run } from '../../fast/temporal/run.ts'
import type { Scene } from '../scene.ts'
import { Accounts } from './accounts.ts'
import { Brakes } from './brakes.ts'
import { Joins } from './joins.ts'
import { isBarred, owning, poolOf, resolved } from './lost-vms.ts'
import { type Condition, cpuOf, isGoing, isTrue, requestedCpu } from './objects-seen.ts'
import { Replacements } from './replacements.ts'
import type { Wrong } from './wrong.ts'

interface PodSeen extends Json {
  readonly spec?: { readonly nodeName?: string }
  readonly status?: { readonly phase?: string }
}

interface ClaimSeen extends Json {
  readonly spec?: { readonly terminationGracePeriod?: string }
  readonly status?: {
    readonly conditions?: readonly Condition[]
    readonly nodeName?: string
  }
}

const lookMs = 10_000
/** How long a process may take from its last look at pods to what follows from it, while none stands still and no request waits. */
const actMs = 30_000
/** By how much a pod may be deleted before its node's deadline: clocks differ a little, and an interrupted VM ends a little later. */
const earlyMs = 10_000
/** How long a VM may be without its NodeClaim while nothing else is wrong: two runs of maintenance and their jitter. */
const mostOrphanMs = 25 * 60_000
/** The same for one whose Node runs pods: it gets a NodeClaim again, ten minutes after it was found without one. */
const mostLostMs = 45 * 60_000
/** How long a node may be marked for a command that does not come, while nothing else is wrong. */
const mostMarkedMs = 5 * 60_000
/** What a commit has read of budgets and nodes may be so old: its validation waits for slow requests. */
const staleMs = 120_000
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
  /** Foreign VMs that were seen. */
  readonly #foreignVms = new Set<string>()
  readonly #orphans = new Map<string, number>()
  /** For how long NodeClaims have had the traces of a commit without its last one, in ms. */
  readonly #marks = new Map<string, number>()
  /** NodeClaims that were made over the number of nodes that a static NodePool may have, by UID. */
  readonly #overLimit = new Map<string, string>()
  /** When Joiner deleted Nodes that nobody had deleted before, epoch ms. By name. */
  readonly #nodesDeleted = new Map<string, number>()
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
    this.#noteOverLimit(claims, new Set(virtualMachines.map(({ body: { tags = {} } }) => tags[uidTag])))
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

  /** A commit that was cut off is finished or undone. A paused loop does neither. */
  #lookAtMarks(claims: readonly ClaimSeen[]): void {
    const isMarked = (claim: ClaimSeen) =>
      isTrue(claim, 'DisruptionReason') &&
      !isTrue(claim, 'Rebooting') &&
      !isGoing(claim) &&
      metaOf(claim).annotations?.[traceKeys.stamp] === undefined
    const marked = new Set(claims.filter(isMarked).map((claim) => metaOf(claim).name))
    for (const name of this.#marks.keys()) if (!marked.has(name)) this.#marks.delete(name)
    if (!this.#isCalm || !this.#scene.isCalmFor(actMs) || this.#brakes.isPausedNow('disruption')) return
    for (const name of marked) {
      const ms = (this.#marks.get(name) ?? 0) + lookMs
      this.#marks.set(name, ms)
      if (ms > mostMarkedMs) this.note('marked without a command', name)
    }
  }

  /**
   * A process that stood still while its POST was under way makes a NodeClaim that another one knows nothing of. It takes it back before there is a VM:
   * that was no node.
   */
  #noteOverLimit(claims: readonly Json[], ofVms: ReadonlySet<string | undefined>): void {
    for (const [uid, what] of this.#overLimit) {
      const claim = claims.find((one) => metaOf(one).uid === uid)
      if (ofVms.has(uid) || (claim !== undefined && !isGoing(claim))) this.note('limit', what)
      if (claim === undefined || ofVms.has(uid)) this.#overLimit.delete(uid)
    }
  }

  /**
   * Looks at the limit of a NodePool that gets another NodeClaim. Until its launch a NodeClaim counts with what its pods request, so that sizes that are
   * larger exceed the limit later (docs/placement.md). Nodes that go, or are to be replaced, are no part of a run and count for no limit
   * (reference/karpenter-core.md 3.6).
   */
  #lookAtLimit(made: Json): void {
    const pool = poolOf(made)
    const claims = this.#claims().filter((claim) => poolOf(claim) === pool)
    const rules = this.#scene.rulesSince(pool, this.#scene.nowMs - staleMs)
    const most = rules.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...rules.map(({ cpuLimit }) => cpuLimit))
    const mostNodes =
      rules.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...rules.map(({ nodeLimit }) => nodeLimit))
    if (claims.length > mostNodes)
      this.#overLimit.set(metaOf(made).uid, `${pool} has ${claims.length} nodes of ${mostNodes}`)
    // What was made in place of a node that stays after all is over the limit: its command ended before it was done.
    const undone = new Set(
      this.#scene.fast.temporal.runs.filter(hasEndedUndone).map(({ identity }) => identity.workflowId),
    )
    const isSecond = (claim: Json) => {
      const { [traceKeys.replacementFor]: command = '' } = metaOf(claim).annotations ?? {}
      return undone.has(disruptionCommandId(clusterName, command))
    }
    // The machines of NodeClaims that are made again are there already.
    const isAdopted = (claim: Json) => metaOf(claim).annotations?.['joiner.sh/adopted-from'] !== undefined
    const staying = claims.filter(
      (claim) => !isGoing(claim) && !isTrue(claim, 'DisruptionReason') && !isSecond(claim) && !isAdopted(claim),
    )
    // The plan may have been held to the limit before the launch.
    const launchedMs = this.#scene.nowMs - actMs
    const cpus = staying.reduce((sum, claim) => {
      const own = isTrue(claim, 'Launched', launchedMs) ? cpuOf(claim) : undefined
      return sum + (own ?? requestedCpu(claim))
    }, 0)
    if (cpus > most) this.note('limit', `${pool} has ${cpus} vCPUs of ${most}`)
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
    if (this.#deadlineOf(nodeName) <= this.#scene.nowMs + this.#earlyMs)
      return this.#scene.count('pods deleted in time')
    this.note('pod deleted past its budget', `${path} on ${nodeName}`)
  }

  /** A clock that is less than a minute ahead counts as right (ADR 53). */
  get #earlyMs(): number {
    const ahead = [...this.#scene.fast.joiners.values()].map(({ process }) => process.skewMs)
    return earlyMs + Math.max(0, ...ahead.filter((ms) => ms <= 60_000))
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

  /** A command deletes no NodeClaim with a pod that somebody protects, if it could know, nor for a replacement that is lost. */
  #lookAtDeletion(path: string): void {
    const claim: ClaimSeen | undefined = this.#scene.fast.cluster.server.objects.find(path)
    const { [traceKeys.stamp]: command, [keys.cancelledAt]: cancelled } = (claim && metaOf(claim).annotations) ?? {}
    if (claim === undefined || isGoing(claim) || command === undefined || !this.#scene.isCalmFor(actMs)) return
    // Who cancels its lifecycle asks for its deletion, as kubectl delete nodeclaim does, and so does who deletes its Node.
    if (cancelled !== undefined || this.#isNodeDeletedByOthers(claim)) return
    const knownMs = this.#scene.nowMs - actMs
    if (isBoundByPods(claim)) this.#noteProtected('node deleted with a protected pod', claim, knownMs)
    const lost = this.#replacements.lostFor(claim, knownMs)
    if (lost !== undefined) this.note('node deleted for a lost replacement', `${path}, ${lost}`)
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
    const { struck, nowMs, foreign } = this.#scene
    const [pod] = this.#podsOn(name)
    if (pod === undefined || struck.has(name) || foreign.nodes.has(name)) return
    if (this.#isDeletionRestored(name)) return
    if (this.#deadlineOf(name) > nowMs + this.#earlyMs) this.note('VM ended with pods', `${name}, ${metaOf(pod).name}`)
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
    if (isGoing(object) && before !== undefined && !isGoing(before)) this.#scene.count('drains')
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
    this.#scene.count('nodes disrupted')
    this.#lookAtBudget(poolOf(object), since)
    const { name } = metaOf(object)
    if (this.#brakes.isPaused('disruption', since)) this.note('disrupted in a pause', name)
    if (this.#brakes.isHeld(object, since)) this.note('disrupted in a hold', name)
    if (isBoundByPods(object)) this.#noteProtected('disrupted with a protected pod', object, since)
  }

  #made(claim: Json): void {
    const { name, annotations = {} } = metaOf(claim)
    this.#scene.count('claims')
    // Its machine is there already: limits and pauses do not count (docs/adr/0054-lost-nodeclaims-are-made-again.md).
    if (keys.adoptedFrom in annotations) return
    this.#lookAtLimit(claim)
    const isReplacement = traceKeys.replacementFor in annotations
    if (!isReplacement && this.#brakes.isPaused('provisioning', this.#scene.nowMs - staleMs))
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

/** A disruption command that ended without its nodes. */
const hasEndedUndone = ({ identity, status, result }: Run) =>
  identity.workflowType === 'disruptionCommand' &&
  status !== 'running' &&
  (result as { readonly outcome?: string } | null | undefined)?.outcome !== 'done'

/** Whether a pod that must not be disrupted keeps a command from a node: not from a sick one, and not from a drifted one whose drain has an end. */
function isBoundByPods({ spec, status }: ClaimSeen): boolean {
  const reason = status?.conditions?.find(({ type }) => type === 'DisruptionReason')?.reason
  return reason !== 'Unhealthy' && (reason !== 'Drifted' || spec?.terminationGracePeriod === undefined)
}

/** A node whose VM goes already counts for no budget (reference/karpenter-core.md 4.10). */
const isDisrupted = (claim: Json) => isTrue(claim, 'DisruptionReason') && !isTrue(claim, 'InstanceTerminating')
