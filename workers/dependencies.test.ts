import pino from 'pino'
import { Registry, register } from 'prom-client'
import { expect, test } from 'vitest'
import { readCloud } from '../activities/azure/access/azure-config.ts'
import { createAzureActivities } from '../activities/azure/activities.ts'
import { ServerTime } from '../activities/kubernetes/client/server-time.ts'
import { noTracing } from '../activities/telemetry/tracing.ts'
import { doctorConfig } from '../test/fakes/azure-config.ts'
import { FakeCluster } from '../test/fakes/cluster.ts'
import { inProcessSolver } from '../test/fast/in-process-solver.ts'
import { observeCluster } from './cluster-observer.ts'
import { createDependencies } from './dependencies.ts'

const config = doctorConfig('sub', { VNET_GUID: '00000000-0000-0000-0000-000000000001' })

/** What a process of all roles is made of, with its metrics. */
async function wired() {
  const cluster = new FakeCluster()
  cluster.put('namespaces', { metadata: { name: 'kube-system', uid: 'uid' } })
  const registry = new Registry()
  const log = pino({ level: 'silent' })
  const deps = await createDependencies({
    config,
    cloud: await readCloud(config),
    identity: undefined,
    kubernetes: cluster.client,
    serverTime: new ServerTime({ log }),
    client: {} as never,
    log,
    tracing: noTracing,
    registry,
    signal: new AbortController().signal,
    solverThread: inProcessSolver,
  })
  createAzureActivities(deps)
  observeCluster(deps, config, { isReported: () => true })
  return { deps, registry }
}

test('two processes can be made in one of Node: each has its own metrics and solvers', async () => {
  const [one, other] = [await wired(), await wired()]
  const names = ({ registry }: typeof one) => registry.getMetricsAsArray().map(({ name }) => name)
  expect(names(one).length).toBeGreaterThan(40)
  expect(names(other)).toEqual(names(one))
  expect(register.getMetricsAsArray()).toEqual([])
  await Promise.all([one, other].flatMap(({ deps }) => [deps.solver.idle(), deps.evaluator.idle()]))
})
