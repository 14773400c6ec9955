import { describe, expect, test } from 'vitest'
import type { NodeClass } from '../../../api/objects.ts'
import { allocatable, type InstanceType } from '../../../core/instance-type.ts'
import type { KubeletConversion } from '../../../core/node-class/kubelet-conversion.ts'
import { formatResources } from '../../../core/resources.ts'
import type { AzureConfig } from '../azure-config.ts'
import { instanceTypes } from '../catalogue/instance-types.ts'
import { modelledPrices } from '../catalogue/pricing.ts'
import type { VmSize } from '../catalogue/sku.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import { kubeletFlags } from './kubelet-flags.ts'

const config = { networkPlugin: 'azure', networkPluginMode: 'overlay', subnetId: 'subnet' } as AzureConfig

const nodeClass = (spec: Record<string, unknown> = {}): NodeClass => ({
  kind: 'AKSNodeClass',
  metadata: { name: 'default', uid: 'u', labels: {}, annotations: {} } as unknown as NodeClass['metadata'],
  spec,
  status: { images: [], conditions: [] },
})

/** 4 vCPUs and 16 GiB: AKS keeps 140m CPU and 2662 Mi of it. */
const size: VmSize = {
  name: 'Standard_D4s_v5',
  family: 'standardDSv5Family',
  series: 'Ds_v5',
  seriesFamily: 'D',
  version: '5',
  vCpus: 4,
  memoryGib: 16,
  arch: 'amd64',
  gpus: 0,
  hyperVGenerations: ['2'],
  acceleratedNetworking: true,
  premiumStorage: true,
  encryptionAtHost: true,
  trustedLaunch: true,
  spotCapable: true,
  ultraSsdZones: new Set(),
  ultraSsdRegional: false,
  zones: ['1'],
}

function typeWith(kubelet?: KubeletConversion, spec?: Record<string, unknown>): InstanceType {
  const [type] = instanceTypes({
    sizes: [size],
    region: 'westeurope',
    nodeClass: nodeClassSettings(nodeClass(spec), config, kubelet),
    prices: modelledPrices,
    isMarked: () => false,
    hasQuota: () => true,
    memoryOverheadPercent: 0,
    nodeResourceGroup: 'MC_x',
  })
  if (type === undefined) throw new Error('the size does not fit the node class')
  return type
}

const pods = (type: InstanceType) => formatResources(type.capacity)['pods']

describe('pods that a node may have', () => {
  test.each([
    ['maxPods of the template wins over the class', { maxPods: 42 }, { maxPods: 60 }, '42'],
    ['the class decides what the template does not say', {}, { maxPods: 60 }, '60'],
    ['podsPerCore lowers it', { podsPerCore: 10 }, {}, '40'],
    ['podsPerCore does not raise it', { podsPerCore: 100, maxPods: 42 }, {}, '42'],
    ['podsPerCore 0 sets no limit', { podsPerCore: 0, maxPods: 42 }, {}, '42'],
  ] as const)('%s', (_what, kubelet, spec, expected) => {
    expect(pods(typeWith(kubelet, spec))).toBe(expected)
  })
})

describe('resources that pods cannot have', () => {
  const left = (kubelet?: KubeletConversion) => formatResources(allocatable(typeWith(kubelet)))

  test("without the annotation AKS' own numbers apply", () => {
    expect(typeWith().overhead).toEqual(typeWith({}).overhead)
    expect(left()).toMatchObject({ cpu: '3860m', memory: `${16384 - 2662 - 750}Mi` })
  })

  test('reserved amounts replace the defaults, the others stay', () => {
    expect(left({ kubeReserved: { cpu: '1' }, systemReserved: { memory: '100Mi', pid: '500' } })).toMatchObject({
      cpu: '3',
      memory: `${16384 - 2662 - 750 - 100}Mi`,
    })
  })

  test('the highest threshold of memory counts, hard or soft, amount or share', () => {
    const memory = (kubelet: KubeletConversion) => left(kubelet)['memory']
    expect(memory({ evictionHard: { 'memory.available': '100Mi' } })).toBe(`${16384 - 2662 - 100}Mi`)
    expect(memory({ evictionHard: { 'memory.available': '' } })).toBe(`${16384 - 2662 - 750}Mi`)
    expect(memory({ evictionSoft: { 'memory.available': '1Gi' } })).toBe(`${16384 - 2662 - 1024}Mi`)
    expect(memory({ evictionHard: { 'memory.available': '12.5%' } })).toBe(`${16384 - 2662 - 2048}Mi`)
  })

  test('a threshold of the disk is taken from its size', () => {
    expect(left({ evictionHard: { 'nodefs.available': '10%' } })['ephemeral-storage']).toBe('115200M')
  })
})

describe("kubelet's flags", () => {
  function flags(kubelet: KubeletConversion | undefined, spec: Record<string, unknown> = {}): Record<string, string> {
    const settings = nodeClassSettings(nodeClass(spec), config, kubelet)
    const { overhead } = typeWith(kubelet, spec)
    return kubeletFlags({
      kubernetesVersion: '1.33.4',
      maxPods: settings.maxPods,
      clusterDnsServiceIp: '10.0.0.10',
      kubelet: settings.kubelet,
      v1beta1Kubelet: settings.v1beta1Kubelet,
      taints: [],
      startupTaints: [],
      kubeReserved: overhead.kubeReserved ?? {},
      systemReserved: overhead.systemReserved ?? {},
    })
  }

  test('every setting reaches kubelet, and unset ones stay as AKS has them', () => {
    const before = flags(undefined)
    const after = flags({
      clusterDNS: ['10.1.0.10', '10.1.0.11'],
      maxPods: 42,
      podsPerCore: 12,
      systemReserved: { memory: '100Mi' },
      kubeReserved: { cpu: '1', pid: '1000' },
      evictionHard: { 'nodefs.available': '10%' },
      evictionSoft: { 'memory.available': '1Gi', 'pid.available': '' },
      evictionSoftGracePeriod: { 'memory.available': '1m30s' },
      evictionMaxPodGracePeriod: 0,
      imageGCHighThresholdPercent: 70,
      imageGCLowThresholdPercent: 60,
      cpuCFSQuota: false,
    })
    expect(after).toEqual({
      ...before,
      '--cluster-dns': '10.1.0.10,10.1.0.11',
      '--max-pods': '42',
      '--pods-per-core': '12',
      '--system-reserved': 'cpu=0,memory=100Mi',
      '--kube-reserved': 'cpu=1,memory=2662Mi,pid=1000',
      '--eviction-hard': 'memory.available<750Mi,nodefs.available<10%',
      '--eviction-soft': 'memory.available<1Gi',
      '--eviction-soft-grace-period': 'memory.available=1m30s',
      '--eviction-max-pod-grace-period': '0',
      '--image-gc-high-threshold': '70',
      '--image-gc-low-threshold': '60',
      '--cpu-cfs-quota': 'false',
    })
  })

  test('an empty one changes nothing', () => {
    expect(flags({})).toEqual(flags(undefined))
  })

  test("it is used instead of the node class' settings, all of them", () => {
    const spec = { kubelet: { cpuManagerPolicy: 'static', imageGCHighThresholdPercent: 90 } }
    expect(flags(undefined, spec)).toMatchObject({
      '--cpu-manager-policy': 'static',
      '--image-gc-high-threshold': '90',
    })
    const replaced = flags({ maxPods: 42 }, spec)
    expect(replaced).not.toHaveProperty('--cpu-manager-policy')
    expect(replaced['--image-gc-high-threshold']).toBe('85')
  })
})
