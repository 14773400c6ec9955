import { capacityTypeKey, type InstanceTypeJson, isOneOf, zoneKey } from './scenario.ts'

export const ladderLabels = ['size', 'special', 'integer']

/** The instance types of upstream's benchmark: type i has i+1 vCPU, 2(i+1) GiB, 10(i+1) pods, and one price everywhere. */
export function ladderTypes(count = 400): readonly InstanceTypeJson[] {
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
