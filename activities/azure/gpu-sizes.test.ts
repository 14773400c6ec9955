import { describe, expect, it } from 'vitest'
import { hasGoldenCases, readGolden } from '../../test/golden-cases.ts'
import { gpuSize } from './gpu-sizes.ts'

interface SizeCase {
  readonly name: string
  readonly gpu: {
    readonly isGPU: boolean
    readonly manufacturer?: string
    readonly osUbuntu?: boolean
    readonly osAzureLinux?: boolean
    readonly osAzureLinux3?: boolean
  }
}

describe.skipIf(!hasGoldenCases)('every known size', () => {
  it('has the vendor and the images that the reference names', () => {
    const { cases } = readGolden('vectors/vmsizes.json') as { readonly cases: readonly SizeCase[] }
    const wrong = cases.filter(({ name, gpu }) => {
      const size = gpuSize(name)
      return (
        (size !== undefined) !== gpu.isGPU ||
        (size?.vendor ?? '') !== (gpu.manufacturer ?? '') ||
        (size?.images.includes('Ubuntu') ?? false) !== (gpu.osUbuntu ?? false) ||
        (size?.images.includes('AzureLinux2') ?? false) !== (gpu.osAzureLinux ?? false) ||
        (size?.images.includes('AzureLinux3') ?? false) !== (gpu.osAzureLinux3 ?? false)
      )
    })
    expect(wrong.map(({ name }) => name)).toEqual([])
  })
})
