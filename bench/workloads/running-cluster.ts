import { azureLabels, azureTypes, azureZones } from './azure-types.ts'
import { Random } from './random.ts'
import {
  apartBy,
  capacityTypeKey,
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

const podsPerApp = 20
const podsPerNode = 20

/**
 * A cluster in which nothing waits: apps of 20 pods, 20 pods a node, each app on 20 nodes. Half of the apps are plain, a fifth spread over
 * zones, a tenth each over hostnames, apart by hostname, and for on-demand capacity alone; every tenth node is spot. Nodes are four fifths
 * full, or have no room at all.
 */
export function runningCluster(nodes: number, isFull = false): Scenario {
  const random = new Random(17)
  const types = azureTypes(200)
  const type = types.find(({ name }) => name.startsWith('Standard_D16s_')) ?? types[0]
  if (type === undefined) throw new Error('the simulator has no VM sizes')
  const cpus = ['250m', '500m', '750m', '1']
  const allocatable = { ...type.capacity, cpu: isFull ? '12500m' : '15700m', memory: '55000Mi' }
  const nodeName = (index: number) => `node-${String(index).padStart(4, '0')}`
  const places = Array.from({ length: nodes }, (_, index) =>
    nodeJson({
      name: nodeName(index),
      nodePool: 'default',
      type,
      zone: azureZones[index % azureZones.length] ?? azureZones[0],
      capacityType: index % 10 === 0 ? 'spot' : 'on-demand',
      allocatable,
    }),
  )
  const pods = Array.from({ length: nodes * podsPerNode }, (_, index) => {
    const app = { app: `app-${Math.floor(index / podsPerApp)}` }
    const pod = podJson({
      name: `pod-${String(index).padStart(6, '0')}`,
      uid: random.uid(),
      labels: app,
      requests: { cpu: isFull ? '625m' : random.pick(cpus), memory: random.pick(['1Gi', '2Gi', '4Gi']) },
      spec: { ...specOf(Math.floor(index / podsPerApp), app), nodeName: nodeName((index * 7) % nodes) },
    })
    return { ...pod, status: { phase: 'Running' } }
  })
  return {
    now,
    options: standardOptions,
    wellKnownLabels: azureLabels,
    name: `running-${nodes}`,
    description: `${nodes} ${isFull ? 'full ' : ''}nodes with ${nodes * podsPerNode} pods`,
    instanceTypes: types,
    objects: [nodePoolJson({ limits: { cpu: '10M' } }), ...places.flat(), ...pods],
  }
}

function specOf(number: number, app: Readonly<Record<string, string>>): object {
  const tenth = number % 10
  if (tenth < 5) return {}
  if (tenth < 7) return spreadOver(zoneKey, app)
  if (tenth === 7) return spreadOver(hostnameKey, app)
  if (tenth === 8) return { nodeSelector: { [capacityTypeKey]: 'on-demand' } }
  return apartBy(hostnameKey, app)
}
