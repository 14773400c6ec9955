import { Random } from './random.ts'
import {
  type Amounts,
  apartBy,
  capacityTypeKey,
  hostnameKey,
  type InstanceTypeJson,
  isOneOf,
  nodePoolJson,
  now,
  podJson,
  type Scenario,
  spreadOver,
  standardOptions,
  togetherBy,
  zoneKey,
} from './scenario.ts'

const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g'] as const
const limits = { cpu: '10M', memory: '10000000Gi' }

function requests(random: Random): Amounts {
  return {
    cpu: random.pick(['100m', '250m', '500m', '1', '1500m']),
    memory: random.pick(['100Mi', '256Mi', '512Mi', '1Gi', '2Gi', '4Gi']),
  }
}

/** Upstream's benchmark: a fifth each of plain pods, zone spread, hostname spread, zone affinity and hostname anti-affinity. */
export function benchmarkMix(pods: number): Scenario {
  const random = new Random(42)
  const kinds = [
    () => ['generic', { 'my-label': random.pick(letters) }, {}],
    () => [
      'zone-spread',
      { 'my-label': random.pick(letters) },
      spreadOver(zoneKey, { 'my-label': random.pick(letters) }),
    ],
    () => [
      'host-spread',
      { 'my-label': random.pick(letters) },
      spreadOver(hostnameKey, { 'my-label': random.pick(letters) }),
    ],
    () => {
      const own = { 'my-affininity': random.pick(letters) }
      return ['zone-affinity', own, togetherBy(zoneKey, own)]
    },
    () => ['host-anti-affinity', { app: 'nginx' }, apartBy(hostnameKey, { app: 'nginx' })],
  ] as const satisfies readonly (() => readonly [string, Readonly<Record<string, string>>, object])[]
  const fifth = Math.floor(pods / kinds.length)
  const objects = Array.from({ length: pods }, (_, index) => {
    const kind = kinds[fifth === 0 ? 0 : Math.floor(index / fifth)] ?? kinds[0]
    const [name, labels, spec] = kind()
    const number = String(index).padStart(5, '0')
    return podJson({
      name: `${name}-${number}`,
      uid: random.uid(),
      labels,
      requests: requests(random),
      spec: { ...spec },
    })
  })
  return scenario(`mix-${pods}`, 'the mix of upstream’s scheduling benchmark', objects)
}

/** Equal pods with a node preference and two preferred anti-affinities, of which the heavier can rarely be met. */
export function preferences(pods: number): Scenario {
  const random = new Random(42)
  const labelSelector = { matchLabels: { app: 'nginx' } }
  const zoneOne = { matchExpressions: [isOneOf(zoneKey, 'test-zone-1')] }
  const affinity = {
    nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: zoneOne }] },
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 10, podAffinityTerm: { labelSelector, topologyKey: zoneKey } },
        { weight: 1, podAffinityTerm: { labelSelector, topologyKey: hostnameKey } },
      ],
    },
  }
  const objects = Array.from({ length: pods }, (_, index) =>
    podJson({
      name: `preferring-${String(index).padStart(5, '0')}`,
      uid: random.uid(),
      labels: { app: 'nginx' },
      requests: requests(random),
      spec: { affinity },
    }),
  )
  return scenario(`preferences-${pods}`, 'pods that prefer much of which little can be met', objects)
}

function scenario(name: string, description: string, pods: Scenario['objects']): Scenario {
  return {
    name,
    description,
    now,
    options: standardOptions,
    wellKnownLabels: ladderLabels,
    instanceTypes: ladderTypes(),
    objects: [nodePoolJson({ limits }), ...pods],
  }
}

const ladderLabels = ['size', 'special', 'integer']

/** The instance types of upstream's benchmark: type i has i+1 vCPU, 2(i+1) GiB, 10(i+1) pods, and one price everywhere. */
function ladderTypes(count = 400): readonly InstanceTypeJson[] {
  const places = [
    ['spot', 'test-zone-1'],
    ['spot', 'test-zone-2'],
    ['on-demand', 'test-zone-1'],
    ['on-demand', 'test-zone-2'],
    ['on-demand', 'test-zone-3'],
  ] as const
  return Array.from({ length: count }, (_, index) => {
    const name = `fake-it-${index}`
    const cpu = index + 1
    const gib = 2 * cpu
    const price = 0.1 * cpu + (0.1 * gib * 1024 ** 3) / 1e9
    return {
      name,
      requirements: [
        isOneOf('integer', String(cpu)),
        isOneOf(capacityTypeKey, 'on-demand', 'spot'),
        isOneOf('kubernetes.io/arch', 'amd64'),
        isOneOf('kubernetes.io/os', 'darwin', 'linux', 'windows'),
        isOneOf('node.kubernetes.io/instance-type', name),
        isOneOf('size', cpu > 4 && gib > 8 ? 'large' : 'small'),
        { key: 'special', operator: 'DoesNotExist' },
        isOneOf(zoneKey, 'test-zone-1', 'test-zone-2', 'test-zone-3'),
      ],
      offerings: places.map(([capacityType, zone]) => ({
        requirements: [isOneOf(capacityTypeKey, capacityType), isOneOf(zoneKey, zone)],
        price,
        available: true,
      })),
      capacity: { cpu: String(cpu), memory: `${gib}Gi`, pods: String(10 * cpu) },
      overhead: { kubeReserved: { cpu: '100m', memory: '10Mi' } },
    }
  })
}
