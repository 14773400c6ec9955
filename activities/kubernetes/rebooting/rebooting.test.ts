import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps, metricLines } from '../../../test/fakes/deps.ts'
import { at, claimJson, condition, nodeJson, podJson } from '../../../test/fakes/objects.ts'
import { ended, pass, tellAhead, useFakeTime } from '../../../test/fakes/time.ts'
import { ServerTime } from '../client/server-time.ts'
import { awaitReboot, endReboot } from './await-reboot.ts'
import { prepareReboot } from './prepare-reboot.ts'

useFakeTime()

const ref = { name: 'a', uid: 'uid-a' }
const taint = { key: 'karpenter.sh/rebooting', effect: 'NoSchedule' }

function start({
  reason = 'RebootRequested',
  bound,
  preBootId,
  withNode = true,
}: {
  readonly reason?: string
  readonly bound?: string
  readonly preBootId?: string
  readonly withNode?: boolean
} = {}) {
  const cluster = new FakeCluster()
  const annotations = {
    ...(bound === undefined ? {} : { 'karpenter.sh/reboot-termination-grace-period': bound }),
    ...(preBootId === undefined ? {} : { 'karpenter.sh/reboot-pre-boot-id': preBootId }),
  }
  const conditions = [
    ...['Launched', 'Registered', 'Initialized', 'Consolidatable'].map((type) => condition(type)),
    condition('DisruptionReason', 'True', 0, 'Unhealthy'),
    condition('Rebooting', 'True', 0, reason),
  ]
  cluster.put('nodeclaims', claimJson('a', { metadata: { annotations }, status: { conditions } }))
  if (withNode)
    cluster.put(
      'nodes',
      nodeJson('a', { status: { ...(nodeJson('a')['status'] as object), nodeInfo: { bootID: 'one' } } }),
    )
  const known = kubernetesDeps(cluster)
  const { signal } = new AbortController()
  return {
    cluster,
    ...known,
    prepare: (deps = known.deps) => prepareReboot(deps, { claim: ref }, signal),
    awaits: () => awaitReboot(known.deps, { claim: ref }, signal),
    fails: () => endReboot(known.deps, ref, { result: 'recovery_timeout', message: 'never ready' }),
    of: (type: string) => cluster.object('nodeclaims', 'a')?.status.conditions.find((one) => one.type === type),
    claim: () => cluster.object('nodeclaims', 'a')?.metadata,
    node: () => cluster.object('nodes', 'aks-a'),
    holds: (until = 'released') =>
      cluster.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/hold-until': until } } }),
    /** Does something just before the first request of this kind for the claim takes effect. */
    before: (verb: 'patch' | 'delete', does: () => void) => {
      const stop = cluster.intercept((request) => {
        if (request.verb !== verb || !request.path.includes('/nodeclaims/a')) return
        stop()
        does()
      })
    },
    boots: (bootID: string) => cluster.edit('nodes', 'aks-a', { status: { nodeInfo: { bootID } } }),
  }
}

describe('before a reboot', () => {
  test('the Node is tainted and its pods are evicted; it is watched for a while, even when it is empty', async () => {
    const { cluster, prepare, node } = start()
    cluster.put('pods', podJson('web', 'a'))
    const work = prepare()
    await pass(1000)
    expect(node()?.spec.taints).toEqual([taint])
    expect(node()?.metadata.deletionTimestamp).toBeUndefined()
    if (cluster.names('pods').includes('web')) cluster.remove('pods', 'web')
    await pass(2000)
    expect(await ended(work)).toEqual({ kind: 'drained' })
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(at(5)))
  })

  test('nothing is done while the clock of the process is wrong', async () => {
    const { deps, prepare, node } = start()
    const serverTime = new ServerTime({ log: deps.log })
    tellAhead(serverTime, 120_000)
    const work = prepare({ ...deps, serverTime })
    await pass(60_000)
    expect(node()?.spec.taints ?? []).toEqual([])
    tellAhead(serverTime, 0)
    expect(await ended(work)).toEqual({ kind: 'drained' })
    expect(node()?.spec.taints).toEqual([taint])
  })

  test('pods that stay beyond the bound are left in place', async () => {
    const { cluster, prepare } = start({ bound: '8s' })
    cluster.put('pods', podJson('web', 'a', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } }))
    expect(await ended(prepare())).toEqual({ kind: 'drained' })
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(at(8)))
    expect(cluster.names('pods')).toEqual(['web'])
  })

  test('nothing is evicted where pods get no time', async () => {
    const { cluster, prepare } = start({ bound: '0s' })
    cluster.put('pods', podJson('web', 'a'))
    expect(await ended(prepare())).toEqual({ kind: 'drained' })
    expect(cluster.names('pods')).toEqual(['web'])
  })

  test.each<[string, Parameters<typeof start>[0], unknown]>([
    ['that was issued goes on', { reason: 'RebootIssued' }, { kind: 'issued' }],
    [
      'with a wrong bound fails',
      { bound: '-1s' },
      { kind: 'failed', result: 'invalid_request', message: expect.stringContaining('"-1s" is not a duration') },
    ],
    [
      'without a Node fails after five minutes',
      { withNode: false },
      { kind: 'failed', result: 'provider_error', message: 'the NodeClaim has no Node' },
    ],
  ])('one %s', async (_, change, outcome) => {
    expect(await ended(start(change).prepare(), 320_000)).toEqual(outcome)
  })

  test('a hold calls it off: the Node is given back', async () => {
    const { cluster, prepare, node, of, holds } = start()
    cluster.put('pods', podJson('web', 'a', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } }))
    const work = prepare()
    await pass(7000)
    expect(node()?.spec.taints).toEqual([taint])
    holds()
    expect(await ended(work)).toEqual({ kind: 'over' })
    expect(node()?.spec.taints).toEqual([])
    expect(of('Rebooting')).toMatchObject({
      status: 'False',
      reason: 'RebootCalledOff',
      message: 'the NodeClaim is held until released, no reason given',
    })
    expect(of('DisruptionReason')).toBeUndefined()
    expect(cluster.names('pods')).toEqual(['web'])
  })

  test('a hold does not call off what Azure may have begun', async () => {
    const { cluster, prepare, of, holds } = start({ preBootId: 'one' })
    cluster.edit('nodeclaims', 'a', { metadata: { annotations: { 'joiner.sh/reboot-request': at(0) } } })
    holds()
    expect(await ended(prepare())).toEqual({ kind: 'issued' })
    expect(of('Rebooting')).toMatchObject({ status: 'True' })
  })

  test('it ends when the Node is deleted, which ends the claim', async () => {
    const { cluster, prepare } = start()
    cluster.put('pods', podJson('web', 'a', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } }))
    const work = prepare()
    await pass(7000)
    cluster.edit('nodes', 'aks-a', { metadata: { deletionTimestamp: at(7) } })
    expect(await ended(work)).toEqual({ kind: 'over' })
  })

  test('an attempt that stood still takes no Node out of service that has come back since', async () => {
    const { cluster, prepare, node } = start()
    cluster.put('pods', podJson('web', 'a'))
    const stop = cluster.intercept(({ verb, path }) => {
      if (verb !== 'patch' || !path.endsWith('/nodes/aks-a')) return
      stop()
      const conditions = [condition('Initialized'), condition('Rebooting', 'False', 1, 'RebootSucceeded')]
      cluster.edit('nodeclaims', 'a', { status: { conditions } })
    })
    expect(await ended(prepare())).toEqual({ kind: 'over' })
    expect(node()?.spec.taints).toEqual([])
    expect(cluster.attempts.filter((request) => request.startsWith('evict'))).toEqual([])
  })

  test('it ends when the claim is deleted', async () => {
    const { cluster, prepare } = start()
    cluster.put('pods', podJson('web', 'a', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } }))
    const work = prepare()
    await pass(7000)
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(7) } })
    expect(await ended(work)).toEqual({ kind: 'over' })
  })
})

describe('after a restart', () => {
  const issued = { reason: 'RebootIssued', preBootId: 'one', bound: '30s' }

  test('the Node is uninitialized until its boot is seen, and is then given back', async () => {
    const { cluster, awaits, of, claim, node, boots, reported, registry } = start(issued)
    cluster.edit('nodes', 'aks-a', {
      spec: { taints: [taint] },
      metadata: { labels: { 'karpenter.sh/initialized': 'true' } },
    })
    const work = awaits()
    await pass(1000)
    expect(of('Initialized')).toMatchObject({ status: 'Unknown', reason: 'Rebooting', message: 'node is rebooting' })
    expect(of('Consolidatable')).toBeUndefined()
    expect(node()?.metadata.labels).not.toHaveProperty('karpenter.sh/initialized')
    expect(node()?.spec.taints).toEqual([taint])
    boots('two')
    expect(await ended(work)).toEqual({ kind: 'rebooted' })
    expect(node()?.spec.taints).toEqual([])
    expect(of('Rebooting')).toMatchObject({
      status: 'False',
      reason: 'RebootSucceeded',
      message: 'node rebooted and rejoined the cluster',
    })
    expect(of('DisruptionReason')).toBeUndefined()
    expect(claim()?.annotations).toEqual({})
    expect(reported.map(({ reason }) => reason)).toEqual(['RebootObserved'])
    expect(await metricLines(registry, 'karpenter_nodes_reboots_total{')).toEqual([
      'karpenter_nodes_reboots_total{result="succeeded"} 1',
    ])
    expect(await metricLines(registry, 'karpenter_nodes_reboot_recovery_duration_seconds_count')).toHaveLength(1)
  })

  test('it fails when the Node is not ready in 20 minutes', async () => {
    const { awaits } = start(issued)
    expect(await ended(awaits(), 21 * 60_000, 5000)).toMatchObject({ kind: 'failed', result: 'recovery_timeout' })
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(at(1200)))
  })

  test('it does not fail while the claim is held', async () => {
    const { awaits, holds, of } = start(issued)
    holds(at(1800))
    expect(await ended(awaits(), 31 * 60_000, 5000)).toMatchObject({ kind: 'failed', result: 'recovery_timeout' })
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(at(1800)))
    expect(of('Rebooting')).toMatchObject({ status: 'True' })
  })

  test('an attempt that stood still leaves a Node that was initialized since', async () => {
    const { cluster, awaits, before, of } = start(issued)
    const rebooted = [condition('Initialized'), condition('Rebooting', 'False', 1, 'RebootSucceeded')]
    before('patch', () => cluster.edit('nodeclaims', 'a', { status: { conditions: rebooted } }))
    const work = awaits()
    await pass(20_000)
    expect(await ended(work)).toEqual({ kind: 'over' })
    expect(of('Initialized')).toMatchObject({ status: 'True' })
  })

  test.each<[string, (known: ReturnType<typeof start>) => void]>([
    ['that is held by then', ({ holds }) => holds()],
    [
      'whose Node is back by then',
      ({ cluster, boots }) => {
        boots('two')
        cluster.edit('nodeclaims', 'a', { metadata: { labels: { other: 'x' } } })
      },
    ],
  ])('a failure does not delete a claim %s, and leaves no end of its pods', async (_, change) => {
    for (const verb of ['patch', 'delete'] as const) {
      const known = start(issued)
      known.before(verb, () => change(known))
      await ended(known.fails())
      expect(known.claim()?.deletionTimestamp).toBeUndefined()
      expect(known.claim()?.annotations).not.toHaveProperty(['karpenter.sh/nodeclaim-termination-timestamp'])
      expect(known.of('Rebooting')).toMatchObject({ status: 'True' })
      expect(known.reported).toEqual([])
    }
  })

  test('a failure deletes the claim within its bound', async () => {
    const { cluster, fails, claim, node, of, reported, registry } = start(issued)
    cluster.edit('nodes', 'aks-a', { spec: { taints: [taint] } })
    await ended(fails())
    expect(claim()?.deletionTimestamp).toBeDefined()
    expect(claim()?.annotations['karpenter.sh/nodeclaim-termination-timestamp']).toBe('2026-01-01T00:00:30Z')
    expect(node()?.spec.taints).toEqual([])
    expect(of('Rebooting')).toMatchObject({ status: 'False', reason: 'RebootFailed' })
    expect(reported).toContainEqual({
      reason: 'RebootFailed',
      about: 'NodeClaim/a',
      message: 'reboot failed: never ready',
    })
    expect(await metricLines(registry, 'karpenter_nodes_reboots_total{')).toEqual([
      'karpenter_nodes_reboots_total{result="recovery_timeout"} 1',
    ])
  })
})
