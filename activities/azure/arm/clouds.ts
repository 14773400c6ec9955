import type { CloudName, DescribedCloud } from '../../../api/azure-cloud.ts'

/** Addresses of a cloud, and the audience of its tokens. */
export interface Cloud {
  /** Name of the cloud for nodes and images. */
  readonly name: CloudName
  /** Whether it is one of Azure's own, whose name is known. */
  readonly isKnown: boolean
  readonly armEndpoint: string
  readonly authorityHost: string
  /** Audience of access tokens for ARM, without a slash at its end. */
  readonly tokenAudience: string
  /** The retail price API, which knows the prices of the public cloud only (reference/azure-provider.md 3.7). */
  readonly pricesEndpoint?: string
}

/** Azure Resource Manager of the public cloud. */
export const publicArm = 'https://management.azure.com'

/** Azure's clouds (https://learn.microsoft.com/azure/azure-government/compare-azure-government-global-azure, `az cloud list`). */
const clouds: Readonly<Record<CloudName, Cloud>> = {
  AzurePublicCloud: {
    name: 'AzurePublicCloud',
    isKnown: true,
    armEndpoint: publicArm,
    authorityHost: 'https://login.microsoftonline.com',
    tokenAudience: 'https://management.azure.com',
    pricesEndpoint: 'https://prices.azure.com',
  },
  AzureUSGovernmentCloud: {
    name: 'AzureUSGovernmentCloud',
    isKnown: true,
    armEndpoint: 'https://management.usgovcloudapi.net',
    authorityHost: 'https://login.microsoftonline.us',
    tokenAudience: 'https://management.core.usgovcloudapi.net',
  },
  AzureChinaCloud: {
    name: 'AzureChinaCloud',
    isKnown: true,
    armEndpoint: 'https://management.chinacloudapi.cn',
    authorityHost: 'https://login.chinacloudapi.cn',
    tokenAudience: 'https://management.core.chinacloudapi.cn',
  },
}

export interface CloudSettings {
  readonly name: CloudName
  /** Replaces the name. */
  readonly described?: DescribedCloud | undefined
  /** Addresses that were set one by one. */
  readonly armEndpoint?: string | undefined
  readonly authorityHost?: string | undefined
  readonly pricesEndpoint?: string | undefined
}

/** Returns the cloud that the settings configure. Single settings precede the file's, and these precede the cloud's own. */
export function cloudOf(settings: CloudSettings): Cloud {
  const { described } = settings
  const { pricesEndpoint, ...base } = described === undefined ? clouds[settings.name] : describedCloud(described)
  const prices = settings.pricesEndpoint ?? pricesEndpoint
  return {
    ...base,
    armEndpoint: trimmed(settings.armEndpoint ?? base.armEndpoint),
    authorityHost: trimmed(settings.authorityHost ?? base.authorityHost),
    ...(prices === undefined ? {} : { pricesEndpoint: trimmed(prices) }),
  }
}

function describedCloud(described: DescribedCloud): Cloud {
  const known = Object.values(clouds).find(({ name }) => name.toLowerCase() === described.name.toLowerCase())
  return {
    name: known?.name ?? 'AzurePublicCloud',
    isKnown: known !== undefined,
    armEndpoint: described.resourceManagerEndpoint,
    authorityHost: described.activeDirectoryEndpoint,
    tokenAudience: trimmed(described.tokenAudience),
  }
}

/** Returns the scope that requests a token for ARM. */
export function armScope(tokenAudience: string): string {
  return `${tokenAudience}/.default`
}

const trimmed = (url: string) => url.replace(/\/+$/, '')
