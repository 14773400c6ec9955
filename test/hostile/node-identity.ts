// Whoever has the credentials of one node's kubelet: what it asks for, and what the cluster makes of that.
import { heldNodeMs } from '../../core/machines-in-use.ts'
import { timeText } from '../../core/values/time.ts'
import { deployment, nodePool } from '../applied-objects.ts'
import { maintained } from '../observed/maintenance-passes.ts'
import { asNode, conditionOf, idOf, node } from '../ownership/foreign.ts'
import { releasedPool } from '../proofs/rolling-out.ts'
import { claimsPath, isTrue, type Seen, type World } from '../world.ts'

/** How long Joiner has for each step. A promise in minutes is kept in virtual time, and cut short on real servers. */
const patienceMs = heldNodeMs + 120_000

const poolsPath = '/apis/karpenter.sh/v1/nodepools'
type CountedPool = Seen & { readonly status?: { readonly nodes?: number } }

const poolKey = 'karpenter.sh/nodepool'
const foreign = 'example.com/held'
const rogue = 'aks-rogue'

/** What a kubelet says of its own Node, other than registration did. */
const lies = {
  [poolKey]: 'bystander',
  'karpenter.sh/registered': null,
  'karpenter.sh/initialized': null,
  'karpenter.sh/capacity-type': 'spot',
  'node.kubernetes.io/instance-type': 'Standard_M128ms',
  'topology.kubernetes.io/zone': 'nowhere-1',
}

export interface NodeIdentityReport {
  /** Requests of the node's identity that the API server took, and that it refused. */
  readonly taken: readonly string[]
  readonly refused: readonly string[]
  /** Promises that were not kept, in words. */
  readonly broken: readonly string[]
}

/**
 * Plays a node's identity: it asks for what it may not, lies about its node, poses as another node and holds its own Node. Beside it is another node,
 * which must not notice. `isReal`: whether the API server has an authorizer, so that what no kubelet may do is tried at all.
 */
export async function nodeIdentityScenario(
  world: World,
  { isReal }: { readonly isReal: boolean },
): Promise<NodeIdentityReport> {
  const identity = new NodeIdentity(world)
  await identity.begin()
  if (isReal) await identity.tryForbidden()
  await identity.pose()
  await identity.lie()
  await identity.hold(isReal)
  await identity.end()
  return identity.report
}

class NodeIdentity {
  readonly report = { taken: [] as string[], refused: [] as string[], broken: [] as string[] }
  readonly #world: World
  #own = ''
  #other: Seen | undefined

  constructor(world: World) {
    this.#world = world
  }

  /** Makes two nodes of a pool each. The first one is in the hands of somebody else from then on. */
  async begin(): Promise<void> {
    const world = this.#world
    const pods = ['watched', 'bystander'].map((name) =>
      deployment({ name, replicas: 1, nodeSelector: { [poolKey]: name } }),
    )
    await world.apply(releasedPool('1', 100, 'watched'), nodePool({ name: 'bystander' }), ...pods)
    for (const name of ['watched', 'bystander'])
      await world.until(`pod ${name} runs`, async () => (await world.running(name)) === 1)
    this.#own = (await this.#claimOf('watched'))?.metadata.name ?? ''
    this.#other = await this.#claimOf('bystander')
  }

  /** Asks for what Kubernetes refuses to a kubelet. */
  async tryForbidden(): Promise<void> {
    const [own, other] = [`aks-${this.#own}`, `aks-${this.#other?.metadata.name}`]
    const patch = (name: string, change: object) => [
      'patch',
      'node',
      name,
      '--type=merge',
      '-p',
      JSON.stringify(change),
    ]
    const requests: readonly (readonly [what: string, args: readonly string[]])[] = [
      ['labels another Node', ['label', 'node', other, 'example.com/any=label']],
      ['holds another Node', patch(other, { metadata: { finalizers: [foreign] } })],
      ['deletes another Node', ['delete', 'node', other, '--wait=false']],
      ['deletes its own Node', ['delete', 'node', own, '--wait=false']],
      ['takes the taints off its own Node', patch(own, { spec: { taints: [{ key: 'own', effect: 'NoSchedule' }] } })],
      ['takes its own Node from its NodeClaim', patch(own, { metadata: { ownerReferences: null } })],
      ['deletes a NodeClaim', ['delete', 'nodeclaim', this.#other?.metadata.name ?? '', '--wait=false']],
      ['changes its own NodeClaim', ['label', 'nodeclaim', this.#own, 'example.com/any=label']],
      ['deletes a NodePool', ['delete', 'nodepool', 'bystander', '--wait=false']],
    ]
    for (const [what, args] of requests)
      if (await this.#asks(what, () => asNode(this.#world, own)(args))) this.report.broken.push(`a kubelet ${what}`)
  }

  /** Registers a Node with the provider id of the other node's VM. The chart's policy refuses that; where it is taken, Joiner has to see through it. */
  async pose(): Promise<void> {
    const claim = this.#other
    const labels = { ...claim?.metadata.labels, 'karpenter.sh/registered': 'true', 'karpenter.sh/initialized': 'true' }
    const posing = node(rogue, idOf(`aks-${claim?.metadata.name}`), labels)
    const register = () => asNode(this.#world, rogue)(['apply', '-f', '-'], posing)
    const isTaken = await this.#asks('registers a Node with the provider id of another VM', register)
    if (isTaken)
      await this.#promise('such a Node is reported', async () => (await this.#says('ForeignProviderId', rogue)) !== '')
  }

  /** Says that its node is another one, and has a finalizer of its own. The NodePool's drift has to take the node all the same. */
  async lie(): Promise<void> {
    const world = this.#world
    const change = JSON.stringify({ metadata: { labels: lies, finalizers: ['karpenter.sh/termination', foreign] } })
    const patch = ['patch', 'node', `aks-${this.#own}`, '--type=merge', '-p', change]
    if (!(await this.#asks('lies about its node, and holds it', () => asNode(world, `aks-${this.#own}`)(patch))))
      this.report.broken.push('a kubelet may not change its labels and finalizers, so nothing was tried')
    await this.#promise('each NodePool counts its own node', async () => {
      const { items } = await world.operator.api<{ readonly items: readonly CountedPool[] }>('GET', poolsPath)
      const own = items.filter(({ metadata }) => ['watched', 'bystander'].includes(metadata.name))
      return own.every(({ status }) => status?.nodes === 1)
    })
    await this.#promise('joiner why has the node in its own NodePool', async () => {
      const printed = await world.joiner('why', 'node', `aks-${this.#own}`, '--output', 'json')
      return (JSON.parse(printed) as { readonly nodePool?: string }).nodePool === 'watched'
    })
    await world.apply(releasedPool('2', 100, 'watched'))
    await this.#promise('a node that lies drifts, and is replaced first', async () => {
      const claim = await this.#claimOf('watched')
      const isGoing = (await this.#ownClaim())?.metadata.deletionTimestamp !== undefined
      return isGoing && claim !== undefined && isTrue(claim, 'Initialized')
    })
  }

  /** Holds its Node when the VM is gone: that is reported, and keeps neither the NodeClaim nor the NodePool from going. */
  async hold(isReal: boolean): Promise<void> {
    const world = this.#world
    const name = `aks-${this.#own}`
    await this.#promise('a Node that is held is reported on its NodeClaim', async () =>
      conditionOf(await this.#ownClaim(), 'NodeDeleted')?.message.includes(foreign),
    )
    await world.operator.kubectl(['delete', 'deployment', 'watched'])
    await world.operator.kubectl(['delete', 'nodepool', 'watched', '--cascade=foreground', '--wait=false'])
    if (isReal) await this.#backdate()
    await this.#promise('NodeClaim and NodePool go without it', async () => {
      const pools = await world.list('nodepools')
      return (await this.#ownClaim()) === undefined && pools.every(({ metadata }) => metadata.name !== 'watched')
    })
    await maintained(world)
    const left = (await world.list('nodes')).find(({ metadata }) => metadata.name === name)
    if (left?.metadata.finalizers?.join() !== foreign)
      this.report.broken.push(
        `Node ${name} has the finalizers ${left?.metadata.finalizers?.join()} in place of ${foreign}`,
      )
    if ((await this.#says('GarbageCollected', name)) !== '')
      this.report.broken.push(`Node ${name} is taken for garbage`)
    if (!(await this.#says('NodeHeldByFinalizers', name)).includes(`kubectl patch node ${name}`))
      this.report.broken.push(`no event of Node ${name} says how to remove its finalizer`)
    if (!(await this.#isMeasured(name))) this.report.broken.push(`no metric names Node ${name}`)
  }

  /** Does what the event says, and takes away what is left. */
  async end(): Promise<void> {
    const world = this.#world
    const name = `aks-${this.#own}`
    await world.operator.kubectl(['patch', 'node', name, '--type=merge', '-p', '{"metadata":{"finalizers":null}}'])
    await this.#promise('without the finalizer the Node is gone', async () => {
      const isThere = (await world.list('nodes')).some(({ metadata }) => metadata.name === name)
      return !isThere && !(await this.#isMeasured(name))
    })
    const { name: other, uid } = this.#other?.metadata ?? {}
    const after = (await world.list('nodeclaims')).find(({ metadata }) => metadata.name === other)
    if (after?.metadata.uid !== uid || after?.metadata.deletionTimestamp !== undefined)
      this.report.broken.push(`NodeClaim ${other} of the other node is not as it was`)
    if ((await world.running('bystander')) !== 1) this.report.broken.push('the pod of the other node does not run')
    await world.operator.kubectl(['delete', 'node', rogue, '--ignore-not-found'])
    await world.operator.kubectl(['delete', 'deployment', 'bystander'])
    await world.operator.kubectl(['delete', 'nodepool', 'bystander', '--wait=false'])
  }

  async #asks(what: string, request: () => Promise<unknown>): Promise<boolean> {
    const isTaken = await request().then(
      () => true,
      (error: unknown) => {
        if (!/forbidden|denied|is not allowed|cannot/i.test(String(error))) throw error
        return false
      },
    )
    this.report[isTaken ? 'taken' : 'refused'].push(what)
    return isTaken
  }

  async #promise(what: string, isKept: () => Promise<boolean | undefined>): Promise<void> {
    await this.#world.until(what, isKept, patienceMs).catch((error: unknown) => {
      this.report.broken.push(`not kept: ${what} (${String(error).slice(0, 300)})`)
    })
  }

  async #claimOf(pool: string): Promise<Seen | undefined> {
    const claims = await this.#world.list('nodeclaims')
    const own = claims.filter(({ metadata }) => metadata.labels?.[poolKey] === pool)
    return own.find(({ metadata }) => metadata.deletionTimestamp === undefined)
  }

  async #ownClaim(): Promise<Seen | undefined> {
    return (await this.#world.list('nodeclaims')).find(({ metadata }) => metadata.name === this.#own)
  }

  /** The messages of a reason about a Node. */
  async #says(reason: string, name: string): Promise<string> {
    const events = await this.#world.list('events')
    const own = events.filter((event) => event.reason === reason && event.involvedObject?.name === name)
    return own.map(({ message }) => message).join('\n')
  }

  async #isMeasured(name: string): Promise<boolean> {
    const series = `joiner_nodes_held_by_finalizers{node_name="${name}"}`
    return Object.hasOwn(await this.#world.metrics(), series)
  }

  /** Has five minutes pass for the NodeClaim. */
  async #backdate(): Promise<void> {
    const claim = await this.#ownClaim()
    const lastTransitionTime = timeText(Date.now() - heldNodeMs)
    const conditions = claim?.status?.conditions?.map((one) =>
      one.type === 'NodeDeleted' ? { ...one, lastTransitionTime } : one,
    )
    const path = `${claimsPath}/${this.#own}/status`
    if (conditions !== undefined) await this.#world.operator.api('PATCH', path, { status: { conditions } })
  }
}
