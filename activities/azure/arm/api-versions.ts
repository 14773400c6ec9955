import type { PipelinePolicy } from '@azure/core-rest-pipeline'

/**
 * The API version of each resource type that Joiner calls: the oldest that has every field and value it sends, since clouds get versions months after one
 * another (reference/real-aks.md 3). `docs/reference/azure-api-fields.md` lists what it sends, checked against the models of these versions.
 */
export const apiVersions = {
  'Microsoft.Compute/virtualMachines': '2025-04-01',
  'Microsoft.Compute/locations': '2025-04-01',
  'Microsoft.Compute/skus': '2021-07-01',
  'Microsoft.Compute/disks': '2024-03-02',
  'Microsoft.Compute/capacityReservationGroups': '2024-03-01',
  'Microsoft.Compute/diskEncryptionSets': '2024-03-02',
  // Machines with tags, state and VM are in previews only (reference/azure-provider.md 10.3).
  'Microsoft.ContainerService/managedClusters': '2026-04-02-preview',
  'Microsoft.ContainerService/locations': '2026-04-02-preview',
  'Microsoft.Network/networkInterfaces': '2024-05-01',
  'Microsoft.Network/networkSecurityGroups': '2024-05-01',
  'Microsoft.Network/loadBalancers': '2024-05-01',
  'Microsoft.Network/virtualNetworks': '2024-05-01',
} as const satisfies Readonly<Record<string, string>>

const types = new Map(Object.entries(apiVersions).map(([type, version]) => [type.toLowerCase(), version]))

/**
 * Returns the API version for a path of ARM, or undefined for a resource type that is not in the table. `overrides` go before the table, by the lower-case
 * name of the type.
 */
export function apiVersionOf(path: string, overrides: ReadonlyMap<string, string> = new Map()): string | undefined {
  const named = [...path.matchAll(/\/providers\/([^/]+)\/([^/?]+)/gi)].at(-1)
  if (named === undefined) return undefined
  // Galleries are read below locations and have versions of their own.
  if (/\/(communityGalleries|sharedGalleries)\//i.test(path)) return undefined
  const type = `${named[1]}/${named[2]}`.toLowerCase()
  return overrides.get(type) ?? types.get(type)
}

/** From this version of virtual machines on, a VM without a security type is a Trusted Launch VM where size and image can be one (reference/real-aks.md 3). */
const trustedLaunchByDefault = '2025-11-01'

/**
 * Returns whether a VM that wants no Trusted Launch has to say `securityType: Standard`: from 2025-11-01 on. Azure refuses that value in earlier versions,
 * unless the subscription registered the feature `Microsoft.Compute/UseStandardSecurityType`.
 */
export function needsStandardSecurityType(overrides: ReadonlyMap<string, string> = new Map()): boolean {
  const type = 'Microsoft.Compute/virtualMachines'
  return (overrides.get(type.toLowerCase()) ?? apiVersions[type]) >= trustedLaunchByDefault
}

/** Returns a policy that asks with the table's versions, whatever version a client of the SDK was generated for. */
export function apiVersionPolicy(overrides: ReadonlyMap<string, string>): PipelinePolicy {
  return {
    name: 'joinerApiVersion',
    sendRequest(request, next) {
      const url = new URL(request.url)
      const version = apiVersionOf(url.pathname, overrides)
      if (version !== undefined) {
        url.searchParams.set('api-version', version)
        request.url = url.href
      }
      return next(request)
    },
  }
}

/**
 * Reads versions for a national cloud, such as `Microsoft.Compute/virtualMachines=2025-11-01,Microsoft.Network/loadBalancers=2023-11-01`. Errors: an entry
 * that is no type with a version.
 */
export function parseApiVersions(text: string): ReadonlyMap<string, string> {
  const entries = text.split(',').map((entry) => entry.trim())
  return new Map(
    entries
      .filter((entry) => entry !== '')
      .map((entry) => {
        const [, type, version] = /^([\w.]+\/\w+)=(\d{4}-\d{2}-\d{2}(?:-preview)?)$/.exec(entry) ?? []
        if (type === undefined || version === undefined || !types.has(type.toLowerCase()))
          throw new Error(
            `"${entry}": must be TYPE=VERSION with one of the types ${Object.keys(apiVersions).join(', ')}; use Microsoft.Compute/virtualMachines=2025-11-01`,
          )
        return [type.toLowerCase(), version]
      }),
  )
}
