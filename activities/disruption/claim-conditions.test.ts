import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { conditionOf } from '../../core/conditions.ts'
import type { InstanceType } from '../../core/instance-type.ts'
import type { Condition } from '../../core/objects.ts'
import { sampleType } from '../../test/samples/sample-objects.ts'
import { refreshDrift } from '../azure/node-class/drift.ts'
import { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import { type ClaimConditionsDeps, keepClaimConditions } from './claim-conditions.ts'

const hour = 3_600_000
const start = Date.UTC(2026, 0, 1)
const time = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`
const log = pino({ level: 'silent' })
const classRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
const hashKeys = ['karpenter.sh/nodepool-hash', 'karpenter.sh/nodepool-hash-version'] as const
const classHash = ['karpenter.azure.com/aksnodeclass-hash', 'karpenter.azure.com/aksnodeclass-hash-version'] as const
const image = '/images/1'

/** An API server of one pool with its claims, as far as conditions are written, and the deps of a process that watches it. */
class SmallWorld {
  now = start
  writes = 0
  types: readonly InstanceType[] | undefined = [sampleType('d4', 4)]
  readonly cache = new ClusterCache(undefined as never, log)
  readonly #objects = new Map<string, Json>()
  #version = 0

  constructor(claims = 1) {
    this.put('NodePool', 'default', { spec: this.#poolSpec({}) })
    this.put('AKSNodeClass', 'default', { spec: {} })
    const hash = this.cache.nodePools.get('default')?.template.hash ?? ''
    this.stamp(hash)
    const labels = {
      'karpenter.sh/nodepool': 'default',
      'karpenter.sh/capacity-type': 'spot',
      'node.kubernetes.io/instance-type': 'd4',
      'topology.kubernetes.io/zone': 'zone-1',
    }
    const annotations = { [hashKeys[0]]: hash, [hashKeys[1]]: 'v3', [classHash[0]]: '1', [classHash[1]]: 'v3' }
    const conditions = ['Launched', 'Registered', 'Initialized'].map((type) => ({
      type,
      status: 'True',
      reason: type,
      message: '',
      lastTransitionTime: time(start),
      observedGeneration: 1,
    }))
    for (let i = 0; i < claims; i++)
      this.put('NodeClaim', `c${i}`, {
        metadata: { labels, annotations },
        spec: { nodeClassRef: classRef },
        status: { conditions, providerID: `azure:///c${i}`, imageID: image },
      })
  }

  get deps(): ClaimConditionsDeps {
    const patchStatus = (path: string, { status }: { readonly status: object }): Promise<Json> => {
      this.writes += 1
      const name = path.split('/').at(-1) ?? ''
      const before = this.#objects.get(`NodeClaim/${name}`)?.['status'] as object
      return Promise.resolve(this.put('NodeClaim', name, { status: { ...before, ...status } }))
    }
    return {
      cache: this.cache,
      client: { patchStatus, inTurn: (_: string, section: () => unknown) => section() },
      catalogue: { sizes: { answer: this.types }, instanceTypesFor: () => this.types },
      config: { kubeletIdentityClientId: '' },
      events: { recordTransitions: () => {} },
      log,
      now: () => this.now,
    } as unknown as ClaimConditionsDeps
  }

  /** Edits an object as a user would: another spec is another generation. */
  put(kind: 'NodePool' | 'AKSNodeClass' | 'NodeClaim', name: string, change: Record<string, unknown>): Json {
    const key = `${kind}/${name}`
    const before = (this.#objects.get(key) ?? {}) as { metadata?: { generation?: number; annotations?: object } }
    this.#version += 1
    const { metadata, ...rest } = change
    const generation = (before.metadata?.generation ?? 0) + (change['spec'] === undefined ? 0 : 1)
    const json = {
      ...before,
      ...rest,
      metadata: {
        creationTimestamp: time(start),
        uid: key,
        ...before.metadata,
        ...(metadata as object | undefined),
        name,
        generation,
        resourceVersion: String(this.#version),
      },
    }
    this.#objects.set(key, json)
    this.cache.upsert(kind, json)
    return json
  }

  edit(change: {
    readonly labels?: object
    readonly requirements?: readonly object[]
    readonly consolidateAfter?: string
  }) {
    this.put('NodePool', 'default', { spec: this.#poolSpec(change) })
  }

  /** Writes the annotation as the pass over NodePools does after an edit. */
  stamp(hash: string) {
    this.put('NodePool', 'default', { metadata: { annotations: { [hashKeys[0]]: hash, [hashKeys[1]]: 'v3' } } })
  }

  editClass(hash: string) {
    this.put('AKSNodeClass', 'default', { metadata: { annotations: { [classHash[0]]: hash, [classHash[1]]: 'v3' } } })
  }

  condition(type: string, name = 'c0'): Condition | undefined {
    return conditionOf(this.cache.nodeClaims.get(name)?.status.conditions ?? [], type)
  }

  /** Runs one pass. Returns how many writes it took, and why the first claim has drifted. */
  async pass() {
    const before = this.writes
    await keepClaimConditions(this.deps)
    return { writes: this.writes - before, drifted: this.condition('Drifted')?.reason }
  }

  #poolSpec({ labels = {}, requirements = [], consolidateAfter = '1h' }: Parameters<SmallWorld['edit']>[0]) {
    return {
      template: { metadata: { labels }, spec: { nodeClassRef: classRef, requirements } },
      disruption: { consolidateAfter },
    }
  }
}

const onDemand = [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }]

describe('Drifted as NodePools say', () => {
  it('follows an edit of the template at all claims, and its reversal, with one write each', async () => {
    const world = new SmallWorld(3)
    expect(await world.pass()).toEqual({ writes: 0, drifted: undefined })
    world.edit({ labels: { team: 'a' } })
    expect(await world.pass()).toEqual({ writes: 3, drifted: 'NodePoolDrifted' })
    // The annotation that follows changes nothing.
    world.stamp(world.cache.nodePools.get('default')?.template.hash ?? '')
    expect(await world.pass()).toEqual({ writes: 0, drifted: 'NodePoolDrifted' })
    world.edit({})
    expect(await world.pass()).toEqual({ writes: 3, drifted: undefined })
    world.edit({ requirements: onDemand })
    expect(await world.pass()).toEqual({ writes: 3, drifted: 'RequirementsDrifted' })
    expect(await world.pass()).toEqual({ writes: 0, drifted: 'RequirementsDrifted' })
    world.edit({})
    expect(await world.pass()).toEqual({ writes: 3, drifted: undefined })
  })

  it('compares hashes of an older version among themselves', async () => {
    const world = new SmallWorld()
    const annotate = (kind: 'NodePool' | 'NodeClaim', name: string, hash: string) =>
      world.put(kind, name, { metadata: { annotations: { [hashKeys[0]]: hash, [hashKeys[1]]: 'v2' } } })
    annotate('NodePool', 'default', '7')
    expect(await world.pass()).toEqual({ writes: 0, drifted: undefined })
    annotate('NodeClaim', 'c0', '8')
    expect(await world.pass()).toEqual({ writes: 1, drifted: 'NodePoolDrifted' })
  })

  it('looks a claim up in what can be bought once it is an hour old, if that is known', async () => {
    const world = new SmallWorld()
    const { types } = world
    world.edit({ consolidateAfter: 'Never' })
    world.types = [sampleType('d8', 8)]
    world.now = start + hour
    expect(await world.pass()).toEqual({ writes: 0, drifted: undefined })
    world.types = undefined
    world.now += 1
    expect(await world.pass()).toEqual({ writes: 0, drifted: undefined })
    world.types = []
    expect(await world.pass()).toEqual({ writes: 0, drifted: undefined })
    world.types = [sampleType('d8', 8)]
    expect(await world.pass()).toEqual({ writes: 1, drifted: 'InstanceTypeNotFound' })
    world.types = undefined
    expect(await world.pass()).toEqual({ writes: 0, drifted: 'InstanceTypeNotFound' })
    world.types = types
    expect(await world.pass()).toEqual({ writes: 1, drifted: undefined })
    world.types = [{ ...sampleType('d4', 4), offerings: [] }]
    expect(await world.pass()).toEqual({ writes: 1, drifted: 'InstanceTypeNotFound' })
  })

  it('and as AKSNodeClasses say is one condition, about which two writers agree', async () => {
    const world = new SmallWorld()
    const reason = () => world.condition('Drifted')?.reason
    world.editClass('2')
    await refreshDrift(world.deps)
    expect(reason()).toBe('NodeClassDrift')
    expect(await world.pass()).toEqual({ writes: 0, drifted: 'NodeClassDrift' })
    world.edit({ labels: { team: 'a' } })
    expect(await world.pass()).toEqual({ writes: 1, drifted: 'NodePoolDrifted' })
    const { writes } = world
    await refreshDrift(world.deps)
    expect([world.writes, reason()]).toEqual([writes, 'NodePoolDrifted'])
    // The pool's reason goes: the class's reason is reported at once, without a moment of none.
    world.edit({})
    expect(await world.pass()).toEqual({ writes: 1, drifted: 'NodeClassDrift' })
    world.editClass('1')
    expect(await world.pass()).toEqual({ writes: 0, drifted: 'NodeClassDrift' })
    await refreshDrift(world.deps)
    expect(reason()).toBeUndefined()
  })
})

describe('Consolidatable', () => {
  it('comes with time, and goes with a pod event or another setting', async () => {
    const world = new SmallWorld()
    world.now = start + hour - 1
    expect((await world.pass()).writes).toBe(0)
    world.now += 1
    expect((await world.pass()).writes).toBe(1)
    expect(world.condition('Consolidatable')?.status).toBe('True')
    const { status } = world.cache.nodeClaims.get('c0') ?? {}
    world.put('NodeClaim', 'c0', {
      status: { conditions: status?.conditions, providerID: 'azure:///c0', lastPodEventTime: time(world.now) },
    })
    expect((await world.pass()).writes).toBe(1)
    expect(world.condition('Consolidatable')).toBeUndefined()
    world.edit({ consolidateAfter: '0s' })
    await world.pass()
    expect(world.condition('Consolidatable')?.status).toBe('True')
    world.edit({ consolidateAfter: 'Never' })
    await world.pass()
    expect(world.condition('Consolidatable')).toBeUndefined()
  })
})

describe('upstream nodeclaim/disruption', () => {
  it('should set and remove multiple disruption conditions simultaneously', async () => {
    const world = new SmallWorld()
    const both = () => ['Drifted', 'Consolidatable'].map((type) => world.condition(type)?.status)
    expect((await world.pass()).writes).toBe(0)
    world.edit({ labels: { team: 'a' }, consolidateAfter: '30s' })
    world.now = start + 60_000
    expect(await world.pass()).toEqual({ writes: 1, drifted: 'NodePoolDrifted' })
    expect(both()).toEqual(['True', 'True'])
    world.edit({ consolidateAfter: 'Never' })
    expect(await world.pass()).toEqual({ writes: 1, drifted: undefined })
    expect(both()).toEqual([undefined, undefined])
  })

  it.each(['Unknown', 'False'])(
    'should remove the status condition from the nodeClaim when the nodeClaim launch condition is %s',
    async (status) => {
      const world = new SmallWorld()
      world.edit({ labels: { team: 'a' } })
      expect((await world.pass()).drifted).toBe('NodePoolDrifted')
      const conditions = (world.cache.nodeClaims.get('c0')?.status.conditions ?? []).map((one) =>
        one.type === 'Launched' ? { ...one, status } : one,
      )
      world.put('NodeClaim', 'c0', { status: { conditions, providerID: 'azure:///c0' } })
      expect((await world.pass()).drifted).toBeUndefined()
    },
  )
})
