import { readFile } from 'node:fs/promises'
import { type DescribedCloud, parseEnvironmentFile } from '../../../api/azure-cloud.ts'
import { type AzureLogin, type Config, managesMachines } from '../../../api/config.ts'
import { certificateForm } from '../../../api/settings/azure-settings.ts'
import { certificatesOf } from '../../../api/settings/node-settings.ts'
import { parseApiVersions } from '../arm/api-versions.ts'
import { type Cloud, cloudOf } from '../arm/clouds.ts'
import type { AzureConfig } from '../azure-config.ts'

/** Returns the cloud that the environment configures. Errors: problems of the file of AZURE_ENVIRONMENT_FILEPATH. */
export async function readCloud(config: AzureLogin): Promise<Cloud> {
  const described = await describedCloud(config.AZURE_ENVIRONMENT_FILEPATH)
  return cloudOf({
    name: config.ARM_CLOUD,
    described,
    armEndpoint: config.JOINER_ARM_ENDPOINT,
    authorityHost: config.AZURE_AUTHORITY_HOST,
    pricesEndpoint: config.JOINER_PRICES_ENDPOINT,
  })
}

async function describedCloud(path: string | undefined): Promise<DescribedCloud | undefined> {
  if (path === undefined) return undefined
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new Error(
      `environment variable AZURE_ENVIRONMENT_FILEPATH "${path}": the file cannot be read (${String(error)}); mount it, or unset the variable and set ARM_CLOUD`,
      { cause: error },
    )
  }
  return parseEnvironmentFile(path, text)
}

/** Facts from the cluster and Azure for unset settings. */
export interface FoundFacts {
  readonly clusterUid: string
  readonly clusterDnsServiceIp: string
  readonly vnetGuid?: AzureConfig['vnetGuid']
}

/** Returns the configuration of Azure for activities, from the environment and the cluster. Errors: a file with CAs cannot be read. */
export async function azureConfig(config: Config, cloud: Cloud, facts: FoundFacts): Promise<AzureConfig> {
  const vnetGuid = config.VNET_GUID === '' ? facts.vnetGuid : () => config.VNET_GUID
  const clusterEndpoint = new URL(config.CLUSTER_ENDPOINT).host
  return {
    subscriptionId: config.ARM_SUBSCRIPTION_ID,
    location: config.LOCATION,
    cloud: cloud.name,
    clusterResourceGroup: config.ARM_RESOURCE_GROUP,
    nodeResourceGroup: config.AZURE_NODE_RESOURCE_GROUP,
    clusterName: config.CLUSTER_NAME,
    clusterUid: facts.clusterUid,
    clusterEndpoint,
    clusterCaBundle: await clusterCa(config),
    subnetId: config.VNET_SUBNET_ID,
    systemNamespace: config.SYSTEM_NAMESPACE ?? config.JOINER_NAMESPACE,
    armEndpoint: cloud.armEndpoint,
    tokenAudience: cloud.tokenAudience,
    ...(cloud.pricesEndpoint === undefined ? {} : { pricesEndpoint: cloud.pricesEndpoint }),
    nodeIdentities: config.NODE_IDENTITIES,
    kubeletIdentityClientId: config.KUBELET_IDENTITY_CLIENT_ID,
    tenantId: config.AZURE_TENANT_ID ?? '',
    adminUsername: config.LINUX_ADMIN_USERNAME,
    sshPublicKey: config.SSH_PUBLIC_KEY,
    networkPlugin: config.NETWORK_PLUGIN,
    networkPluginMode: config.NETWORK_PLUGIN_MODE,
    networkDataplane: config.NETWORK_DATAPLANE,
    networkPolicy: config.NETWORK_POLICY,
    ...(vnetGuid === undefined ? {} : { vnetGuid }),
    additionalTags: config.ADDITIONAL_TAGS,
    ...(config.NODE_OSDISK_DISKENCRYPTIONSET_ID === ''
      ? {}
      : { diskEncryptionSetId: config.NODE_OSDISK_DISKENCRYPTIONSET_ID }),
    ...sharedGalleryOf(config),
    managesMachines: managesMachines(config),
    ...makesMachines(config),
    // Clouds of other names have no billing of AKS (reference/azure-provider.md 10.2).
    billingExtension: config.JOINER_BILLING_EXTENSION && cloud.isKnown,
    bootDiagnostics: config.JOINER_BOOT_DIAGNOSTICS,
    untestedSizes: config.JOINER_UNTESTED_SIZES,
    imageFloor: { minVersion: config.JOINER_IMAGE_MIN_VERSION, minAgeMs: config.JOINER_IMAGE_MIN_AGE },
    apiVersions: parseApiVersions(config.JOINER_AZURE_API_VERSIONS),
    ...(await readNodeEgress(config, clusterEndpoint)),
    clusterDnsServiceIp: config.DNS_SERVICE_IP ?? facts.clusterDnsServiceIp,
    vmMemoryOverheadPercent: config.VM_MEMORY_OVERHEAD_PERCENT,
  }
}

/** Returns whether images come from AKS' shared galleries, and the server of their token. */
export function sharedGalleryOf(config: Config): Pick<AzureConfig, 'sharedGallery'> {
  if (!config.USE_SIG) return {}
  return {
    sharedGallery: { subscriptionId: config.SIG_SUBSCRIPTION_ID, tokenServerUrl: config.SIG_ACCESS_TOKEN_SERVER_URL },
  }
}

/** Returns how nodes are made as AKS machines; nothing where they are VMs. */
function makesMachines({
  PROVISION_MODE: mode,
  AKS_MACHINES_POOL_NAME: pool,
}: Config): Pick<AzureConfig, 'makesMachines'> {
  return mode === 'aksscriptless' ? {} : { makesMachines: { pool, inBatches: mode === 'aksmachineapiheaderbatch' } }
}

/** Returns the CA of the API server in base64: from the setting when it is set, else from the file. */
async function clusterCa(config: Config): Promise<string> {
  const bundle = config.CLUSTER_CA_BUNDLE
  if (bundle === undefined) return (await readFile(config.KUBELET_BOOTSTRAP_CA_FILE)).toString('base64')
  return certificateForm(bundle) === 'base64' ? bundle.replaceAll(/\s/g, '') : Buffer.from(bundle).toString('base64')
}

/** Destinations without the proxy: the node itself, Azure's own addresses on every node, and the API server. */
const directEntries = ['localhost', '127.0.0.1', '168.63.129.16', '169.254.169.254']

/** Most CAs: Azure accepts 64 KiB of custom data, and a few CAs fit beside everything else. */
const mostCas = 10

/** Reads the CAs that nodes trust and the proxy they use. Errors: a file that cannot be read, or that holds no certificate or too many. */
export async function readNodeEgress(
  config: Config,
  apiServerHost: string,
): Promise<Pick<AzureConfig, 'customCaCerts' | 'httpProxy'>> {
  const { JOINER_NODE_HTTP_PROXY: http, JOINER_NODE_HTTPS_PROXY: https, JOINER_NODE_PROXY_CA_FILE: caFile } = config
  const customCaCerts = await readCertificates('JOINER_NODE_CUSTOM_CA_FILE', config.JOINER_NODE_CUSTOM_CA_FILE)
  const httpProxy = http ?? https
  const httpsProxy = https ?? http
  if (httpProxy === undefined || httpsProxy === undefined) return { customCaCerts }
  const trusted = await readCertificates('JOINER_NODE_PROXY_CA_FILE', caFile)
  const noProxy = new Set([...directEntries, apiServerHost.replace(/:\d+$/, ''), ...config.JOINER_NODE_NO_PROXY])
  return {
    customCaCerts,
    httpProxy: {
      httpProxy,
      httpsProxy,
      noProxy: [...noProxy],
      ...(trusted.length === 0
        ? {}
        : { trustedCa: base64(trusted.map((one) => Buffer.from(one, 'base64').toString()).join('')) }),
    },
  }
}

/** Returns the certificates of a file, each as base64 of PEM. */
async function readCertificates(variable: string, path: string | undefined): Promise<readonly string[]> {
  if (path === undefined) return []
  const fail = (what: string, remedy: string, cause?: unknown) =>
    new Error(`environment variable ${variable} "${path}": ${what}; ${remedy}`, { cause })
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw fail(`the file cannot be read (${String(error)})`, 'mount it, or unset the variable', error)
  }
  const certificates = certificatesOf(text)
  if (certificates.length === 0) throw fail('the file holds no certificate in PEM', 'write each CA as PEM')
  if (certificates.length > mostCas)
    throw fail(
      `the file holds ${certificates.length} certificates`,
      `keep at most ${mostCas}: Azure limits custom data`,
    )
  return certificates.map(base64)
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
