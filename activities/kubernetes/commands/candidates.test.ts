import { describe, expect, test } from 'vitest'
import type { DisruptionMethod } from '../../../core/disruption/command.ts'
import { asAttempt } from '../../../test/fakes/attempt.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps, metricLines } from '../../../test/fakes/deps.ts'
import { at, claimJson, condition, nodeJson, podJson, poolJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { ApiError, type Json } from '../client/client.ts'
import type { CommandWork } from '../contract.ts'
import { deleteCandidates, undoCommand } from './candidates.ts'
import { awaitReplacements } from './replacements.ts'

useFakeTime()

const commandId = 'multi-node-0123456789'
const stamp = { 'joiner.sh/disruption-command': commandId }
const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }
const marked = [
  condition('Launched'),
  condition('Registered'),
  condition('DisruptionReason', 'True', 0, 'Underutilized'),
]
const guarded = { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }

const refTo = (name: string) => ({ name, uid: `uid-${name}`, nodeName: `aks-${name}`, nodePool: 'default' })
const workOn = (names: readonly string[], change: Partial<CommandWork> = {}): CommandWork => ({
  commandId,
  method: 'multi-node',
  decision: 'replace',
  candidates: names.map(refTo),
  replacements: [],
  savings: 0.5,
  ...change,
})

/** A claim that a command has marked and stamped, with its Node. */
function candidate(cluster: FakeCluster, name: string, change: { claim?: Json; node?: Json; annotations?: Json } = {}) {
  cluster.put(
    'nodeclaims',
    claimJson(name, {
      metadata: { annotations: { ...stamp, ...change.annotations } },
      status: { conditions: marked },
      ...change.claim,
    }),
  )
  cluster.put('nodes', nodeJson(name, { spec: { taints: [disrupted] }, ...change.node }))
}

function replacement(cluster: FakeCluster, name: string, isReady = true) {
  const conditions = [condition('Launched'), condition('Initialized', isReady ? 'True' : 'Unknown')]
  cluster.put(
    'nodeclaims',
    claimJson(name, { metadata: { annotations: { 'joiner.sh/replacement-for': commandId } }, status: { conditions } }),
  )
  cluster.put('nodes', nodeJson(name))
}

function world(names: readonly string[] = ['a', 'b']) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson())
  for (const name of names) candidate(cluster, name)
  const known = kubernetesDeps(cluster)
  const stop = new AbortController()
  return {
    cluster,
    ...known,
    /** Claims go at once, as if their lifecycles had ended them. */
    lifecyclesEnd: () =>
      cluster.intercept(({ verb, path }) => {
        if (verb === 'delete' && path.includes('/nodeclaims/'))
          queueMicrotask(
            () =>
              cluster.object('nodeclaims', path.split('/').at(-1) as string) &&
              cluster.remove('nodeclaims', path.split('/').at(-1) as string),
          )
      }),
    deletes: (work: CommandWork, attempt = 1) =>
      asAttempt(attempt, () => deleteCandidates(known.deps, work, stop.signal)),
    stop,
  }
}

/** Which claims are being deleted or gone; which are free of all marks. */
function stateOf(cluster: FakeCluster, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.map((name) => {
      const claim = cluster.object('nodeclaims', name)
      if (claim === undefined) return [name, 'gone']
      if (claim.metadata.deletionTimestamp !== undefined) return [name, 'going']
      const node = cluster.object('nodes', `aks-${name}`)
      const traces = [
        ...('joiner.sh/disruption-command' in claim.metadata.annotations ? ['stamp'] : []),
        ...(claim.status.conditions.some(({ type }) => type === 'DisruptionReason') ? ['condition'] : []),
        ...((node?.spec.taints ?? []).length > 0 ? ['taint'] : []),
      ]
      return [name, traces.length === 0 ? 'free' : traces.join('+')]
    }),
  )
}

const untouched = 'stamp+condition+taint'

describe('deleting the candidates of a command', () => {
  test('deletes all of them and resolves when the last is gone', async () => {
    const { cluster, deletes, told } = world()
    const work = deletes(workOn(['a', 'b']))
    await pass(1000)
    expect(stateOf(cluster, ['a', 'b'])).toEqual({ a: 'going', b: 'going' })
    cluster.remove('nodeclaims', 'a')
    await pass(1000)
    let isOver = false
    void work.then(() => {
      isOver = true
    })
    await pass(0)
    expect(isOver).toBe(false)
    cluster.remove('nodeclaims', 'b')
    expect(await ended(work)).toEqual({ kind: 'deleted' })
    expect(
      told.filter(({ reason }) => reason === 'DisruptionTerminating').map(({ about, message }) => [about, message]),
    ).toEqual([
      ['NodeClaim/a', 'Disrupting NodeClaim: Underutilized'],
      ['Node/aks-a', 'Disrupting Node: Underutilized'],
      ['NodeClaim/b', 'Disrupting NodeClaim: Underutilized'],
      ['Node/aks-b', 'Disrupting Node: Underutilized'],
    ])
  })

  const obstacles: [string, (cluster: FakeCluster) => void, RegExp][] = [
    [
      'another command has stamped',
      (cluster) =>
        cluster.edit('nodeclaims', 'b', { metadata: { annotations: { 'joiner.sh/disruption-command': 'drift-1' } } }),
      /does not name the command any more/,
    ],
    [
      'nobody has stamped any more',
      (cluster) =>
        cluster.edit('nodeclaims', 'b', { metadata: { annotations: { 'joiner.sh/disruption-command': null } } }),
      /does not name the command any more/,
    ],
    [
      'an operator holds',
      (cluster) =>
        cluster.edit('nodeclaims', 'b', { metadata: { annotations: { 'joiner.sh/hold-until': 'released' } } }),
      /NodeClaim is held until released/,
    ],
    [
      'has do-not-disrupt on its Node',
      (cluster) => cluster.edit('nodes', 'aks-b', { metadata: guarded }),
      /the node has karpenter.sh\/do-not-disrupt by now/,
    ],
    [
      'has do-not-disrupt itself',
      (cluster) => cluster.edit('nodeclaims', 'b', { metadata: guarded }),
      /the node has karpenter.sh\/do-not-disrupt by now/,
    ],
    [
      'has a pod with do-not-disrupt',
      (cluster) => cluster.put('pods', podJson('web', 'b', { metadata: guarded })),
      /pod default\/web has karpenter.sh\/do-not-disrupt by now/,
    ],
    ['whose pool is paused', (cluster) => pause(cluster, 'disruption.nodepool.default'), /paused/],
    ['that is paused by its Node', (cluster) => pause(cluster, 'disruption.node.aks-b'), /paused/],
    ['that is paused by its NodeClaim', (cluster) => pause(cluster, 'disruption.node.b'), /paused/],
    ['whose reason is paused', (cluster) => pause(cluster, 'disruption.reason.Underutilized'), /paused/],
    ['when the loop is paused', (cluster) => pause(cluster, 'disruption'), /paused/],
    ['when nobody can read what is paused', (cluster) => pause(cluster, 'disruption', 'rubbish'), /paused/],
  ]

  test.each(obstacles)('refuses all of them when there is one that %s', async (_, change, why) => {
    const { cluster, deletes } = world()
    change(cluster)
    const before = cluster.snapshot()
    const outcome = await deletes(workOn(['a', 'b']))
    expect(outcome).toMatchObject({ kind: 'refused' })
    expect((outcome as { message: string }).message).toMatch(why)
    expect(cluster.snapshot()).toEqual(before)
  })

  test.each(obstacles.filter(([name]) => !name.startsWith('when') && !/pool|reason/.test(name)))(
    'of an emptiness command leaves the one that %s and frees it',
    async (name, change) => {
      const { cluster, deletes, lifecyclesEnd } = world()
      change(cluster)
      lifecyclesEnd()
      expect(await ended(deletes(workOn(['a', 'b'], { method: 'emptiness', decision: 'delete' })))).toEqual({
        kind: 'deleted',
      })
      const isOthers = name.includes('another command') || name.includes('nobody')
      expect(stateOf(cluster, ['a', 'b'])).toEqual({
        a: 'gone',
        b: isOthers ? expect.not.stringMatching('gone|going') : 'free',
      })
    },
  )

  test.each<[DisruptionMethod, Json, 'deleted' | 'refused']>([
    ['drift', { terminationGracePeriod: '1h' }, 'deleted'],
    ['drift', {}, 'refused'],
    ['multi-node', { terminationGracePeriod: '1h' }, 'refused'],
  ])('a pod with do-not-disrupt under %s of a claim with %j: %s', async (method, spec, kind) => {
    const { cluster, deletes, lifecyclesEnd } = world([])
    candidate(cluster, 'a', { claim: { spec } })
    cluster.put('pods', podJson('web', 'a', { metadata: guarded }))
    lifecyclesEnd()
    expect(await ended(deletes(workOn(['a'], { method })))).toMatchObject({ kind })
    expect(cluster.names('nodeclaims')).toEqual(kind === 'deleted' ? [] : ['a'])
  })

  test.each([
    ['has ended', { status: { phase: 'Succeeded' } }],
    ['is being deleted', { metadata: { ...guarded, deletionTimestamp: at(10) } }],
  ])('a pod with do-not-disrupt that %s forbids nothing', async (_, change) => {
    const { cluster, deletes, lifecyclesEnd } = world(['a'])
    cluster.put(
      'pods',
      podJson('web', 'a', { ...change, metadata: { ...guarded, ...(change as { metadata?: Json }).metadata } }),
    )
    lifecyclesEnd()
    expect(await ended(deletes(workOn(['a'])))).toEqual({ kind: 'deleted' })
  })

  test('is refused while a replacement cannot take pods, whatever the caller waited for', async () => {
    const { cluster, deletes } = world()
    replacement(cluster, 'new', false)
    expect(await deletes(workOn(['a', 'b'], { replacements: [{ name: 'new', uid: 'uid-new' }] }))).toEqual({
      kind: 'refused',
      message: 'replacement new of the command is not initialized',
    })
    expect(stateOf(cluster, ['a', 'b'])).toEqual({ a: untouched, b: untouched })
  })

  test('believes the API server and not a cache that lags about a replacement', async () => {
    const { cluster, deletes, lifecyclesEnd } = world()
    replacement(cluster, 'new', false)
    cluster.lag()
    replacement(cluster, 'new', true)
    lifecyclesEnd()
    const work = deletes(workOn(['a', 'b'], { replacements: [{ name: 'new', uid: 'uid-new' }] }))
    await pass(100)
    cluster.catchUp()
    expect(await ended(work)).toEqual({ kind: 'deleted' })
  })

  test('makes the replacements nodes like any others, and keeps them', async () => {
    const { cluster, deletes, lifecyclesEnd } = world()
    replacement(cluster, 'new')
    lifecyclesEnd()
    await ended(deletes(workOn(['a', 'b'], { replacements: [{ name: 'new', uid: 'uid-new' }] })))
    expect(cluster.object('nodeclaims', 'new')?.metadata.annotations).toEqual({})
    expect(cluster.names('nodeclaims')).toEqual(['new'])
  })

  test('on the first attempt refuses a command of which somebody else is deleting a node', async () => {
    const { cluster, deletes } = world()
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(0) } })
    expect(await deletes(workOn(['a', 'b']))).toEqual({
      kind: 'refused',
      message: 'a node of the command is being deleted already',
    })
    expect(stateOf(cluster, ['b'])).toEqual({ b: untouched })
  })

  test('on a later attempt goes on with a command that had begun', async () => {
    const { cluster, deletes, lifecyclesEnd } = world()
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(0) } })
    lifecyclesEnd()
    const work = deletes(workOn(['a', 'b']), 2)
    await pass(100)
    expect(stateOf(cluster, ['b'])).toEqual({ b: 'gone' })
    cluster.remove('nodeclaims', 'a')
    expect(await ended(work)).toEqual({ kind: 'deleted' })
  })

  test('on a later attempt frees a node that must stay by then', async () => {
    const { cluster, deletes } = world()
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(0) } })
    cluster.edit('nodeclaims', 'b', { metadata: { annotations: { 'joiner.sh/hold-until': 'released' } } })
    const work = deletes(workOn(['a', 'b']), 2)
    await pass(100)
    expect(stateOf(cluster, ['b'])).toEqual({ b: 'free' })
    cluster.remove('nodeclaims', 'a')
    expect(await ended(work)).toEqual({ kind: 'deleted' })
  })

  test('never deletes another claim that has the name by now', async () => {
    const { cluster, deletes } = world(['a'])
    cluster.intercept(({ verb, path }) => {
      if (verb === 'delete' && path.endsWith('/nodeclaims/a'))
        cluster.put('nodeclaims', claimJson('a', { metadata: { uid: 'newer' } }))
    })
    expect(await ended(deletes(workOn(['a'])))).toEqual({ kind: 'deleted' })
    expect(stateOf(cluster, ['a'])).toEqual({ a: 'taint' })
  })

  test('says that nothing is left of a command all of whose nodes lost their stamp', async () => {
    const { cluster, deletes } = world(['a'])
    cluster.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/disruption-command': null } } })
    expect(await deletes(workOn(['a'], { method: 'emptiness' }))).toMatchObject({ kind: 'refused' })
  })

  test('counts nodes, pods and savings by pool', async () => {
    const { cluster, deletes, lifecyclesEnd, registry } = world()
    cluster.put('pods', podJson('web', 'a'))
    cluster.put(
      'pods',
      podJson('static', 'a', {
        metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'n', controller: true }] },
      }),
    )
    lifecyclesEnd()
    const candidates = [refTo('a'), { ...refTo('b'), nodePool: 'other' }]
    await ended(deletes(workOn([], { candidates })))
    expect(await metricLines(registry, 'karpenter_pods_disruption_initiated_total{')).toEqual([
      expect.stringMatching(/reason="underutilized",nodepool="default".*\} 1$/),
    ])
    const saved = await metricLines(registry, 'joiner_disruption_savings_dollars_per_hour_total{')
    expect(saved.map((line) => line.replace(/^.*nodepool="(\w+)".* ([\d.]+)$/, '$1 $2'))).toEqual([
      'default 0.25',
      'other 0.25',
    ])
  })
})

function pause(cluster: FakeCluster, key: string, text = JSON.stringify({ reason: 'upgrade', since: at(0) })): void {
  cluster.put('configmaps', { metadata: { name: 'joiner-pauses', namespace: 'joiner' }, data: { [key]: text } })
}

describe('taking a command back', () => {
  const withReplacement = (names: readonly string[]) =>
    workOn(names, { replacements: [{ name: 'new', uid: 'uid-new' }] })

  test('frees the candidates and deletes a replacement that nothing uses', async () => {
    const { cluster, deps } = world()
    replacement(cluster, 'new')
    cluster.edit('nodeclaims', 'new', { metadata: { finalizers: null } })
    await undoCommand(deps, withReplacement(['a', 'b']))
    expect(stateOf(cluster, ['a', 'b', 'new'])).toEqual({ a: 'free', b: 'free', new: 'gone' })
    expect(cluster.names('nodes')).toEqual(['aks-a', 'aks-b', 'aks-new'])
  })

  test('keeps a replacement on which pods run by then, as a node like any other', async () => {
    const { cluster, deps } = world()
    replacement(cluster, 'new')
    cluster.put('pods', podJson('web', 'new'))
    await undoCommand(deps, withReplacement(['a', 'b']))
    expect(cluster.object('nodeclaims', 'new')?.metadata).toMatchObject({ annotations: {} })
    expect(stateOf(cluster, ['new'])).toEqual({ new: 'free' })
  })

  test.each<[string, Json]>([
    ['is on its way out', { metadata: { deletionTimestamp: at(0) } }],
    ['is gone', { metadata: { uid: 'another' } }],
  ])('keeps a replacement while a candidate %s, whose pods need it', async (_, change) => {
    const { cluster, deps } = world()
    replacement(cluster, 'new')
    cluster.edit('nodeclaims', 'a', change)
    await undoCommand(deps, withReplacement(['a', 'b']))
    expect(stateOf(cluster, ['new', 'b'])).toEqual({ new: 'free', b: 'free' })
    expect(cluster.object('nodeclaims', 'new')?.metadata.annotations).toEqual({})
  })

  test('leaves alone what another command has stamped, and a claim without a stamp', async () => {
    const { cluster, deps } = world()
    cluster.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/disruption-command': 'drift-1' } } })
    cluster.edit('nodeclaims', 'b', { metadata: { annotations: { 'joiner.sh/disruption-command': null } } })
    const before = cluster.snapshot()
    await undoCommand(deps, workOn(['a', 'b']))
    expect(cluster.snapshot()).toEqual(before)
  })

  test.each([
    ['another command has taken', { 'joiner.sh/replacement-for': 'drift-1' }],
    ['is a node like any other by now', { 'joiner.sh/replacement-for': null }],
  ])('leaves a replacement that %s', async (_, annotations) => {
    const { cluster, deps } = world()
    replacement(cluster, 'new')
    cluster.edit('nodeclaims', 'new', { metadata: { annotations } })
    const before = cluster.object('nodeclaims', 'new')
    await undoCommand(deps, withReplacement(['a', 'b']))
    expect(cluster.object('nodeclaims', 'new')).toEqual(before)
  })

  test('keeps taints of others', async () => {
    const { cluster, deps } = world(['a'])
    const other = { key: 'example.com/x', effect: 'NoSchedule' }
    cluster.edit('nodes', 'aks-a', { spec: { taints: [other, disrupted] } })
    await undoCommand(deps, workOn(['a']))
    expect(cluster.object('nodes', 'aks-a')?.spec.taints).toEqual([other])
  })

  test('that was interrupted before the stamp went is found again and ends', async () => {
    const { cluster, deps } = world(['a'])
    const end = cluster.intercept(({ verb, path }) => {
      if (verb === 'patch' && path.endsWith('/nodeclaims/a')) throw new ApiError(500, 'InternalError', 'away')
    })
    await expect(undoCommand(deps, workOn(['a']))).rejects.toThrow('away')
    expect(stateOf(cluster, ['a'])).toEqual({ a: 'stamp' })
    end()
    await undoCommand(deps, workOn(['a']))
    expect(stateOf(cluster, ['a'])).toEqual({ a: 'free' })
  })

  test('frees a claim whose Node is gone', async () => {
    const { cluster, deps } = world(['a'])
    cluster.remove('nodes', 'aks-a')
    await undoCommand(deps, workOn(['a']))
    expect(stateOf(cluster, ['a'])).toEqual({ a: 'free' })
  })

  test('counts the replacements that had not been initialized, gone ones among them', async () => {
    const { cluster, deps, registry } = world()
    replacement(cluster, 'new', false)
    const gone = { name: 'gone', uid: 'uid-gone' }
    await undoCommand(deps, workOn(['a', 'b'], { replacements: [{ name: 'new', uid: 'uid-new' }, gone] }))
    expect(await metricLines(registry, 'karpenter_voluntary_disruption_queue_failures_total{')).toEqual([
      expect.stringMatching(/\} 2$/),
    ])
  })
})

describe('waiting for replacements', () => {
  const refs = [
    { name: 'new', uid: 'uid-new' },
    { name: 'newer', uid: 'uid-newer' },
  ]

  function waiting(isReady: boolean, readyInMs = 60_000) {
    const { cluster, deps, told, stop } = world([])
    for (const { name } of refs) replacement(cluster, name, isReady)
    const wait = () => awaitReplacements(deps, { replacements: refs, readyByMs: Date.now() + readyInMs }, stop.signal)
    const becomesReady = (name: string, status = 'True') =>
      cluster.edit('nodeclaims', name, { status: { conditions: [condition('Initialized', status)] } })
    return { cluster, told, wait, becomesReady }
  }

  test('ends at once when all have been initialized, and nobody is told of a wait', async () => {
    const { wait, told } = waiting(true)
    expect(await wait()).toEqual({ kind: 'ready' })
    expect(told).toEqual([])
  })

  test('counts one that was initialized once, though it is not any more', async () => {
    const { wait, becomesReady, told } = waiting(false)
    const work = wait()
    await pass(100)
    becomesReady('new')
    becomesReady('new', 'False')
    becomesReady('newer')
    expect(await ended(work)).toEqual({ kind: 'ready' })
    expect(told.map(({ reason, about }) => [reason, about])).toEqual([
      ['DisruptionWaitingReadiness', 'NodeClaim/new'],
      ['DisruptionWaitingReadiness', 'NodeClaim/newer'],
    ])
  })

  test.each<[string, (cluster: FakeCluster) => void]>([
    ['is gone', (cluster) => cluster.remove('nodeclaims', 'newer')],
    ['is being deleted', (cluster) => cluster.edit('nodeclaims', 'newer', { metadata: { deletionTimestamp: at(1) } })],
    [
      'is another claim by now',
      (cluster) => cluster.put('nodeclaims', claimJson('newer', { metadata: { uid: 'another' } })),
    ],
  ])('is lost when one %s', async (_, lose) => {
    const { cluster, wait } = waiting(false)
    const work = wait()
    await pass(100)
    lose(cluster)
    expect(await ended(work)).toEqual({
      kind: 'lost',
      message: 'replacement newer was deleted before it was initialized',
    })
  })

  test('is late at the deadline, by the names of those that are missing', async () => {
    // The time limit is a signal of Node's own, whose clock cannot be faked.
    const { wait, becomesReady } = waiting(false, 20)
    const work = wait()
    await pass(0)
    becomesReady('new')
    expect(await work).toEqual({ kind: 'late', message: 'not initialized in time: newer' })
  })
})
