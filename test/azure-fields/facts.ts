/** When a value or field appeared, and what says so. */
export interface Fact {
  /** The first API version that has it, as far as it is known. */
  readonly since: string
  readonly source: string
  /** True where the source is not a release of the SDK alone. */
  readonly isProved?: true
}

const compute = (release: string) => `@azure/arm-compute ${release}`
const oldest: Fact = { since: '2019-07-01 or before', source: compute('13.0.0') }
const deleteOptions: Fact = {
  since: '2021-07-01 or before',
  source: `${compute('17.1.0')}, not in 16.1.0 (2020-12-01)`,
}

/**
 * Values of enums as `ENUM VALUE`, and fields as paths, whose version is known. Those of releases were looked up in the type declarations of the releases that
 * are named.
 */
export const facts: Readonly<Record<string, Fact>> = {
  'SecurityTypes Standard': {
    since: '2025-11-01',
    source:
      '[azure-rest-api-specs 39957](https://github.com/Azure/azure-rest-api-specs/pull/39957), [azure-cli 33280](https://github.com/Azure/azure-cli/issues/33280)',
    isProved: true,
  },
  'SecurityTypes TrustedLaunch': { since: '2020-12-01', source: compute('16.1.0') },
  'NetworkApiVersion 2022-11-01': { since: '2024-11-01', source: `${compute('23.0.0')}, not in 22.2.0 (2024-07-01)` },
  'properties.networkProfile.networkInterfaceConfigurations[].tags.*': {
    since: '2025-04-01',
    source:
      '[azure-sdk-for-go, armcompute 7.1.0](https://github.com/Azure/azure-sdk-for-go/blob/main/sdk/resourcemanager/compute/armcompute/CHANGELOG.md)',
  },
  'DiffDiskPlacement NvmeDisk': {
    since: '2024-07-01 or before',
    source: `${compute('22.1.0')}, not in 21.4.0 (2023-09-01)`,
  },
  'DiffDiskPlacement CacheDisk': { since: '2020-06-01 or before', source: compute('15.0.0') },
  'DiffDiskPlacement ResourceDisk': { since: '2020-06-01 or before', source: compute('15.0.0') },
  'DiskDeleteOptionTypes Delete': deleteOptions,
  'DeleteOptions Delete': deleteOptions,
  'DiskCreateOptionTypes FromImage': oldest,
  'CachingTypes ReadOnly': oldest,
  'DiffDiskOptions Local': oldest,
  'ResourceIdentityType UserAssigned': oldest,
  'ResourceIdentityType SystemAssigned, UserAssigned': oldest,
  'VirtualMachinePriorityTypes Regular': oldest,
  'VirtualMachinePriorityTypes Spot': oldest,
  'VirtualMachineEvictionPolicyTypes Delete': oldest,
}
