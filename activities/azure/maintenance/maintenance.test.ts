import { Registry } from 'prom-client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { labels } from '../../../core/requirements/labels.ts'
import { metricLines } from '../../../test/fakes/deps.ts'
import { world } from '../../../test/fakes/garbage-world.ts'
import { nodeClassJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import { ReconcileMetrics } from '../../telemetry/reconcile-metrics.ts'
import { Maintenance } from './maintenance.ts'

useFakeTime()

/** A process that maintains a cluster with one node. Its passes over node classes fail for as long as the API server does not tell its version. */
function maintained() {
  const known = world()
  const registry = new Registry()
  const stop = new AbortController()
  let asked = 0
  const deps = { ...known.deps, reconciles: new ReconcileMetrics(registry) }
  const maintenance = new Maintenance({ ...deps, onUndecided: async () => void (asked += 1) })
  onTestFinished(() => stop.abort())
  const passes = async (controller: string, result: string) => {
    const name = `controller_runtime_reconcile_total{controller="${controller}",result="${result}"}`
    const line = (await metricLines(registry, name)).at(0)
    return Number(line?.slice(name.length) ?? 0)
  }
  return {
    ...known,
    stop,
    maintenance,
    asked: () => asked,
    keptUp: maintenance.keepUp(stop.signal),
    garbage: () => passes('nodeclaim.garbagecollection', 'success'),
    inPlace: () => passes('nodeclaim.inplaceupdate', 'success'),
    ofClasses: async () =>
      (await passes('nodeclaim.disruption', 'success')) + (await passes('nodeclaim.disruption', 'error')),
  }
}

describe('the process that maintains a cluster', () => {
  test('looks at classes at once, and at each part by its clock', async () => {
    const { garbage, inPlace, ofClasses } = maintained()
    await pass(1000)
    expect([await garbage(), await inPlace()]).toEqual([0, 1])
    expect(await ofClasses()).toBeGreaterThan(0)
    await pass(120_000)
    expect(await garbage()).toBe(1)
    await pass(180_000)
    expect([await garbage(), await inPlace()]).toEqual([2, 2])
  })

  test('takes up a changed class at once, and what a lost NodeClaim left after 20 s, once for many', async () => {
    const { cluster, add, garbage, inPlace } = maintained()
    for (const name of ['x', 'y', 'z']) add(name, { node: false, vm: false })
    await pass(1000)
    cluster.put('aksnodeclasses', nodeClassJson('default', { metadata: { generation: 2 } }))
    await pass(1000)
    expect(await inPlace()).toBe(2)
    for (const name of ['x', 'y', 'z']) cluster.remove('nodeclaims', name)
    await pass(19_000)
    expect(await garbage()).toBe(0)
    await pass(2000)
    expect(await garbage()).toBe(1)
    await pass(60_000)
    expect(await garbage()).toBe(1)
  })

  test('a run of all parts comes to its end though one fails, says which, and puts the next pass off', async () => {
    const { azure, maintenance, garbage, inPlace } = maintained()
    await pass(100_000)
    azure.intercept((request) => {
      if (request.startsWith('GET virtualMachines')) throw new Error('no VMs today')
    })
    const run = ended(maintenance.run(new AbortController().signal))
    await expect(run).rejects.toMatchObject({
      type: 'MaintenanceFailed',
      nonRetryable: true,
      message: expect.stringContaining('garbage: no VMs today'),
      details: [{ inPlace: { updated: 0 }, failed: expect.arrayContaining([expect.stringMatching(/^garbage: /)]) }],
    })
    const before = await inPlace()
    await pass(250_000)
    expect([await inPlace(), await garbage()]).toEqual([before, 0])
  })

  test('looks after NodeClaims though a NodePool cannot be written, as by a policy of the cluster', async () => {
    const { cluster, ofClasses } = maintained()
    cluster.intercept(({ verb, path }) => {
      if (verb === 'patch' && path.includes('/nodepools/')) throw new ApiError(403, 'Forbidden', 'denied by a policy')
    })
    await pass(1000)
    expect(await ofClasses()).toBeGreaterThan(0)
    expect(cluster.object('nodeclaims', 'good')?.metadata.labels).toMatchObject({ [labels.nodeClass]: 'default' })
  })

  test('judges an AKSNodeClass though a NodeClaim of it cannot get the hash of this version', async () => {
    const { cluster } = maintained()
    const earlier = { 'karpenter.azure.com/aksnodeclass-hash-version': 'v0' }
    cluster.put(
      'aksnodeclasses',
      nodeClassJson('default', { metadata: { annotations: earlier }, status: { conditions: [] } }),
    )
    cluster.intercept(({ verb, path }) => {
      if (verb === 'patch' && path.includes('/nodeclaims/')) throw new ApiError(403, 'Forbidden', 'denied by a policy')
    })
    await pass(1000)
    const { status, metadata } = cluster.object('aksnodeclasses', 'default') ?? {}
    expect(status?.conditions.map(({ type }) => type)).toContain('SubnetsReady')
    // Its NodeClaims have hashes of the earlier version.
    expect(metadata?.annotations).toMatchObject(earlier)
  })

  test('stops at once when it may work no longer, and leaves runs that come late to the next process', async () => {
    const { stop, keptUp, maintenance, garbage, ofClasses } = maintained()
    await pass(1000)
    const before = await ofClasses()
    stop.abort()
    await ended(keptUp)
    await pass(600_000)
    expect([await garbage(), await ofClasses()]).toEqual([0, before])
    await expect(maintenance.run(new AbortController().signal)).rejects.toThrow()
  })

  test('has the pods of a lost node counted once, and no machine deleted before', async () => {
    const { add, azure, asked, garbage } = maintained()
    add('lost', { claim: false })
    await pass(250_000)
    expect([await garbage(), asked()]).toEqual([2, 1])
    expect(azure.names('virtualMachines')).toContain('aks-lost')
  })

  test('has them counted again ten minutes later, when the machine can be adopted', async () => {
    const { add, asked } = maintained()
    add('lost', { claim: false })
    await pass(700_000)
    expect(asked()).toBe(1)
    await pass(200_000)
    expect(asked()).toBe(2)
  })

  test('has them counted again ten minutes later, though the clock was a year ahead before', async () => {
    vi.setSystemTime(Date.now() + 365 * 86_400_000)
    const { add, asked } = maintained()
    add('lost', { claim: false })
    await pass(250_000)
    expect(asked()).toBe(1)
    vi.setSystemTime(Date.now() - 365 * 86_400_000)
    await pass(900_000)
    expect(asked()).toBeGreaterThan(1)
  })
})
