import { azureLabels, azureTypes, azureZones, gpuResource } from './azure-types.ts'
import { Random } from './random.ts'
import {
  type Amounts,
  apartBy,
  archKey,
  capacityTypeKey,
  daemonSetJson,
  hostnameKey,
  isOneOf,
  nodeJson,
  nodePoolJson,
  now,
  podJson,
  type Scenario,
  spreadOver,
  standardOptions,
  zoneKey,
} from './scenario.ts'

const common = { now, options: standardOptions, wellKnownLabels: azureLabels } as const
const podsPerApp = 20

function requests(random: Random): Amounts {
  return {
    cpu: random.pick(['50m', '100m', '250m', '500m', '1', '2', '4']),
    memory: random.pick(['128Mi', '256Mi', '512Mi', '1Gi', '2Gi', '4Gi', '8Gi']),
  }
}

/** What a cluster of Azure may ask for: half plain, a fifth over zones, and tenths of spot, arm64 or GPU, and apart by hostname. */
export function azureMix(pods: number): Scenario {
  const random = new Random(7)
  const objects = Array.from({ length: pods }, (_, index) => {
    const [kind, spec, more] = azureKind(Math.floor(index / podsPerApp), {
      app: `app-${Math.floor(index / podsPerApp)}`,
    })
    return podJson({
      name: `${kind}-${String(index).padStart(5, '0')}`,
      uid: random.uid(),
      labels: { app: `app-${Math.floor(index / podsPerApp)}` },
      requests: { ...requests(random), ...more },
      spec,
    })
  })
  return {
    ...common,
    name: `azure-mix-${pods}`,
    description: 'a mix of constraints over 1,300 Azure types',
    instanceTypes: azureTypes(1300),
    objects: [nodePoolJson({}), ...objects],
  }
}

type Kind = readonly [string, Readonly<Record<string, unknown>>, Amounts]

/** Pods of one app are of one kind; the kinds of ten apps make up the mix. */
function azureKind(number: number, app: Readonly<Record<string, string>>): Kind {
  const tenth = number % 10
  if (tenth < 5) return ['plain', {}, {}]
  if (tenth < 7) return ['zone-spread', spreadOver(zoneKey, app), {}]
  if (tenth === 7) return ['spot', { nodeSelector: { [capacityTypeKey]: 'spot' } }, {}]
  if (tenth === 8)
    return number % 20 < 10
      ? ['arm64', { nodeSelector: { [archKey]: 'arm64' } }, {}]
      : ['gpu', {}, { [gpuResource]: '1' }]
  return ['apart', apartBy(hostnameKey, app), {}]
}

const wide = { app: 'wide' }
const podsPerNode = 20

/**
 * A cluster of 5,000 nodes with 100,000 pods, of which the zone spreads of three pending pods select 10,000. Its nodes have room; a fifth
 * of the pending pods want spot, of which there is none yet.
 */
export function largeCluster(nodes = 5000, pending = 200): Scenario {
  const random = new Random(11)
  const types = azureTypes(200)
  const type = types.find(({ name }) => name.startsWith('Standard_D16s_')) ?? types[0]
  if (type === undefined) throw new Error('the simulator has no VM sizes')
  const allocatable = { ...type.capacity, cpu: '15700m', memory: '55000Mi' }
  const running = Array.from({ length: nodes }, (_, index) => {
    const name = `node-${String(index).padStart(4, '0')}`
    const zone = azureZones[index % azureZones.length] ?? azureZones[0]
    const node = nodeJson({ name, nodePool: 'default', type, zone, capacityType: 'on-demand', allocatable })
    const bound = Array.from({ length: podsPerNode }, (_, place) =>
      podJson({
        name: `${name}-${place}`,
        uid: random.uid(),
        labels: place % 10 === 0 ? wide : { app: `app-${random.below(500)}` },
        requests: { cpu: random.pick(['250m', '500m', '750m', '1']), memory: random.pick(['1Gi', '2Gi', '4Gi']) },
        spec: { nodeName: name },
      }),
    )
    return [...node, ...bound]
  })
  const waiting = Array.from({ length: pending }, (_, index) =>
    podJson({
      name: `pending-${String(index).padStart(4, '0')}`,
      uid: random.uid(),
      labels: index < 3 ? wide : { app: `app-${random.below(500)}` },
      requests: requests(random),
      spec:
        index < 3 ? spreadOver(zoneKey, wide) : index % 5 === 0 ? { nodeSelector: { [capacityTypeKey]: 'spot' } } : {},
    }),
  )
  return {
    ...common,
    name: 'large-cluster',
    description: `${nodes} nodes, ${nodes * podsPerNode} bound pods, ${pending} pending`,
    instanceTypes: types,
    objects: [nodePoolJson({}), ...running.flat(), ...waiting],
  }
}

const teams = 20

/** 20 NodePools, half of them with taints of their own, DaemonSets that run on some of them, and spreads. */
export function manyPools(pods = 2000): Scenario {
  const random = new Random(13)
  const pools = Array.from({ length: teams }, (_, team) =>
    nodePoolJson({
      name: `team-${String(team).padStart(2, '0')}`,
      weight: 1 + (team % 7),
      labels: { team: String(team), tier: team % 3 === 0 ? 'front' : 'back' },
      requirements: [
        isOneOf(archKey, ...(team % 5 === 0 ? ['amd64', 'arm64'] : ['amd64'])),
        isOneOf(capacityTypeKey, ...(team % 4 === 0 ? ['spot'] : ['on-demand', 'spot'])),
      ],
      ...(team % 2 === 0 ? {} : { taints: [{ key: 'team', value: String(team), effect: 'NoSchedule' }] }),
    }),
  )
  const tolerations = [{ operator: 'Exists' }]
  const daemons = [
    daemonSetJson('logs', { cpu: '100m', memory: '200Mi' }, { tolerations }),
    daemonSetJson('network', { cpu: '150m', memory: '128Mi' }, { tolerations }),
    daemonSetJson('front-proxy', { cpu: '250m', memory: '256Mi' }, { tolerations, nodeSelector: { tier: 'front' } }),
    daemonSetJson('arm-agent', { cpu: '50m', memory: '64Mi' }, { tolerations, nodeSelector: { [archKey]: 'arm64' } }),
    daemonSetJson('untainted', { cpu: '75m', memory: '96Mi' }),
    daemonSetJson(
      'spot-watch',
      { cpu: '25m', memory: '32Mi' },
      { tolerations, nodeSelector: { [capacityTypeKey]: 'spot' } },
    ),
  ]
  const objects = Array.from({ length: pods }, (_, index) => teamPod(random, index))
  return {
    ...common,
    name: `many-pools-${pods}`,
    description: '20 NodePools with daemons and spreads',
    instanceTypes: azureTypes(200),
    objects: [...pools, ...daemons, ...objects],
  }
}

function teamPod(random: Random, index: number) {
  const number = Math.floor(index / podsPerApp)
  const team = String(number % teams)
  const app = { app: `app-${number}` }
  const spreads = [{}, spreadOver(zoneKey, app), spreadOver(hostnameKey, app, 3)]
  return podJson({
    name: `pod-${String(index).padStart(5, '0')}`,
    uid: random.uid(),
    labels: app,
    requests: requests(random),
    spec: {
      ...(number % 4 === 0 ? {} : { nodeSelector: { team } }),
      tolerations: [{ key: 'team', operator: 'Equal', value: team, effect: 'NoSchedule' }],
      ...spreads[number % spreads.length],
    },
  })
}
