import { gpuSize } from '../../../../activities/azure/catalogue/gpu-sizes.ts'
import type { VmSize } from '../../../../activities/azure/catalogue/sku.ts'
import { generationOf, parseVmSizeName, seriesOf } from '../../../../activities/azure/catalogue/vm-size-name.ts'
import type { Node } from '../../../../core/objects.ts'
import { labels } from '../../../../core/requirements/labels.ts'

/** GiB of memory for each vCPU in Azure's sizes. What a node reports is up to a tenth less than the size has. */
const ratios = [1, 1.75, 2, 3.5, 4, 4.5, 5.5, 6.75, 7, 8, 9, 14, 16, 28, 32]
const nanoOfGib = 2n ** 30n * 1_000_000_000n

/**
 * Returns the sizes that nodes have, by what they report: all that is known of a region where ARM does not say what it sells. So nothing is replaced by a size that the
 * cluster does not have yet.
 */
export function sizesOfNodes(nodes: readonly Node[]): ReadonlyMap<string, VmSize> {
  const bySize = Map.groupBy(nodes, ({ metadata }) => metadata.labels[labels.instanceType] ?? '')
  const sizes = [...bySize].flatMap(([name, own]) => sizeOf(name, own) ?? [])
  return new Map(sizes.map((size) => [size.name, size]))
}

function sizeOf(name: string, nodes: readonly Node[]): VmSize | undefined {
  const parts = parseVmSizeName(name)
  const [first] = nodes
  const cpu = first?.capacity['cpu']
  const memory = first?.capacity['memory']
  if (parts === undefined || first === undefined || cpu === undefined || memory === undefined) return undefined
  const vCpus = Number(cpu.nano / 1_000_000_000n)
  const gib = Number(memory.nano / (nanoOfGib / 1000n)) / 1000
  const gpu = gpuSize(name)
  const gpus = ['nvidia.com/gpu', 'amd.com/gpu'].map((key) =>
    Number((first.capacity[key]?.nano ?? 0n) / 1_000_000_000n),
  )
  return {
    name,
    family: '',
    seriesFamily: parts.family,
    series: seriesOf(parts),
    version: generationOf(parts),
    vCpus,
    memoryGib: vCpus * (ratios.find((ratio) => ratio * vCpus >= gib) ?? gib / Math.max(1, vCpus)),
    arch: first.metadata.labels[labels.arch] === 'arm64' ? 'arm64' : 'amd64',
    gpus: Math.max(0, ...gpus),
    ...(gpu === undefined ? {} : { gpu }),
    ...(gpu === undefined || parts.accelerator === undefined ? {} : { gpuName: parts.accelerator }),
    hyperVGenerations: ['1', '2'],
    acceleratedNetworking: true,
    premiumStorage: parts.features.includes('s'),
    encryptionAtHost: true,
    trustedLaunch: true,
    spotCapable: true,
    ultraSsdZones: new Set(),
    ultraSsdRegional: false,
    zones: zonesOf(nodes),
  }
}

function zonesOf(nodes: readonly Node[]): readonly string[] {
  const zones = nodes.flatMap(({ metadata }) => /-(\d)$/.exec(metadata.labels[labels.zone] ?? '')?.[1] ?? [])
  return [...new Set(zones)].toSorted()
}
