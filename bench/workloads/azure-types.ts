import { type Size, sizes, spotShare } from '../../deploy/local/azure/catalogue/catalogue.ts'
import { archKey, capacityTypeKey, type InstanceTypeJson, isOneOf, type RequirementJson, zoneKey } from './scenario.ts'

export const azureZones = ['eastus-1', 'eastus-2', 'eastus-3'] as const
export const gpuResource = 'nvidia.com/gpu'

const sku = (name: string) => `karpenter.azure.com/sku-${name}`
const gpuLabels = [sku('gpu-count'), sku('gpu-manufacturer'), sku('gpu-name')]

export const azureLabels = [
  ...['name', 'family', 'version', 'cpu', 'memory', 'networking-accelerated', 'storage-premium-capable'].map(sku),
  sku('storage-ephemeralos-maxsize'),
  ...gpuLabels,
]

/**
 * Instance types from the simulator's VM families. The table has fewer sizes than a region of Azure, so each comes in as many
 * generations as it takes, each a little more expensive than the one before; every one in three zones, on demand and as spot.
 */
export function azureTypes(count: number): readonly InstanceTypeJson[] {
  const all = [...sizes.values()]
  const generations = Math.ceil(count / all.length)
  const expanded = Array.from({ length: generations }, (_, generation) =>
    all.map((size) => azureType(size, generation)),
  ).flat()
  return expanded.slice(0, count)
}

function azureType(size: Size, generation: number): InstanceTypeJson {
  const version = `${/_v(\d+)$/.exec(size.name)?.[1] ?? '1'}${generation}`
  const name = `${size.name.replace(/_v\d+$/, '')}_v${version}`
  const memoryMib = Math.floor(size.memoryGib * 1024 * 0.925)
  const gpus = size.family.gpus === undefined ? 0 : Math.max(1, Math.floor(size.vCpus / 16) * size.family.gpus)
  return {
    name,
    requirements: requirements(size, name, version, gpus),
    offerings: offerings(size.price * (1 + generation * 0.031)),
    capacity: {
      cpu: String(size.vCpus),
      memory: `${memoryMib}Mi`,
      pods: '250',
      'ephemeral-storage': '128G',
      ...(gpus === 0 ? {} : { [gpuResource]: String(gpus) }),
    },
    overhead: {
      kubeReserved: { cpu: `${100 + 10 * size.vCpus}m`, memory: `${Math.min(5050, Math.floor(memoryMib / 4))}Mi` },
      evictionThreshold: { memory: '100Mi' },
    },
  }
}

function requirements(
  { family, vCpus, memoryGib }: Size,
  name: string,
  version: string,
  gpus: number,
): RequirementJson[] {
  const localGb = (family.localGbPerVCpu ?? 0) * vCpus
  const absent = (key: string) => ({ key, operator: 'DoesNotExist' })
  return [
    isOneOf('node.kubernetes.io/instance-type', name),
    isOneOf(archKey, family.arch === 'Arm64' ? 'arm64' : 'amd64'),
    isOneOf('kubernetes.io/os', 'linux'),
    isOneOf(zoneKey, ...azureZones),
    isOneOf(capacityTypeKey, 'on-demand', 'spot'),
    isOneOf('topology.kubernetes.io/region', 'eastus'),
    isOneOf(sku('name'), name),
    isOneOf(sku('family'), family.prefix),
    isOneOf(sku('version'), version),
    isOneOf(sku('cpu'), String(vCpus)),
    isOneOf(sku('memory'), String(memoryGib * 1024)),
    isOneOf(sku('networking-accelerated'), 'true'),
    isOneOf(sku('storage-premium-capable'), 'true'),
    localGb > 0
      ? isOneOf(sku('storage-ephemeralos-maxsize'), String(localGb))
      : absent(sku('storage-ephemeralos-maxsize')),
    ...gpuLabels.map((key, index) =>
      gpus === 0 ? absent(key) : isOneOf(key, [String(gpus), 'nvidia', 't4'][index] ?? ''),
    ),
  ]
}

function offerings(price: number) {
  return azureZones.flatMap((zone) => [offering(zone, 'on-demand', price), offering(zone, 'spot', price * spotShare)])
}

function offering(zone: string, capacityType: string, price: number) {
  return {
    requirements: [isOneOf(capacityTypeKey, capacityType), isOneOf(zoneKey, zone)],
    price: Number(price.toFixed(5)),
    available: true,
  }
}
