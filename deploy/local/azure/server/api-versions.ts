import { ArmError } from './arm-error.ts'

const networkVersions = [
  '2020-11-01',
  '2021-02-01',
  '2021-03-01',
  '2021-05-01',
  '2021-08-01',
  '2022-01-01',
  '2022-05-01',
  '2022-07-01',
  '2022-09-01',
  '2022-11-01',
  '2023-02-01',
  '2023-04-01',
  '2023-05-01',
  '2023-06-01',
  '2023-09-01',
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
    '2020-06-01',
    '2020-12-01',
    '2021-03-01',
    '2021-04-01',
    '2021-07-01',
    '2021-11-01',
    '2022-03-01',
    '2022-08-01',
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
    '2022-09-01',
    '2022-11-01',
    '2023-01-01',
    '2023-02-01',
    '2023-03-01',
    '2023-04-01',
    '2023-05-01',
    '2023-06-01',
    '2023-07-01',
    '2023-08-01',
    '2023-09-01',
    '2023-10-01',
    '2023-11-01',
    '2024-01-01',
    '2024-02-01',
    '2024-05-01',
    '2024-07-01',
    '2024-08-01',
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
  'microsoft.managedidentity/userassignedidentities': ['2018-11-30', '2022-01-31-preview', '2023-01-31', '2024-11-30'],
  'microsoft.authorization/roledefinitions': ['2018-01-01-preview', '2022-04-01'],
  'microsoft.authorization/roleassignments': ['2020-04-01-preview', '2022-04-01'],
  'microsoft.network/networkinterfaces': networkVersions,
  'microsoft.network/networksecuritygroups': networkVersions,
  'microsoft.network/loadbalancers': networkVersions,
}

/** From this version on, Azure has the security type `Standard`, and a VM without one is a Trusted Launch VM where its image can be one. */
const trustedLaunchByDefault = '2025-11-01'

const standardFeature = 'Microsoft.Compute/UseStandardSecurityType'

/** Preview features of Azure that a subscription can register, as far as something depends on them. */
export const knownFeatures = [standardFeature]

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

type Properties = Readonly<Record<string, unknown>>

/**
 * Returns the security profile that a VM gets. From 2025-11-01 on, one without a type becomes a Trusted Launch VM where its image can be one, and `Standard`
 * where not (https://github.com/Azure/azure-cli/issues/33280). Errors: `InvalidParameter` for a type that the version does not have, and for `Standard` in an
 * earlier one without the feature `Microsoft.Compute/UseStandardSecurityType` (https://github.com/Azure/azure-cli/issues/31234).
 */
export function securityProfileOf(
  { properties }: { readonly properties: Properties },
  version: string,
  { features = [] }: { readonly features?: readonly string[] },
): Properties | undefined {
  const own = (properties['securityProfile'] ?? undefined) as Properties | undefined
  const type = own?.['securityType'] ?? undefined
  const isNew = version >= trustedLaunchByDefault
  const types = [
    'TrustedLaunch',
    'ConfidentialVM',
    ...(isNew || features.includes(standardFeature) ? ['Standard'] : []),
  ]
  if (type !== undefined && !types.includes(type as string))
    throw new ArmError(400, 'InvalidParameter', 'The value of parameter securityProfile.securityType is invalid.').with(
      { target: 'securityProfile.securityType', innererror: { internalErrorCode: 'ParameterValueInvalid' } },
    )
  if (type !== undefined || !isNew) return own
  return /gen2(?!arm64)/i.test(JSON.stringify(properties['storageProfile'] ?? {}))
    ? { ...own, securityType: 'TrustedLaunch', uefiSettings: { secureBootEnabled: true, vTpmEnabled: true } }
    : { ...own, securityType: 'Standard' }
}
