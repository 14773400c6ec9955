import { describe, expect, it } from 'vitest'
import { formatQuantity, quantity } from '../../../core/values/quantity.ts'
import { goldenFunctions } from '../../../test/vectors/golden-functions.ts'
import { kubeReservedMib, kubeReservedMilliCpu, memoryWithoutOverhead } from './node-overhead.ts'

goldenFunctions({
  kubeReserved: [
    18,
    ({ vcpus, memoryGiB }: { vcpus: number; memoryGiB: number }) => ({
      cpu: formatQuantity(quantity(`${kubeReservedMilliCpu(vcpus)}m`)),
      memory: formatQuantity(quantity(`${kubeReservedMib(memoryGiB)}Mi`)),
    }),
  ],
  memoryWithoutOverhead: [
    7,
    ({ memoryGiB, overheadPercent }: { memoryGiB: number; overheadPercent: number }) => {
      const bytes = memoryWithoutOverhead(memoryGiB, overheadPercent)
      return { bytes, quantity: formatQuantity({ nano: BigInt(bytes) * 1_000_000_000n, format: 'BinarySI' }) }
    },
  ],
})

describe('reservations for the kubelet', () => {
  it.each([
    [1, 1, 60, 256],
    [4, 7, 140, 1638],
    [2, 8, 100, 1843],
    [3, 64, 120, 5611],
  ])('%d cores, %d GiB', (cores, gib, milli, mib) => {
    expect(kubeReservedMilliCpu(cores)).toBe(milli)
    expect(kubeReservedMib(gib)).toBe(mib)
  })
})
