import { azureLabels, azureTypes, azureZones } from './azure-types.ts'
import { Random } from './random.ts'
import {
  apartBy,
  hostnameKey,
  nodeJson,
  nodePoolJson,
  now,
  podJson,
  type Scenario,
  spreadOver,
  standardOptions,
  zoneKey,
} from './scenario.ts'

const podsPerNode = 15
/** Pods of ordinary workloads that wait beside the hostile ones. */
const innocents = 50

/** A cluster of some hundred nodes that consolidation looks at, with 50 pods of five ordinary workloads that wait. */
export function hostileCluster(nodes = 200): Scenario {
  const random = new Random(23)
  const types = azureTypes(200)
  const type = types.find(({ name }) => name.startsWith('Standard_D16s_')) ?? types[0]
  if (type === undefined) throw new Error('the simulator has no VM sizes')
  const running = Array.from({ length: nodes }, (_, index) => {
    const name = `node-${String(index).padStart(4, '0')}`
    const zone = azureZones[index % azureZones.length] ?? azureZones[0]
    const allocatable = { ...type.capacity, cpu: '15700m', memory: '55000Mi' }
    const conditions = ['Consolidatable']
    const capacityType = 'on-demand'
    const node = nodeJson({
      name,
      nodePool: 'default',
      type,
      zone,
      capacityType,
      allocatable,
      created: now,
      conditions,
    })
    const bound = Array.from({ length: podsPerNode }, (_, place) =>
      podJson({
        name: `${name}-${place}`,
        uid: random.uid(),
        labels: { app: `app-${random.below(100)}` },
        requests: { cpu: random.pick(['500m', '1']), memory: random.pick(['1Gi', '2Gi', '4Gi']) },
        spec: { nodeName: name },
      }),
    )
    return [...node, ...bound]
  })
  const waiting = Array.from({ length: innocents }, (_, index) => {
    const app = { app: `innocent-${index % 5}` }
    const kinds = [{}, spreadOver(zoneKey, app), apartBy(hostnameKey, app), spreadOver(hostnameKey, app), {}]
    return podJson({
      name: `innocent-${index}`,
      uid: `innocent-${index}`,
      labels: app,
      requests: { cpu: '1', memory: '2Gi' },
      spec: kinds[index % 5] ?? {},
    })
  })
  const disruption = { consolidateAfter: '30s', consolidationPolicy: 'WhenEmptyOrUnderutilized' }
  return {
    now,
    options: standardOptions,
    wellKnownLabels: azureLabels,
    name: 'hostile-pods',
    description: `${nodes} nodes with ${nodes * podsPerNode} pods, ${innocents} pods that wait`,
    instanceTypes: types,
    objects: [nodePoolJson({ disruption }), ...running.flat(), ...waiting],
  }
}
