import type { InstanceType } from '../../../core/instance-type.ts'
import type { KubeletConversion } from '../../../core/node-class/kubelet-conversion.ts'
import { maxResources, parseResources, type Resources } from '../../../core/resources.ts'
import { type Quantity, quantity, zero } from '../../../core/values/quantity.ts'
import { entryOf } from '../../../core/values/records.ts'
import { withoutEmpty } from '../node-config/kubelet-flags.ts'

/**
 * Returns the bytes of a VM's memory that its operating system sees: whole GiB less what hypervisor and firmware keep, a share of them
 * (reference/azure-provider.md 3.4).
 */
export function memoryWithoutOverhead(memoryGib: number, overheadShare: number): number {
  const bytes = Math.floor(memoryGib) * 2 ** 30
  return bytes - Math.ceil(bytes * overheadShare)
}

/** Returns resources that pods cannot have (reference/azure-provider.md 3.4). Values of a v1beta1 template replace AKS' own numbers. */
export function overheadOf(
  size: { readonly vCpus: number; readonly memoryGib: number },
  capacity: Resources,
  kubelet: KubeletConversion = {},
): InstanceType['overhead'] {
  return {
    kubeReserved: {
      cpu: milliCpu(kubeReservedMilliCpu(size.vCpus)),
      memory: quantity(`${kubeReservedMib(size.memoryGib)}Mi`),
      ...amountsOf(kubelet.kubeReserved),
    },
    systemReserved: { cpu: zero, memory: zero, ...amountsOf(kubelet.systemReserved) },
    evictionThreshold: evictionThreshold(capacity, kubelet),
  }
}

/** Returns reserved amounts without `pid`, which only concerns kubelet. */
function amountsOf(reserved: Readonly<Record<string, string>> = {}): Resources {
  return parseResources(Object.fromEntries(Object.entries(reserved).filter(([name]) => name !== 'pid')))
}

/** Returns the highest of hard and soft thresholds: the first that is met evicts. */
function evictionThreshold(capacity: Resources, { evictionHard, evictionSoft }: KubeletConversion): Resources {
  const hard = { 'memory.available': '750Mi', ...withoutEmpty(evictionHard) }
  return maxResources(...[hard, withoutEmpty(evictionSoft)].map((signals) => thresholdsOf(capacity, signals)))
}

const resourceOfSignal: Readonly<Record<string, string>> = {
  'memory.available': 'memory',
  'nodefs.available': 'ephemeral-storage',
}

function thresholdsOf(capacity: Resources, signals: Readonly<Record<string, string>>): Resources {
  return Object.fromEntries(
    Object.entries(signals).flatMap(([signal, amount]) => {
      const resource = entryOf(resourceOfSignal, signal)
      return resource === undefined ? [] : [[resource, thresholdAmount(amount, capacity[resource] ?? zero)]]
    }),
  )
}

/** Returns an amount, or a share of the capacity, in whole units. */
function thresholdAmount(amount: string, capacity: Quantity): Quantity {
  if (!amount.endsWith('%')) return quantity(amount)
  const nano = (capacity.nano * BigInt(Math.round(Number(amount.slice(0, -1)) * 100))) / 10_000n
  return { nano: nano - (nano % 1_000_000_000n), format: capacity.format }
}

const milliCpu = (milli: number): Quantity => ({ nano: BigInt(milli) * 1_000_000n, format: 'DecimalSI' })

// Shares of the first so many cores or GiB, of the next so many, and so on.
const cpuShares: Brackets = [
  [1, 0.06],
  [1, 0.04],
  [2, 0.02],
  [Number.POSITIVE_INFINITY, 0.01],
]
const memoryShares: Brackets = [
  [4, 0.25],
  [4, 0.2],
  [8, 0.1],
  [112, 0.06],
  [Number.POSITIVE_INFINITY, 0.02],
]

type Brackets = readonly (readonly [amount: number, share: number])[]

/** Sums in floating point as upstream, so that rounding down gives the same thousandth. */
function reservedOf(total: number, brackets: Brackets): number {
  let left = total
  let reserved = 0
  for (const [amount, share] of brackets) {
    const part = Math.min(left, amount)
    reserved += part * share
    left -= part
  }
  return reserved
}

/** Returns the CPU that AKS keeps for the kubelet, in thousandths of a core: a falling share of each core (reference/azure-provider.md 3.4). */
export function kubeReservedMilliCpu(vCpus: number): number {
  return Math.trunc(reservedOf(vCpus, cpuShares) * 1000)
}

/** Returns the memory that AKS keeps for the kubelet, in MiB: a falling share of the size's own GiB. */
export function kubeReservedMib(memoryGib: number): number {
  return Math.trunc(reservedOf(memoryGib, memoryShares) * 1024)
}
