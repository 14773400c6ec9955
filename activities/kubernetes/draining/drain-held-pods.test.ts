import { describe, expect, test } from 'vitest'
import { nothingReported } from '../../../core/node-claim/drain-waits.ts'
import { type Given, guarded, tainted, world } from '../../../test/fakes/drain-world.ts'
import { at, budgetJson, goingClaim, podJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { ApiError } from '../client/api-error.ts'

useFakeTime()

describe('a pod that does not go', () => {
  const held: [string, Given, RegExp][] = [
    [
      'by its PodDisruptionBudget',
      { pods: [podJson('web', 'a')], budgets: [budgetJson('web', 0)] },
      /evicting pod violates a PDB \(Pod=default\/web, PodDisruptionBudget=\[default\/web\]\)/,
    ],
    [
      'by two PodDisruptionBudgets',
      {
        pods: [podJson('web', 'a', { metadata: { labels: { app: 'web', tier: 'x' } } })],
        budgets: [
          budgetJson('web', 5),
          { ...budgetJson('web', 5), metadata: { name: 'second', namespace: 'default' } },
        ],
      },
      /eviction does not support multiple PDBs/,
    ],
    [
      'by do-not-disrupt',
      { pods: [podJson('web', 'a', { metadata: guarded })] },
      /has the annotation karpenter.sh\/do-not-disrupt/,
    ],
  ]

  test.each(held)('%s holds the node, and the claim and an event say so', async (_, given, text) => {
    const { cluster, drain, conditions, reported, stop } = world(given)
    const work = drain().catch(() => {})
    await pass(120_000)
    stop.abort()
    await work
    expect(cluster.names('pods')).toEqual(['web'])
    expect(conditions()).toEqual(['Drained=Unknown'])
    const said = reported.filter(({ reason }) => reason === 'FailedDraining')
    expect(said.map(({ about }) => about)).toContain('Node/aks-a')
    expect(said[0]?.message).toMatch(text)
  })

  test.each(held)('%s is reported to a lifecycle that listens, after 10 s', async (_, given, text) => {
    const { drain } = world(given)
    const startedAt = Date.now()
    const outcome = await ended(drain(nothingReported))
    expect(outcome).toMatchObject({ kind: 'waiting', waits: { more: 0 } })
    expect(JSON.stringify(outcome)).toMatch(text)
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(10_000)
    expect(Date.now() - startedAt).toBeLessThan(13_000)
  })

  test('is reported once for all the time that it stays, and again as soon as another is beside it', async () => {
    const { cluster, drain, reported, stop } = world({ pods: [podJson('web', 'a', { metadata: guarded })] })
    const messages = () => reported.filter(({ reason }) => reason === 'FailedDraining').map(({ message }) => message)
    const work = drain().catch(() => {})
    await pass(600_000)
    expect(messages()).toHaveLength(1)
    cluster.put('pods', podJson('late', 'a', { metadata: guarded }))
    await pass(1000)
    expect(messages()).toHaveLength(2)
    expect(messages()[1]).toContain('pod default/late has the annotation')
    stop.abort()
    await work
  })

  test('keeps no other pod from going', async () => {
    const { cluster, drain, stop } = world({
      pods: [podJson('web', 'a'), podJson('free', 'a'), podJson('guarded', 'a', { metadata: guarded })],
      budgets: [budgetJson('web', 0)],
    })
    const work = drain().catch(() => {})
    await pass(5000)
    stop.abort()
    await work
    expect(cluster.names('pods')).toEqual(['guarded', 'web'])
  })

  test('goes as soon as its budget allows it, not only after the wait between two attempts', async () => {
    const { cluster, drain } = world({ pods: [podJson('web', 'a')], budgets: [budgetJson('web', 0)] })
    const work = drain()
    await pass(60_000)
    cluster.edit('poddisruptionbudgets', 'web', { status: { disruptionsAllowed: 1 } }, 'default')
    await pass(300)
    expect(cluster.attempts.filter((attempt) => attempt.startsWith('evict')).length).toBeGreaterThan(1)
    expect(cluster.object('pods', 'web', 'default')?.metadata.deletionTimestamp).toBeDefined()
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 1 })
  })

  test('does not count as gone when the API server fails, and the failure is reported', async () => {
    const { cluster, drain, reported } = world({ pods: [podJson('web', 'a')] })
    const end = cluster.intercept(({ verb }) => {
      if (verb === 'evict') throw new ApiError(500, 'InternalError', 'etcd is away')
    })
    const work = drain()
    await pass(30_000)
    expect(cluster.names('pods')).toEqual(['web'])
    expect(reported.find(({ reason }) => reason === 'FailedDraining')?.message).toContain('etcd is away')
    end()
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 1 })
  })

  test('whose kubelet is silent is not waited for once a minute has passed after its time', async () => {
    const stuck = podJson('stuck', 'a', { metadata: { deletionTimestamp: at(-61) } })
    const { cluster, drain } = world({ pods: [stuck], claim: goingClaim('a', { status: tainted }) })
    expect(await ended(drain())).toEqual({ kind: 'drained', pods: 0 })
    expect(cluster.names('pods')).toEqual(['stuck'])
  })
})
