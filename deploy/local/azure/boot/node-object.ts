import type { VmSize } from '../catalogue/sku-catalogue.ts'
import type { SimulatorConfig } from '../server/config.ts'
import type { Machine } from '../virtual-machines/machine.ts'
import type { KubeletStart } from './kubelet-start.ts'

/** A Node is named as its VM's computer. */
export function nodeName(machine: Machine): string {
  return (machine.body.properties.osProfile?.computerName ?? machine.name).toLowerCase()
}

/** The boot ID that a VM's kubelet reports: another one after each restart. */
export function bootId({ bootId: last, vmId }: Pick<Machine, 'bootId' | 'vmId'>): string {
  return last ?? vmId
}

export interface NodeObject extends Readonly<Record<string, unknown>> {
  readonly metadata: { readonly name: string; readonly annotations: object; readonly labels: object }
  readonly spec: { readonly providerID?: string; readonly taints: KubeletStart['taints'] }
}

/** What a Node gets after its registration, and when. */
export interface LaterId {
  readonly providerID: string
  readonly afterMs: number
}

/** Returns the Node as its kubelet registers it: without a provider id where cloud-node-manager sets that. */
export function registeredNode(
  node: NodeObject,
  { providerIdMs: afterMs = 0 }: { readonly providerIdMs?: number },
): { readonly node: NodeObject; readonly later?: LaterId } {
  const { providerID, ...spec } = node.spec
  return providerID === undefined || afterMs === 0
    ? { node }
    : { node: { ...node, spec }, later: { providerID, afterMs } }
}

/** The Node that a VM's kubelet registers, with what Azure's cloud provider adds to it. */
export function nodeObject(
  machine: Machine,
  kubelet: KubeletStart,
  { subscriptionId, nodeResourceGroup }: Pick<SimulatorConfig, 'subscriptionId' | 'nodeResourceGroup'>,
): NodeObject {
  const { body, size } = machine
  const { arch } = size
  const zone = body.zones?.[0]
  const capacity = {
    cpu: String(size.vCpus),
    memory: `${usableKib(size)}Ki`,
    'ephemeral-storage': `${(body.properties.storageProfile?.osDisk?.diskSizeGB ?? 128) * 1_000_000}k`,
    pods: String(kubelet.maxPods),
    'hugepages-1Gi': '0',
    'hugepages-2Mi': '0',
  }
  const group = nodeResourceGroup.toLowerCase()
  const instanceType = body.properties.hardwareProfile.vmSize
  const place = zone === undefined ? '0' : `${body.location}-${zone}`
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName(machine),
      annotations: { 'kwok.x-k8s.io/node': 'fake' },
      labels: {
        ...kubelet.labels,
        'kubernetes.io/hostname': nodeName(machine),
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': arch,
        'node.kubernetes.io/instance-type': instanceType,
        'topology.kubernetes.io/region': body.location,
        'topology.kubernetes.io/zone': place,
        // Azure's cloud provider sets the old names with the new ones.
        'beta.kubernetes.io/os': 'linux',
        'beta.kubernetes.io/arch': arch,
        'beta.kubernetes.io/instance-type': instanceType,
        'failure-domain.beta.kubernetes.io/region': body.location,
        'failure-domain.beta.kubernetes.io/zone': place,
      },
    },
    spec: {
      ...(kubelet.hasCloudProvider
        ? {
            providerID: `azure:///subscriptions/${subscriptionId}/resourceGroups/${group}/providers/Microsoft.Compute/virtualMachines/${machine.name}`,
          }
        : {}),
      taints: kubelet.taints,
    },
    status: {
      capacity,
      allocatable: allocatable(capacity, kubelet),
      nodeInfo: { ...nodeInfo(kubelet, arch), bootID: bootId(machine) },
    },
  }
}

/** Memory that a VM has for its programs, in KiB: firmware and kernel keep a little of what the size promises. */
export function usableKib({ memoryGib }: Pick<VmSize, 'memoryGib'>): number {
  return Math.floor(memoryGib * 1024 * 1024 * 0.96)
}

/** Capacity without what is reserved for Kubernetes and the system, and without the memory at which pods are evicted. */
function allocatable(
  capacity: Readonly<Record<string, string>>,
  { kubeReserved, systemReserved, evictionHard }: KubeletStart,
): Record<string, string> {
  const memory = kib(capacity['memory'] ?? '0')
  const threshold = evictionHard['memory.available'] ?? '0'
  const evicted = threshold.endsWith('%') ? (memory * Number.parseFloat(threshold)) / 100 : kib(threshold)
  const reserved = (resource: string, amount: (text: string) => number) =>
    amount(kubeReserved[resource] ?? '0') + amount(systemReserved[resource] ?? '0')
  return {
    ...capacity,
    cpu: `${milli(capacity['cpu'] ?? '0') - reserved('cpu', milli)}m`,
    memory: `${Math.floor(memory - reserved('memory', kib) - evicted)}Ki`,
  }
}

function milli(text: string): number {
  return text.endsWith('m') ? Number.parseFloat(text) : Number.parseFloat(text) * 1000
}

const kibUnits: Readonly<Record<string, number>> = {
  Ki: 1,
  Mi: 1024,
  Gi: 1024 ** 2,
  Ti: 1024 ** 3,
  k: 1000 / 1024,
  M: 1000 ** 2 / 1024,
  G: 1000 ** 3 / 1024,
}

function kib(text: string): number {
  const unit = /[A-Za-z]+$/.exec(text)?.[0]
  return Number.parseFloat(text) * (unit === undefined ? 1 / 1024 : (kibUnits[unit] ?? 1 / 1024))
}

function nodeInfo({ version, labels }: KubeletStart, architecture: string): Record<string, string> {
  return {
    architecture,
    operatingSystem: 'linux',
    kubeletVersion: version,
    // The API wants the field, and kubelets no longer know.
    kubeProxyVersion: '',
    containerRuntimeVersion: 'containerd://2.1.0',
    kernelVersion: '6.8.0-azure',
    osImage: labels['kubernetes.azure.com/os-sku-effective'] ?? labels['kubernetes.azure.com/os-sku'] ?? 'Ubuntu',
    machineID: '',
    systemUUID: '',
  }
}
