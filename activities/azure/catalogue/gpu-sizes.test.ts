import { expect, it } from 'vitest'
import { goldenSuite } from '../../../test/vectors/golden-suite.ts'
import { gpuSize, hasInstallableDriver } from './gpu-sizes.ts'

interface GpuCase {
  readonly name: string
  readonly gpu: {
    readonly isGPU: boolean
    readonly manufacturer?: string
    readonly nvidia?: boolean
    readonly amd?: boolean
    readonly driverInstallSupported?: boolean
    readonly osUbuntu?: boolean
    readonly osAzureLinux?: boolean
    readonly osAzureLinux3?: boolean
    readonly driverType?: string
    readonly driverVersion?: string
    readonly imageVersion?: string
  }
}

function gpuOf(name: string): GpuCase['gpu'] {
  const size = gpuSize(name)
  if (size === undefined) return { isGPU: false }
  return {
    isGPU: true,
    manufacturer: size.vendor,
    nvidia: size.vendor === 'nvidia',
    amd: size.vendor === 'amd',
    driverInstallSupported: hasInstallableDriver(size),
    osUbuntu: size.images.includes('Ubuntu'),
    osAzureLinux: size.images.includes('AzureLinux2'),
    osAzureLinux3: size.images.includes('AzureLinux3'),
  }
}

goldenSuite(
  'azure/vmsizes',
  985,
  ({ cases }: { readonly cases: readonly GpuCase[] }) => {
    it('every size has the vendor and the images that the reference names', () => {
      const expected = cases.map(({ name, gpu }) => {
        const { driverType: _type, driverVersion: _version, imageVersion: _image, ...rest } = gpu
        return { name, gpu: rest }
      })
      expect(cases.map(({ name }) => ({ name, gpu: gpuOf(name) }))).toEqual(expected)
    })
  },
  { leavesOut: 'driver type and versions: the node image decides on them' },
)
