import { describe, expect, test, vi } from 'vitest'
import type { Proposed, Validation } from '../../core/disruption/validate.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { samplePod } from '../../core/sample-objects.ts'
import { asAttempt } from '../../test/fakes/attempt.ts'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { at, claimJson, condition, nodeClassJson, nodeJson, poolJson } from '../../test/fakes/objects.ts'
import { plannedClaim, planningDeps } from '../../test/fakes/planning.ts'
import { ended, useFakeTime } from '../../test/fakes/time.ts'
import { ApiError, type Json } from '../kubernetes/client/client.ts'
import type { CommitOutcome, DisruptionProposal } from '../planning/contract.ts'
import { commitDisruptions } from './disruption-commit.ts'
import { memoryOf } from './disruption-memory.ts'

useFakeTime()

const id = 'multi-node-0123456789'
const stampKey = 'joiner.sh/disruption-command'
const replacementKey = 'joiner.sh/replacement-for'
const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }

function proposal(names: readonly string[], change: Partial<DisruptionProposal> = {}): DisruptionProposal {
  return {
    id,
    method: 'multi-node',
    reason: 'Underutilized',
    decision: 'replace',
    forced: false,
    candidates: names.map((name) => ({ name, uid: `uid-${name}`, nodeName: `aks-${name}`, nodePool: 'default' })),
    replacements: 1,
    savings: 0.5,
    ...change,
  }
}

const empty = (names: readonly string[], change: Partial<DisruptionProposal> = {}) =>
  proposal(names, {
    id: 'emptiness-0123456789',
    method: 'emptiness',
    reason: 'Empty',
    decision: 'delete',
    replacements: 0,
    ...change,
  })

async function world(names: readonly string[] = ['a', 'b'], look?: (proposed: Proposed) => Validation | undefined) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson())
  cluster.put('aksnodeclasses', nodeClassJson())
  for (const name of names) {
    cluster.put('nodeclaims', claimJson(name))
    cluster.put('nodes', nodeJson(name))
  }
  const known = await planningDeps(cluster, look)
  known.plan.replacements = [plannedClaim()]
  return {
    cluster,
    ...known,
    /** Commits as an attempt of the activity, counted from 1. */
    commit: (proposals: readonly DisruptionProposal[], attempt = 1) =>
      ended(asAttempt(attempt, () => commitDisruptions(known.deps, proposals))),
  }
}

/** What a command has left on each claim and its Node; `free`: nothing. */
function marksOf(cluster: FakeCluster, names: readonly string[] = ['a', 'b']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.map((name) => {
      const claim = cluster.object('nodeclaims', name)
      const node = cluster.object('nodes', `aks-${name}`)
      const why = claim?.status.conditions.find(({ type }) => type === 'DisruptionReason')?.reason
      const stamp = claim?.metadata.annotations[stampKey]
      const marks = [
        ...(node?.spec.taints.some(({ key }) => key === disrupted.key) ? ['taint'] : []),
        ...(why === undefined ? [] : [why]),
        ...(stamp === undefined ? [] : [stamp]),
      ]
      return [name, marks.join(' ') || 'free']
    }),
  )
}

const free = { a: 'free', b: 'free' }
const begun = { a: `taint Underutilized ${id}`, b: `taint Underutilized ${id}` }
const replacementsIn = (cluster: FakeCluster) =>
  cluster.all('nodeclaims').filter(({ metadata }) => metadata.annotations[replacementKey] !== undefined)

describe('a proposal that holds', () => {
  test('is begun: taint, condition and stamp on each candidate, one replacement with a lifecycle', async () => {
    const { cluster, commit, lifecycles } = await world()
    const [outcome] = await commit([proposal(['a', 'b'])])
    expect(marksOf(cluster)).toEqual(begun)
    const [made] = replacementsIn(cluster)
    expect(made?.metadata).toMatchObject({
      name: 'default-0123456789-0',
      annotations: { [replacementKey]: id },
      finalizers: ['karpenter.sh/termination'],
    })
    expect(lifecycles.started).toEqual(['default-0123456789-0'])
    expect(outcome).toEqual({
      kind: 'committed',
      candidates: proposal(['a', 'b']).candidates,
      replacements: [{ name: 'default-0123456789-0', uid: made?.metadata.uid }],
      readyByMs: Date.parse(at(600)),
      savings: 0.25,
    })
  })

  test('marks before it creates, and stamps last: with the stamp the pods would be given other nodes', async () => {
    const { cluster, commit } = await world()
    const seen: unknown[] = []
    cluster.intercept(({ verb, path, body }) => {
      if (verb === 'create' && path.endsWith('/nodeclaims')) seen.push(['create', marksOf(cluster)])
      if (verb === 'patch' && JSON.stringify(body).includes(stampKey))
        seen.push(['stamp', replacementsIn(cluster).length])
    })
    await commit([proposal(['a', 'b'])])
    expect(seen).toEqual([
      ['create', { a: 'taint Underutilized', b: 'taint Underutilized' }],
      ['stamp', 1],
      ['stamp', 1],
    ])
  })

  test('without replacements creates none', async () => {
    const { cluster, commit, plan } = await world()
    plan.replacements = []
    const [outcome] = await commit([empty(['a', 'b'])])
    expect(outcome).toMatchObject({ kind: 'committed', replacements: [] })
    expect(cluster.names('nodeclaims')).toEqual(['a', 'b'])
    expect(marksOf(cluster)).toEqual({ a: 'taint Empty emptiness-0123456789', b: 'taint Empty emptiness-0123456789' })
  })

  test('is looked at twice: before it is marked and after', async () => {
    const { commit, plan } = await world()
    await commit([proposal(['a', 'b'])])
    expect(plan.looks).toBe(2)
  })

  test('counts on the places that its pods are to have, and tells the pods', async () => {
    const { commit, plan, deps, told } = await world()
    const pod = samplePod('web')
    plan.replacements = [plannedClaim({ pods: [pod] })]
    await commit([proposal(['a', 'b'])])
    expect([...deps.nominations.targets(Date.now())]).toEqual(['default-0123456789-0'])
    expect(told.find(({ reason }) => reason === 'Nominated')?.about).toBe('Pod/web')
    expect(told.find(({ reason }) => reason === 'DisruptionLaunching')?.message).toBe(
      'Launching NodeClaim: Underutilized',
    )
  })

  test.each([
    [1, 600],
    [200, 600],
    [8000, 640],
    [46_000, 3600],
  ])('beside %i claims in flight gives its replacements %i s', async (inFlight, seconds) => {
    const { commit, deps } = await world(['a'])
    const { nodeClaims } = deps.cache
    const [own] = nodeClaims.values()
    const stamped = { ...own, metadata: { ...own?.metadata, annotations: { [stampKey]: 'other' } } } as NodeClaim
    const values = nodeClaims.values.bind(nodeClaims)
    // They are many, and only counted.
    nodeClaims.values = () => [...values(), ...Array.from({ length: inFlight - 1 }, () => stamped)]
    const [outcome] = await commit([proposal(['a'])])
    expect(outcome).toMatchObject({ kind: 'committed', readyByMs: Date.parse(at(seconds)) })
  })
})

describe('a proposal that does not hold', () => {
  const invalid = (reason: 'budget' | 'scheduling' | 'churn'): Validation => ({
    kind: 'invalid',
    reason,
    message: `no: ${reason}`,
  })

  test.each(['budget', 'scheduling', 'churn'] as const)('(%s) at the first look changes nothing', async (reason) => {
    const { cluster, commit, told } = await world(['a', 'b'], () => invalid(reason))
    const [outcome] = await commit([proposal(['a', 'b'])])
    expect(outcome).toEqual({ kind: 'rejected', message: `no: ${reason}` })
    expect(marksOf(cluster)).toEqual(free)
    expect(replacementsIn(cluster)).toEqual([])
    expect(told.filter(({ reason: why }) => why === 'ConsolidationRejected').map(({ about }) => about)).toEqual([
      'Node/aks-a',
      'NodeClaim/a',
      'Node/aks-b',
      'NodeClaim/b',
    ])
  })

  test('after the marks is undone, and left alone for a while', async () => {
    let looks = 0
    const { cluster, commit, deps } = await world(['a', 'b'], () => (++looks === 2 ? invalid('churn') : undefined))
    const [outcome] = await commit([proposal(['a', 'b'])])
    expect(outcome).toEqual({ kind: 'rejected', message: 'no: churn' })
    expect(marksOf(cluster)).toEqual(free)
    expect([...memoryOf(deps).resting().nodeClaims].sort()).toEqual(['a', 'b'])
  })

  test('takes nothing from another that does', async () => {
    const { cluster, commit } = await world(['a', 'b'], ({ candidates }) =>
      candidates.includes('uid-a') ? invalid('budget') : undefined,
    )
    const outcomes = await commit([
      proposal(['a']),
      proposal(['b'], { id: 'drift-9876543210', method: 'drift', reason: 'Drifted' }),
    ])
    expect(outcomes.map(({ kind }) => kind)).toEqual(['rejected', 'committed'])
    expect(marksOf(cluster)).toEqual({ a: 'free', b: 'taint Drifted drift-9876543210' })
  })

  test('of drift is told to nobody by events, as upstream', async () => {
    const { commit, told } = await world(['a'], () => invalid('scheduling'))
    await commit([proposal(['a'], { method: 'drift', reason: 'Drifted' })])
    expect(told.filter(({ reason }) => reason === 'ConsolidationRejected')).toEqual([])
  })
})

test('of empty nodes those that did not stay empty are left out and freed', async () => {
  let looks = 0
  const { cluster, commit, plan, deps } = await world(['a', 'b'], (proposed) => {
    looks += 1
    if (looks === 1) return undefined
    const claim = deps.cache.nodeClaims.get('a')
    return {
      kind: 'valid',
      command: {
        ...proposed,
        candidates: [{ nodeClaim: claim, nodePool: { metadata: { name: 'default' } } }],
        replacements: [],
        savings: 0.1,
      } as never,
    }
  })
  plan.replacements = []
  const [outcome] = await commit([empty(['a', 'b'])])
  expect(outcome).toMatchObject({ kind: 'committed', candidates: [{ name: 'a' }], savings: 0.1 })
  expect(marksOf(cluster)).toEqual({ a: 'taint Empty emptiness-0123456789', b: 'free' })
})

describe('a pause', () => {
  const write = (cluster: FakeCluster, key: string, text = JSON.stringify({ reason: 'upgrade', since: at(0) })) =>
    cluster.put('configmaps', { metadata: { name: 'joiner-pauses', namespace: 'joiner' }, data: { [key]: text } })

  test.each([
    'disruption',
    'disruption.nodepool.default',
    'disruption.node.aks-b',
    'disruption.node.b',
    'disruption.reason.Underutilized',
    'disruption.rubbish',
  ])('%s lets nothing be marked', async (key) => {
    const { cluster, commit } = await world()
    write(cluster, key)
    const [outcome] = await commit([proposal(['a', 'b'])])
    expect(outcome).toMatchObject({ kind: 'rejected', message: expect.stringContaining('paused') as string })
    expect(marksOf(cluster)).toEqual(free)
    expect(cluster.attempts.filter((attempt) => attempt.startsWith('patch'))).toEqual([])
  })

  test.each(['provisioning', 'disruption.nodepool.other', 'disruption.node.aks-c', 'disruption.reason.Drifted'])(
    '%s is about something else',
    async (key) => {
      const { cluster, commit } = await world()
      write(cluster, key)
      expect(await commit([proposal(['a', 'b'])])).toMatchObject([{ kind: 'committed' }])
    },
  )

  test('of one pool lets a proposal for another go on', async () => {
    const { cluster, commit } = await world()
    write(cluster, 'disruption.node.aks-a')
    const outcomes = await commit([
      proposal(['a']),
      proposal(['b'], { id: 'single-node-0000000001', method: 'single-node' }),
    ])
    expect(outcomes.map(({ kind }) => kind)).toEqual(['rejected', 'committed'])
  })

  test.each([
    [
      'between two batches of marks',
      ({ verb, path }: { verb: string; path: string }) => verb === 'patch' && path.endsWith('/nodes/aks-n5'),
    ],
    [
      'between the marks and the replacements',
      ({ verb, path }: { verb: string; path: string }) => verb === 'patch' && path.endsWith('/nodes/aks-n14'),
    ],
  ])('that comes %s is obeyed, and what was done is undone', async (_, when) => {
    const names = Array.from({ length: 15 }, (_unused, index) => `n${index}`)
    const { cluster, commit } = await world(names)
    cluster.intercept((request) => {
      if (when(request)) write(cluster, 'disruption')
    })
    const [outcome] = await commit([proposal(names)])
    expect(outcome).toMatchObject({ kind: 'rejected' })
    expect(new Set(Object.values(marksOf(cluster, names)))).toEqual(new Set(['free']))
    expect(replacementsIn(cluster)).toEqual([])
  })

  test('that cannot be read from the API server begins nothing', async () => {
    const { cluster, commit } = await world()
    cluster.intercept(({ path }) => {
      if (path.endsWith('/configmaps/joiner-pauses')) throw new ApiError(500, 'InternalError', 'etcd is away')
    })
    await expect(commit([proposal(['a', 'b'])])).rejects.toThrow('etcd is away')
    expect(marksOf(cluster)).toEqual(free)
  })
})

describe('what fails on the way', () => {
  const failing: [string, (request: { verb: string; path: string; body?: unknown }) => boolean][] = [
    ['a taint', ({ verb, path }) => verb === 'patch' && path.endsWith('/nodes/aks-b')],
    ['a condition', ({ verb, path }) => verb === 'patch' && path.endsWith('/nodeclaims/b/status')],
    ['a replacement', ({ verb, path }) => verb === 'create' && path.endsWith('/nodeclaims')],
    [
      'a stamp',
      ({ verb, path, body }) =>
        verb === 'patch' && path.endsWith('/nodeclaims/b') && JSON.stringify(body).includes(`${stampKey}":"`),
    ],
  ]

  test.each(failing)('at %s is undone, and fails the attempt', async (_, isIt) => {
    const { cluster, commit } = await world()
    let isFirst = true
    cluster.intercept((request) => {
      if (!isIt(request) || !isFirst) return
      isFirst = false
      throw new ApiError(500, 'InternalError', 'etcd is away')
    })
    await expect(commit([proposal(['a', 'b'])])).rejects.toThrow('etcd is away')
    expect(marksOf(cluster)).toEqual(free)
    expect(replacementsIn(cluster).filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([])
  })

  test('for one proposal lets the other go on, and the next attempt finds it', async () => {
    const { cluster, commit } = await world()
    let isFirst = true
    cluster.intercept(({ verb, path, body }) => {
      if (!isFirst || verb !== 'patch' || !path.endsWith('/nodeclaims/a') || !JSON.stringify(body).includes(stampKey))
        return
      isFirst = false
      throw new ApiError(500, 'InternalError', 'etcd is away')
    })
    const other = proposal(['b'], { id: 'single-node-0000000001', method: 'single-node' })
    await expect(commit([proposal(['a']), other])).rejects.toThrow('etcd is away')
    expect(marksOf(cluster)).toEqual({ a: 'free', b: 'taint Underutilized single-node-0000000001' })
    const outcomes = await commit([proposal(['a']), other], 2)
    expect(outcomes.map(({ kind }) => kind)).toEqual(['rejected', 'committed'])
    expect(marksOf(cluster)).toEqual({ a: 'free', b: 'taint Underutilized single-node-0000000001' })
  })

  test('a pool without room for the replacement is left alone for a while, all of it', async () => {
    const { cluster, commit, deps } = await world()
    cluster.edit('nodepools', 'default', { spec: { limits: { cpu: '0' } } })
    const [outcome] = await commit([proposal(['a', 'b'])])
    expect(outcome).toMatchObject({
      kind: 'rejected',
      message: expect.stringMatching(/^no replacement can be created: NodePool default: spec.limits/) as string,
    })
    expect(marksOf(cluster)).toEqual(free)
    expect(memoryOf(deps).resting().nodePools).toEqual({ Underutilized: ['default'] })
  })

  test('nodes that go make room in the limits of their pool', async () => {
    const { cluster, commit } = await world()
    cluster.edit('nodepools', 'default', { spec: { limits: { nodes: '2' } } })
    expect(await commit([proposal(['a', 'b'])])).toMatchObject([{ kind: 'committed' }])
  })

  test('a pool that is gone takes its claims with it, so nothing is created', async () => {
    const { cluster, commit } = await world()
    cluster.intercept(({ verb, path }) => {
      if (verb === 'get' && path.endsWith('/nodepools/default')) throw new ApiError(404, 'NotFound', 'gone')
    })
    expect(await commit([proposal(['a', 'b'])])).toEqual([
      { kind: 'rejected', message: 'no replacement can be created: NodePool default is gone' },
    ])
    expect(marksOf(cluster)).toEqual(free)
  })

  test('a replacement that the API server refuses rests the nodes and not their pool', async () => {
    const { cluster, commit, deps } = await world()
    cluster.intercept(({ verb, path }) => {
      if (verb === 'create' && path.endsWith('/nodeclaims'))
        throw new ApiError(422, 'Invalid', 'spec.requirements: too many')
    })
    expect(await commit([proposal(['a', 'b'])])).toEqual([
      { kind: 'rejected', message: 'no replacement can be created: spec.requirements: too many' },
    ])
    expect(memoryOf(deps).resting()).toEqual({ nodePools: {}, nodeClaims: ['a', 'b'] })
  })

  test('a claim that somebody deletes meanwhile ends the command before anything goes', async () => {
    const { cluster, commit } = await world()
    cluster.intercept(({ verb, path }) => {
      if (verb === 'create' && path.endsWith('/nodeclaims'))
        cluster.edit('nodeclaims', 'b', { metadata: { deletionTimestamp: at(0) } })
    })
    const [outcome] = await commit([proposal(['a', 'b'])])
    expect(outcome).toEqual({ kind: 'rejected', message: 'NodeClaim b was deleted by somebody else meanwhile' })
    expect(marksOf(cluster).a).toBe('free')
  })
})

describe('an attempt that another has taken over', () => {
  test("writes nothing more and undoes nothing, which is the successor's work", async () => {
    const { cluster, commit } = await world()
    cluster.intercept(({ verb, path }) => {
      if (verb !== 'create' || !path.endsWith('/nodeclaims')) return
      cluster.edit('leases', 'joiner-disruption-fence', { spec: { holderIdentity: 'successor' } }, 'joiner')
      // The process stood still for a while.
      vi.setSystemTime(Date.now() + 10_000)
    })
    await expect(commit([proposal(['a', 'b'])])).rejects.toThrow('names another planning attempt')
    expect(marksOf(cluster)).toEqual({ a: 'taint Underutilized', b: 'taint Underutilized' })
    expect(replacementsIn(cluster)).toHaveLength(1)
  })
})

describe('a later attempt', () => {
  const names = ['a', 'b']
  const marked = (cluster: FakeCluster, name: string, stamp: string | null = id) => {
    cluster.edit('nodes', `aks-${name}`, { spec: { taints: [disrupted] } })
    cluster.edit('nodeclaims', name, {
      metadata: { annotations: { [stampKey]: stamp } },
      status: { conditions: [condition('DisruptionReason', 'True', 0, 'Underutilized')] },
    })
  }
  const replaced = (cluster: FakeCluster, change: Json = {}) =>
    cluster.put('nodeclaims', claimJson('new', { metadata: { annotations: { [replacementKey]: id }, ...change } }))
  const kindsOf = (outcomes: readonly CommitOutcome[]) => outcomes.map(({ kind }) => kind)

  test('finds a command that was begun as a whole, and changes nothing', async () => {
    const { cluster, commit, plan } = await world()
    for (const name of names) marked(cluster, name)
    replaced(cluster)
    const before = marksOf(cluster)
    const [outcome] = await commit([proposal(names)], 2)
    expect(outcome).toMatchObject({ kind: 'committed', replacements: [{ name: 'new', uid: 'uid-new' }], savings: 0.5 })
    expect(marksOf(cluster)).toEqual(before)
    expect(cluster.names('nodeclaims')).toEqual(['a', 'b', 'new'])
    expect(plan.looks).toBe(0)
  })

  test('gives the stamps that a crash left out', async () => {
    const { cluster, commit } = await world()
    marked(cluster, 'a')
    marked(cluster, 'b', null)
    replaced(cluster)
    expect(kindsOf(await commit([proposal(names)], 2))).toEqual(['committed'])
    expect(marksOf(cluster)).toEqual(begun)
  })

  test.each<[string, (cluster: FakeCluster) => void]>([
    ['a minute and more ago', (cluster) => replaced(cluster, { creationTimestamp: at(-61) })],
    [
      'and a candidate lost its taint',
      (cluster) => (replaced(cluster), cluster.edit('nodes', 'aks-b', { spec: { taints: [] } })),
    ],
    [
      'and a candidate lost its reason',
      (cluster) => (replaced(cluster), cluster.edit('nodeclaims', 'b', { status: { conditions: [] } })),
    ],
    [
      'and another reason stands there',
      (cluster) => (
        replaced(cluster),
        cluster.edit('nodeclaims', 'b', {
          status: { conditions: [condition('DisruptionReason', 'True', 0, 'Drifted')] },
        })
      ),
    ],
    [
      'and a pause came',
      (cluster) => (
        replaced(cluster),
        cluster.put('configmaps', {
          metadata: { name: 'joiner-pauses', namespace: 'joiner' },
          data: { disruption: '{}' },
        })
      ),
    ],
    [
      'and a candidate is going',
      (cluster) => (replaced(cluster), cluster.edit('nodeclaims', 'b', { metadata: { deletionTimestamp: at(0) } })),
    ],
    ['but the replacement is gone', () => {}],
    ['but the replacement is going', (cluster) => replaced(cluster, { deletionTimestamp: at(0) })],
  ])('undoes what was begun %s', async (_, change) => {
    const { cluster, commit } = await world()
    for (const name of names) marked(cluster, name, null)
    change(cluster)
    expect(await commit([proposal(names)], 2)).toEqual([
      { kind: 'rejected', message: 'an earlier attempt was cut off; what it had done is undone' },
    ])
    expect(marksOf(cluster).a).toBe('free')
    expect(replacementsIn(cluster).filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([])
  })

  test('never plans anew: where nothing was done nothing is', async () => {
    const { cluster, commit, plan } = await world()
    expect(kindsOf(await commit([proposal(names)], 2))).toEqual(['rejected'])
    expect(marksOf(cluster)).toEqual(free)
    expect(plan.looks).toBe(0)
    expect(replacementsIn(cluster)).toEqual([])
  })

  test('of empty nodes goes on with those that were stamped, and frees the others', async () => {
    const { cluster, commit } = await world()
    marked(cluster, 'a', 'emptiness-0123456789')
    marked(cluster, 'b', null)
    const [outcome] = await commit([empty(names)], 2)
    expect(outcome).toMatchObject({ kind: 'committed', candidates: [{ name: 'a' }] })
    expect(marksOf(cluster)).toEqual({ a: 'taint Underutilized emptiness-0123456789', b: 'free' })
  })

  test('leaves alone what another command has stamped meanwhile', async () => {
    const { cluster, commit } = await world()
    marked(cluster, 'a', null)
    marked(cluster, 'b', 'drift-0000000000')
    await commit([proposal(names)], 2)
    expect(marksOf(cluster)).toEqual({ a: 'free', b: 'taint Underutilized drift-0000000000' })
  })

  test('keeps a replacement that pods use by then', async () => {
    const { cluster, commit } = await world()
    for (const name of names) marked(cluster, name, null)
    replaced(cluster, { creationTimestamp: at(-120) })
    cluster.put('nodes', nodeJson('new'))
    cluster.put('pods', {
      metadata: {
        name: 'web',
        namespace: 'default',
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r', controller: true }],
      },
      spec: { nodeName: 'aks-new', containers: [] },
      status: { phase: 'Running' },
    })
    expect(kindsOf(await commit([proposal(names)], 2))).toEqual(['rejected'])
    expect(cluster.object('nodeclaims', 'new')?.metadata).toMatchObject({ annotations: {} })
    expect(cluster.object('nodeclaims', 'new')?.metadata.deletionTimestamp).toBeUndefined()
  })
})
