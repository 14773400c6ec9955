import type { NodeConfig } from './node-config.ts'

export function isCustomCloud(config: NodeConfig): boolean {
  return config.text('custom_cloud_config.custom_cloud_env_name').toLowerCase() === 'akscustom'
}

const clouds = [
  { name: 'AzureChinaCloud', regions: /^china/, arm: 'https://management.chinacloudapi.cn/' },
  {
    name: 'AzureGermanCloud',
    regions: /^(germanynortheast|germanycentral)$/,
    arm: 'https://management.microsoftazure.de/',
  },
  { name: 'AzureUSGovernmentCloud', regions: /^(usgov|usdod)/, arm: 'https://management.usgovcloudapi.net/' },
  { name: 'AzurePublicCloud', regions: /^/, arm: 'https://management.azure.com/' },
] as const

function cloudAt(config: NodeConfig): (typeof clouds)[number] {
  const region = config.text('cluster_config.location').replaceAll(/\s/g, '').toLowerCase()
  return clouds.find(({ regions }) => regions.test(region)) ?? clouds[3]
}

export function cloudOf(config: NodeConfig): string {
  return cloudAt(config).name
}

export function armEndpoint(config: NodeConfig): string {
  if (!isCustomCloud(config)) return cloudAt(config).arm
  try {
    const content = config.text('custom_cloud_config.custom_env_json_content')
    const environment = JSON.parse(Buffer.from(content, 'base64').toString()) as {
      readonly resourceManagerEndpoint?: string
    }
    return environment.resourceManagerEndpoint ?? ''
  } catch {
    return ''
  }
}
