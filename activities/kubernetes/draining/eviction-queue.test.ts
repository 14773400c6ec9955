import { describe, expect, test } from 'vitest'
import { metricLines } from '../../../test/fakes/deps.ts'
import { type Given, graced, guarded, world } from '../../../test/fakes/drain-world.ts'
import { at, budgetJson, condition, goingClaim, nodeJson, podJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'

// Each name says which test of upstream's suite node/termination/terminator, Eviction/Queue, it answers to.
useFakeTime()

type World = ReturnType<typeof world>

const said = ({ reported }: World, ...reasons: readonly string[]) =>
  reported.filter(({ reason }) => reasons.includes(reason)).map(({ reason, about }) => `${reason} ${about}`)
const evictions = ({ registry }: World) => metricLines(registry, 'karpenter_pods_eviction_requests_total{')
const drained = ({ registry }: World) => metricLines(registry, 'karpenter_pods_drained_total{')

describe('upstream eviction queue, eviction API', () => {
  test('a pod that is gone by then: success without an event', async () => {
    const given = world({ pods: [podJson('web', 'a')] })
    given.cluster.intercept(({ verb }) => {
      if (verb === 'evict') given.cluster.remove('pods', 'web', 'default')
    })
    expect(await ended(given.drain())).toEqual({ kind: 'drained', pods: 0 })
    expect(said(given, 'Evicted', 'FailedDraining')).toEqual([])
    expect(await drained(given)).toEqual([])
  })

  test('another pod of the name: it is left alone, without an event', async () => {
    const given = world({ pods: [podJson('web', 'a')] })
    given.cluster.intercept(({ verb }) => {
      if (verb === 'evict') given.cluster.put('pods', podJson('web', 'b', { metadata: { uid: 'newer' } }))
    })
    expect(await ended(given.drain())).toEqual({ kind: 'drained', pods: 0 })
    expect(given.cluster.object('pods', 'web', 'default')?.metadata).toMatchObject({ uid: 'newer' })
    expect(given.cluster.object('pods', 'web', 'default')?.metadata.deletionTimestamp).toBeUndefined()
    expect(said(given, 'Evicted')).toEqual([])
  })

  test.each<[string, Given, string]>([
    ['without a PodDisruptionBudget', {}, 'Forceful Termination'],
    ['under one that allows it', { budgets: [budgetJson('web', 1)] }, 'Forceful Termination'],
    [
      'for the reason of its NodeClaim',
      {
        claim: goingClaim('a', {
          status: { conditions: [condition('DisruptionReason', 'True', 0, 'SpotInterruption')] },
        }),
      },
      'SpotInterruption',
    ],
  ])('a pod %s: one event, one answer and one drained pod are counted', async (_, change, reason) => {
    const given = world({ ...change, pods: [podJson('web', 'a')] })
    await ended(given.drain())
    expect(said(given, 'Evicted', 'FailedDraining')).toEqual(['Evicted Pod/web'])
    expect(await evictions(given)).toEqual(['karpenter_pods_eviction_requests_total{code="200"} 1'])
    expect(await drained(given)).toEqual([`karpenter_pods_drained_total{reason="${reason}"} 1`])
  })

  test.each<[string, readonly Json[], string, RegExp]>([
    ['a budget that blocks', [budgetJson('web', 0)], '429', /evicting pod violates a PDB/],
    [
      'two budgets of one pod',
      [budgetJson('web', 0), { ...budgetJson('web', 0), metadata: { name: 'second', namespace: 'default' } }],
      '500',
      /eviction does not support multiple PDBs/,
    ],
  ])('%s: the refusals are counted by their code, said and tried again', async (_, budgets, code, text) => {
    const given = world({ pods: [podJson('web', 'a')], budgets })
    const work = given.drain().catch(() => {})
    await pass(30_000)
    given.stop.abort()
    await work
    const [line, ...others] = await evictions(given)
    expect(others).toEqual([])
    expect(line).toContain(`code="${code}"`)
    expect(Number(line?.split(' ').at(-1))).toBeGreaterThan(1)
    expect(given.reported.find(({ reason }) => reason === 'FailedDraining')?.message).toMatch(text)
    expect(await drained(given)).toEqual([])
  })

  test('pods that come while others are evicted: each is evicted once', async () => {
    const given = world({ pods: Array.from({ length: 40 }, (_, index) => podJson(`first-${index}`, 'a')) })
    const { cluster } = given
    let added = 0
    cluster.intercept(({ verb }) => {
      if (verb !== 'evict' || added >= 40) return
      added += 1
      cluster.put('pods', podJson(`late-${added}`, 'a'))
    })
    expect(await ended(given.drain())).toEqual({ kind: 'drained', pods: 80 })
    const asked = cluster.attempts.filter((attempt) => attempt.startsWith('evict'))
    expect(asked).toHaveLength(80)
    expect(new Set(asked).size).toBe(80)
    expect(cluster.names('pods')).toEqual([])
  })
})

describe('upstream eviction queue, pod deletion API', () => {
  const held = (seconds: number) =>
    podJson('web', 'a', { metadata: guarded, spec: { terminationGracePeriodSeconds: seconds } })

  test('a node without an end deletes no pod', async () => {
    const given = world({ pods: [held(60)] })
    const work = given.drain().catch(() => {})
    await pass(3_600_000)
    given.stop.abort()
    await work
    expect(given.cluster.object('pods', 'web', 'default')?.metadata.deletionTimestamp).toBeUndefined()
    expect(said(given, 'Disrupted')).toEqual([])
  })

  test('a pod whose grace fits before the end is not deleted yet', async () => {
    const given = world({ claim: graced(300), pods: [held(60)] })
    const work = given.drain().catch(() => {})
    await pass(239_000)
    expect(given.cluster.object('pods', 'web', 'default')?.metadata.deletionTimestamp).toBeUndefined()
    expect(said(given, 'Disrupted')).toEqual([])
    given.stop.abort()
    await work
  })

  test('a pod whose grace does not fit is deleted with what is left of it', async () => {
    const given = world({ claim: graced(60), pods: [held(120)] })
    const graces: unknown[] = []
    given.cluster.intercept(({ verb, path, body }) => {
      if (verb === 'delete' && path.endsWith('/pods/web'))
        graces.push((body as { gracePeriodSeconds: number }).gracePeriodSeconds)
    })
    expect(await ended(given.drain())).toEqual({ kind: 'drained', pods: 1 })
    expect(graces).toEqual([60])
    expect(said(given, 'Disrupted')).toEqual(['Disrupted Pod/web'])
  })

  test('a pod that terminates beyond the end of its node gets an earlier end (upstream node/termination)', async () => {
    const dying = podJson('web', 'a', {
      metadata: { deletionTimestamp: at(6000), deletionGracePeriodSeconds: 6000 },
      spec: { terminationGracePeriodSeconds: 6000 },
    })
    const given = world({ claim: graced(300), pods: [dying], nodes: [nodeJson('a')] })
    given.cluster.podsTakeMs = Number.POSITIVE_INFINITY
    const work = given.drain().catch(() => {})
    await pass(2000)
    expect(given.cluster.object('pods', 'web', 'default')?.metadata.deletionTimestamp).toBe(at(300))
    given.stop.abort()
    await work
  })
})
