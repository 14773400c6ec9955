import { azureLabels, azureTypes, azureZones } from './azure-types.ts'
import { Random } from './random.ts'
import {
  type Amounts,
  apartBy,
  archKey,
  capacityTypeKey,
  daemonSetJson,
  hostnameKey,
  type InstanceTypeJson,
  isOneOf,
  type Labels,
  nodeJson,
  nodePoolJson,
  now,
  podJson,
  type Scenario,
  spreadOver,
  standardOptions,
  togetherBy,
  zoneKey,
} from './scenario.ts'

/** Upstream keeps the order among equally full open claims only up to so many. */
export const mostOpenClaims = 12

const mostNodes = 50

/**
 * A scenario of 200 to 2,000 pods to which upstream has one answer only. It leaves out what upstream answers by chance: zone spreads
 * and zone affinities always have one best zone, because the pods that are bound already differ by more than are pending.
 */
export function parityScenario(seed: number): Scenario {
  const random = new Random(1000 + seed)
  const pods = random.between(200, 2000)
  const types = parityTypes(random)
  const pools = parityPools(random)
  const nodes = Array.from({ length: random.below(mostNodes + 1) }, (_, index) => runningNode(random, types, index))
  const groups = Array.from({ length: random.between(8, 24) }, (_, index) => newGroup(random, index, nodes.length > 0))
  const anchors = nodes.length === 0 ? [] : groups.flatMap((group) => boundPods(random, group, nodes))
  const pending = Array.from({ length: pods }, (_, index) => pendingPod(random, groups, pods, index))
  return {
    name: `parity-${seed}`,
    description: `${pods} pods, ${nodes.length} nodes`,
    now,
    options: { ...standardOptions, preferencePolicy: random.chance(0.15) ? 'Ignore' : 'Respect' },
    wellKnownLabels: azureLabels,
    instanceTypes: types,
    objects: [...pools, ...daemons(random), ...nodes.flatMap(({ objects }) => objects), ...anchors, ...pending.flat()],
  }
}

/** About a hundred types, all of which hold many pods, and some that are so large that a dozen claims are enough. */
function parityTypes(random: Random): readonly InstanceTypeJson[] {
  const some = azureTypes(200).filter(() => random.chance(0.5))
  const large = [96, 128, 160, 192].map((cpu, index) => {
    const model = azureTypes(1)[0]
    if (model === undefined) throw new Error('the simulator has no VM sizes')
    const name = `Standard_L${cpu}arge_v9${index}`
    const own = model.requirements.filter(({ key }) => !key.endsWith('sku-name') && !key.endsWith('instance-type'))
    return {
      ...model,
      name,
      requirements: [
        ...own.map((one) => (one.key.endsWith('sku-cpu') ? isOneOf(one.key, String(cpu)) : one)),
        isOneOf('node.kubernetes.io/instance-type', name),
        isOneOf('karpenter.azure.com/sku-name', name),
      ],
      offerings: model.offerings.map((one) => ({
        ...one,
        price: Number((0.05 * cpu * (one.price / 0.096)).toFixed(5)),
      })),
      capacity: { cpu: String(cpu), memory: `${cpu * 6}Gi`, pods: '1000', 'ephemeral-storage': '128G' },
    }
  })
  return [...some, ...large]
}

const dedicated = { key: 'dedicated', value: 'batch', effect: 'NoSchedule' }

function parityPools(random: Random) {
  const pools = [nodePoolJson({ name: 'default', weight: 50 })]
  if (random.chance(0.5))
    pools.push(nodePoolJson({ name: 'batch', weight: 80, taints: [dedicated], labels: { purpose: 'batch' } }))
  if (random.chance(0.4))
    pools.push(nodePoolJson({ name: 'limited', weight: 60, limits: { cpu: String(random.between(100, 400)) } }))
  if (random.chance(0.4))
    pools.push(
      nodePoolJson({
        name: 'steady',
        weight: 10,
        requirements: [isOneOf(capacityTypeKey, 'on-demand')],
        labels: { purpose: 'steady' },
      }),
    )
  return pools
}

/**
 * Some daemons, one of which runs everywhere if any does: where a claim's types with daemons stand beside types without, upstream's
 * least overhead follows the order of a Go map.
 */
function daemons(random: Random) {
  if (random.chance(0.4)) return []
  const everywhere = daemonSetJson('logs', { cpu: '100m', memory: '200Mi' }, { tolerations: [{ operator: 'Exists' }] })
  const some = [
    daemonSetJson('arm-agent', { cpu: '150m', memory: '64Mi' }, { nodeSelector: { [archKey]: 'arm64' } }),
    daemonSetJson('spot-watch', { cpu: '50m', memory: '32Mi' }, { nodeSelector: { [capacityTypeKey]: 'spot' } }),
  ].filter(() => random.chance(0.5))
  return [everywhere, ...some]
}

interface RunningNode {
  readonly name: string
  readonly zone: string
  readonly objects: Scenario['objects']
}

function runningNode(random: Random, types: readonly InstanceTypeJson[], index: number): RunningNode {
  const type = random.pick(
    types.filter(({ capacity }) => Number(capacity['cpu']) <= 32 && Number(capacity['cpu']) >= 4),
  )
  const name = `node-${String(index).padStart(2, '0')}`
  const zone = random.pick(azureZones)
  const cpu = Number(type.capacity['cpu'])
  const allocatable = { ...type.capacity, cpu: `${cpu * 1000 - 260}m`, memory: `${cpu * 1500}Mi` }
  const capacityType = random.pick(['on-demand', 'spot'])
  const load = podJson({
    name: `${name}-load`,
    uid: random.uid(),
    labels: { app: 'load' },
    requests: { cpu: `${random.between(0, cpu * 700)}m`, memory: `${random.between(0, cpu * 900)}Mi` },
    spec: { nodeName: name },
  })
  const node = nodeJson({ name, nodePool: 'default', type, zone, capacityType, allocatable })
  return { name, zone, objects: [...node, load] }
}

interface Group {
  readonly labels: Labels
  readonly kind: string
  readonly spec: Readonly<Record<string, unknown>>
  /** At most so many pods of it are pending. */
  readonly most: number
  pending: number
}

/** What pods of a group have in common. */
function newGroup(random: Random, index: number, hasNodes: boolean): Group {
  const labels = { app: `app-${index}` }
  const preferred = (weight: number, key: string, ...values: readonly string[]) => ({
    weight,
    preference: { matchExpressions: [isOneOf(key, ...values)] },
  })
  const preferences = {
    preferredDuringSchedulingIgnoredDuringExecution: [
      preferred(10, capacityTypeKey, 'spot'),
      preferred(5, zoneKey, 'eastus-2'),
    ],
  }
  const orTerms = {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        { matchExpressions: [isOneOf('example.com/absent', 'here')] },
        { matchExpressions: [isOneOf(zoneKey, 'eastus-1', 'eastus-2')] },
      ],
    },
  }
  const kinds: readonly (readonly [string, Readonly<Record<string, unknown>>, number])[] = [
    ['plain', {}, Infinity],
    ['plain', {}, Infinity],
    ['zone', { nodeSelector: { [zoneKey]: random.pick(azureZones) } }, Infinity],
    ['spot', { nodeSelector: { [capacityTypeKey]: 'spot' } }, Infinity],
    ['arm64', { nodeSelector: { [archKey]: 'arm64' } }, 60],
    ['batch', { tolerations: [{ key: 'dedicated', operator: 'Exists' }] }, Infinity],
    ['preferring', { affinity: { nodeAffinity: preferences } }, Infinity],
    ['either', { affinity: { nodeAffinity: orTerms } }, Infinity],
    ['apart', apartBy(hostnameKey, labels), 4],
    ['host-spread', spreadOver(hostnameKey, labels, random.between(1, 3)), 12],
    ['port', {}, 3],
    ['nowhere', { nodeSelector: { [zoneKey]: 'eastus-9' } }, 3],
    ['unknown-label', { nodeSelector: { 'example.com/absent': 'here' } }, 3],
    ...(hasNodes
      ? ([
          ['zone-spread', spreadOver(zoneKey, labels, random.between(1, 2)), 8],
          ['zone-together', togetherBy(zoneKey, labels), 40],
        ] as const)
      : []),
  ]
  const [kind, spec, most] = random.pick(kinds)
  return { labels, kind, spec, most, pending: 0 }
}

const unevenness = 10

/** Pods that run already and that a group counts. For a spread they differ by more than are pending, so that one zone is best throughout. */
function boundPods(random: Random, { kind, labels }: Group, nodes: readonly RunningNode[]) {
  const bound = (name: string, nodeName: string) =>
    podJson({ name, uid: random.uid(), labels, requests: { cpu: '1m', memory: '1Mi' }, spec: { nodeName } })
  const first = random.pick(nodes)
  if (kind === 'zone-together') return [bound(`${labels['app']}-bound`, first.name)]
  if (kind !== 'zone-spread') return []
  return azureZones.flatMap((zone, index) => {
    const node = nodes.find((one) => one.zone === zone)
    if (node === undefined) return []
    return Array.from({ length: index * unevenness }, (_, place) =>
      bound(`${labels['app']}-${zone}-${place}`, node.name),
    )
  })
}

/** A pod of a group that still takes some. */
function pendingPod(random: Random, groups: readonly Group[], pods: number, index: number) {
  const open = groups.filter(({ pending, most }) => pending < most)
  const group = open.length === 0 ? undefined : random.pick(open)
  if (group !== undefined) group.pending += 1
  const port = { containerPort: 8080, hostPort: 8080 }
  const pod = podJson({
    name: `pod-${String(index).padStart(4, '0')}`,
    uid: random.uid(),
    labels: group?.labels ?? {},
    requests: requests(random, pods),
    spec: group?.spec ?? {},
  })
  if (group?.kind !== 'port') return [pod]
  const containers = (pod.spec['containers'] as readonly object[]).map((one) => ({ ...one, ports: [port] }))
  return [{ ...pod, spec: { ...pod.spec, containers } }]
}

/** Unequal requests, the smaller the more pods there are, so that the whole fits a dozen claims. */
function requests(random: Random, pods: number): Amounts {
  const millicores = Math.floor(600_000 / pods)
  return { cpu: `${random.between(10, 2 * millicores)}m`, memory: `${random.between(16, 4 * millicores)}Mi` }
}
