import {
  daemonSets,
  type Host,
  hostObjects,
  newHosts,
  offeredTypes,
  type PoolRules,
  poolObjects,
} from './disruption-hosts.ts'
import {
  daemonPods,
  occupyEach,
  pack,
  Services,
  smallMillicores,
  spreadOut,
  usualMillicores,
} from './disruption-pods.ts'
import { Random } from './random.ts'
import { type InstanceTypeJson, now, type ObjectJson } from './scenario.ts'

/** A disruption scenario as JSON, in the form that the vectors have. */
export interface DisruptionScenario {
  readonly name: string
  readonly note: string
  readonly now: string
  readonly method: string
  readonly options: Readonly<Record<string, unknown>>
  readonly instanceTypes: readonly InstanceTypeJson[]
  readonly objects: readonly ObjectJson[]
}

/**
 * `mixed`: many nodes can go, as after a day's peak. `settled`: as much is used, but each node has a pod that no other node can take, so that
 * a pass goes through all candidates. `packed`: nodes are full and of the cheapest type that holds their pods.
 */
export const shapes = ['mixed', 'settled', 'packed'] as const
type Shape = (typeof shapes)[number]

const podsPerNode = 20
const daemonPodsPerNode = 2
const rulesOfPools: PoolRules = { policy: 'WhenEmptyOrUnderutilized', budget: '100%' }

/** A cluster in use for one method: three NodePools, five node sizes in three zones, services with spreads and budgets, DaemonSets. */
function disruptionCluster(shape: Shape, method: string, nodes: number): DisruptionScenario {
  const random = new Random(17)
  const types = offeredTypes()
  const target = shape === 'mixed' ? ([0.35, 0.95] as const) : ([0.65, 0.85] as const)
  const hosts = newHosts(random, { count: nodes, types, target, large: shape === 'mixed' })
  const memory = shape === 'mixed' ? [0.5, 1, 1, 1.25] : [1]
  const services = new Services(random, { pinned: 0.001, memory })
  const count = nodes * (podsPerNode - daemonPodsPerNode)
  if (shape === 'settled') occupyEach(services, hosts)
  if (shape === 'packed') pack(random, services, hosts, count)
  else spreadOut(random, services, hosts, { count, millicores: shape === 'mixed' ? usualMillicores : smallMillicores })
  const daemons = hosts.flatMap(daemonPods)
  return {
    name: `${shape}-${nodes}`,
    note: `${nodes} nodes, ${services.pods.length + daemons.length} pods, ${(100 * used(hosts)).toFixed(0)} % of CPU requested`,
    now,
    method,
    options: {},
    instanceTypes: types,
    objects: [
      ...poolObjects(rulesOfPools),
      ...daemonSets(),
      ...hosts.flatMap(hostObjects),
      ...daemons,
      ...services.pods,
      ...services.budgets(),
    ],
  }
}

function used(hosts: readonly Host[]): number {
  const sum = (of: (host: Host) => number) => hosts.reduce((total, host) => total + of(host), 0)
  return 1 - sum(({ freeCpu }) => freeCpu) / sum(({ cpu }) => cpu)
}

/** The scenario `SHAPE-METHOD-NODES`, such as `mixed-single-node-1000`; undefined if the name is none. */
export function disruptionNamed(name: string): DisruptionScenario | undefined {
  const [, shape, method, nodes] = /^(\w+)-(single-node|multi-node|emptiness|drift)-(\d+)$/.exec(name) ?? []
  const known = shapes.find((one) => one === shape)
  return known === undefined || method === undefined ? undefined : disruptionCluster(known, method, Number(nodes))
}
