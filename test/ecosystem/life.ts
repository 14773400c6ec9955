// A small life of a cluster, in which each metric happens once: nodes come, Azure refuses, a budget holds a drain, nodes go.
import { freePorts } from '../../deploy/local/free-ports.ts'
import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import type { World } from '../world.ts'
import type { Prometheus } from './prometheus.ts'

/** Joiner's processes with their roles, as the chart divides them but for joiner-azure and joiner-conversion. */
const processes = { joiner: 'core,azure,bridge,conversion', planner: 'planner' } as const
type Process = keyof typeof processes

/** A cluster in which Joiner runs. */
export interface LivingCluster {
  readonly world: World
  /** `host:port` where each process serves metrics. */
  readonly targets: Readonly<Record<Process, string>>
  readonly start: (name: Process) => void
}

const daemons = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent', namespace: 'default' },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    template: {
      metadata: { labels: { app: 'agent' } },
      spec: {
        terminationGracePeriodSeconds: 0,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '10m', memory: '16Mi' } } }],
      },
    },
  },
}

const budget = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'inflate', namespace: 'default' },
  spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'inflate' } } },
}

/** The NodePool `general` with limits. */
export function limitedPool(limits: Readonly<Record<string, string>>) {
  const pool = nodePool()
  return { ...pool, spec: { ...pool.spec, limits } }
}

/** Starts Joiner's processes in a world, with metrics on known ports, and applies what the life needs. */
export async function bringToLife(world: World): Promise<LivingCluster> {
  const names = Object.keys(processes) as Process[]
  const ports = await freePorts(names.length)
  const portOf = (name: Process) => String(ports[names.indexOf(name)])
  const start = (name: Process) =>
    world.startJoiner(name, { JOINER_ROLES: processes[name], JOINER_HEALTH_PORT: portOf(name) })
  for (const name of names) start(name)
  await world.apply(limitedPool({ cpu: '100', nodes: '10' }), nodeClass(), deployment({ apart: true }), daemons)
  await world.untilReady('general')
  const targets = { joiner: `127.0.0.1:${portOf('joiner')}`, planner: `127.0.0.1:${portOf('planner')}` }
  return { world, targets, start }
}

interface Life {
  readonly world: World
  readonly prometheus: Prometheus
  /** Reports each part of it. */
  readonly say: (line: string) => void
}

/** Lives through the life. */
export async function live({ world, prometheus, say }: Life): Promise<void> {
  const untilScraped = (selector: string) =>
    world.until(`a scrape with ${selector}`, async () => (await prometheus.seriesOf(selector)) > 0)
  say('two pods get nodes; Azure refuses the first offering')
  await world.fault({ kind: 'failSync', code: 'SkuNotAvailable', count: 1 })
  // Each phase lasts for several scrapes, on a busy machine too; a claim that is refused says so while its next request waits.
  await world.fault({ kind: 'latency', operation: 'PUT virtualMachines', ms: 15_000, count: 10 })
  await world.timing({ bootMs: 15_000 })
  await world.scale('inflate', 2)
  for (const type of ['Launched', 'Registered', 'Initialized'])
    await untilScraped(`operator_nodeclaim_status_condition_current_status_seconds{type="${type}", status!="True"}`)
  await world.untilRunning(2)
  await world.timing({ bootMs: 0 })
  await world.operator.simulator('DELETE', '/faults')
  say('a NodeClaim is deleted, and a PodDisruptionBudget holds its drain')
  await world.apply(budget)
  const [claim] = await world.list('nodeclaims')
  const name = claim?.metadata.name ?? ''
  await world.operator.kubectl(['delete', 'nodeclaim', name, '--wait=false'])
  await untilScraped('karpenter_pods_eviction_requests_total{code="429"}')
  await untilScraped('operator_nodeclaim_termination_current_time_seconds')
  await world.operator.kubectl(['delete', 'poddisruptionbudget', 'inflate'])
  await world.until('its node is gone', async () =>
    (await world.list('nodeclaims')).every(({ metadata }) => metadata.name !== name),
  )
  await world.untilRunning(2)
  say('a NodeClaim is lost, and its VM stays while a pod runs there')
  const [lost] = await world.list('nodeclaims')
  const lostName = lost?.metadata.name ?? ''
  const none = '{"metadata":{"finalizers":[]}}'
  await world.operator.kubectl(['patch', 'nodeclaim', lostName, '--type=merge', '-p', none])
  await world.operator.kubectl(['delete', 'nodeclaim', lostName])
  await world.until('its lifecycle has ended', async () =>
    (await world.lifecycles("ExecutionStatus = 'Running'")).every(({ nodeClaim }) => nodeClaim !== lostName),
  )
  await world.maintain()
  await untilScraped('joiner_garbage_withheld')
  say('the pods go, and their nodes are disrupted as empty')
  await world.scale('inflate', 0)
  await world.until('the VM without a NodeClaim goes', async () => {
    await world.maintain()
    return (await world.azure()).virtualMachines.every(({ name: vm }) => vm !== `aks-${lostName}`)
  })
  await world.untilNothingLeft()
  await untilScraped('increase(joiner_disruption_savings_dollars_per_hour_total[1h])')
}
