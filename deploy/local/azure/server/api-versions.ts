import { ArmError } from './arm-error.ts'

const networkVersions = [
  '2023-11-01',
  '2024-01-01',
  '2024-05-01',
  '2024-07-01',
  '2024-10-01',
  '2025-01-01',
  '2025-03-01',
  '2025-05-01',
  '2026-01-01',
]

/** API versions of Azure's public cloud by provider, as https://learn.microsoft.com/azure/templates lists them. Types that are not here take any. */
const known: Readonly<Record<string, readonly string[]>> = {
  'microsoft.compute/virtualmachines': [
    '2022-11-01',
    '2023-03-01',
    '2023-07-01',
    '2023-09-01',
    '2024-03-01',
    '2024-07-01',
    '2024-11-01',
    '2025-04-01',
    '2025-11-01',
    '2026-04-01',
  ],
  'microsoft.containerservice/managedclusters': [
    '2024-09-01',
    '2025-01-01',
    '2025-02-01',
    '2025-03-01',
    '2025-04-01',
    '2025-05-01',
    '2025-07-01',
    // Machines with tags, state and image, and their PUT.
    '2026-04-02-preview',
  ],
  'microsoft.managedidentity/userassignedidentities': ['2018-11-30', '2023-01-31', '2024-11-30'],
  'microsoft.authorization/roledefinitions': ['2018-01-01-preview', '2022-04-01'],
  'microsoft.authorization/roleassignments': ['2020-04-01-preview', '2022-04-01'],
  'microsoft.network/networkinterfaces': networkVersions,
  'microsoft.network/networksecuritygroups': networkVersions,
  'microsoft.network/loadbalancers': networkVersions,
}

/** From this version on a VM without a security type is a Trusted Launch VM, where its image can be one (reference/real-aks.md 3). */
const trustedLaunchByDefault = '2025-11-01'

/** Errors: `NoRegisteredProviderFound` for a version that the resource type of a path does not have. */
export function checkApiVersion(path: string, version: string, location: string): void {
  const [, provider, type] = [...path.matchAll(/\/providers\/(Microsoft\.\w+)\/(\w+)/gi)].at(-1) ?? []
  const versions = known[`${provider}/${type}`.toLowerCase()]
  if (versions === undefined || versions.includes(version)) return
  throw new ArmError(
    400,
    'NoRegisteredProviderFound',
    `No registered resource provider found for location '${location}' and API version '${version}' for type '${type}'. The supported api-versions are '${versions.join(', ')}'.`,
  )
}

/** Returns the security profile that a VM gets: its own, or that of Trusted Launch where the version makes it the default. */
export function securityProfileOf(
  { properties }: { readonly properties: Readonly<Record<string, unknown>> },
  version: string,
): Readonly<Record<string, unknown>> | undefined {
  const own = properties['securityProfile'] as Readonly<Record<string, unknown>> | undefined
  const image = JSON.stringify(properties['storageProfile'] ?? {})
  const isDefault =
    version >= trustedLaunchByDefault && own?.['securityType'] === undefined && /gen2(?!arm64)/i.test(image)
  if (!isDefault) return own
  return { ...own, securityType: 'TrustedLaunch', uefiSettings: { secureBootEnabled: true, vTpmEnabled: true } }
}
