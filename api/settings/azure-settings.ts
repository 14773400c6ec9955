import { z } from 'zod'
import { cloudNames, knownCloud } from '../azure-cloud.ts'
import { commaList, duration, flag, isTrue, optionalText, required } from './setting-types.ts'
import { isMachineMode } from './upstream-settings.ts'

const subnetPattern =
  /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.Network\/virtualNetworks\/[^/]+\/subnets\/[^/]+$/i
const identityPattern =
  /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.ManagedIdentity\/userAssignedIdentities\/[^/]+$/i
/** `TYPE=VERSION`, more of them after commas, or nothing. */
const apiVersionList =
  /^(\s*(Microsoft\.(Compute|Network|ContainerService)\/\w+=\d{4}-\d{2}-\d{2}(-preview)?\s*(,(?=\s*\S)|$)))*$/
const encryptionSetPattern =
  /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.Compute\/diskEncryptionSets\/[^/]+$/i

const identities = commaList.superRefine((ids, context) => {
  for (const id of ids)
    if (!identityPattern.test(id))
      context.addIssue(
        `holds "${id}", which is not the id of an identity; write /subscriptions/.../providers/Microsoft.ManagedIdentity/userAssignedIdentities/NAME, with commas between them`,
      )
})

/** `key=value` pairs separated by commas. Azure ignores the case of tag names. */
const tagList = commaList.transform((pairs, context) => {
  const tags: Record<string, string> = {}
  const seen = new Map<string, string>()
  for (const pair of pairs) {
    const [key = '', ...rest] = pair.split('=')
    if (key === '' || rest.length === 0 || /[<>%&\\?/]/.test(key))
      context.addIssue(`holds "${pair}", which is not key=value with a key free of < > % & \\ ? /`)
    const twin = seen.get(key.toLowerCase())
    if (twin !== undefined)
      context.addIssue(`names "${twin}" and "${key}", which are one tag to Azure; keep one of them`)
    seen.set(key.toLowerCase(), key)
    tags[key] = rest.join('=')
  }
  return tags
})

const guid = (what: string) =>
  z.union([z.literal(''), z.guid(`is not a GUID; take ${what}, or leave it empty`)]).default('')

/** Settings of Azure under the names of Karpenter's Azure provider, with its rules (reference/azure-provider.md 9.1). */
export const azureSettings = {
  CLUSTER_NAME: required('the name of the AKS cluster'),
  CLUSTER_ENDPOINT: required('the URL of the API server that nodes join').refine(
    (text) => text === '' || z.url({ protocol: /^https?$/ }).safeParse(text).success,
    "is not a URL; write https:// and the API server's name, as kubectl cluster-info prints it",
  ),
  KUBELET_BOOTSTRAP_CA_FILE: z.string().default('/var/run/secrets/kubernetes.io/serviceaccount/ca.crt'),
  CLUSTER_CA_BUNDLE: optionalText.refine(
    (text) => text === undefined || certificateForm(text) !== undefined,
    "holds no certificate; write the PEM of the API server's CA, as it is or in base64, or leave it empty",
  ),
  ARM_SUBSCRIPTION_ID: required('the id of the Azure subscription'),
  LOCATION: required('the Azure region, such as westus2'),
  AZURE_NODE_RESOURCE_GROUP: required('the node resource group (MC_...)'),
  VNET_SUBNET_ID: required('the ARM id of the subnet of the nodes').refine(
    (text) => text === '' || subnetPattern.test(text),
    'is not the id of a subnet; write /subscriptions/.../resourceGroups/.../providers/Microsoft.Network/virtualNetworks/NAME/subnets/NAME',
  ),
  ARM_RESOURCE_GROUP: z.string().default(''),
  ARM_CLOUD: z
    .string()
    .default('')
    .transform((text, context) => {
      const found = text === '' ? 'AzurePublicCloud' : knownCloud(text)
      if (found === undefined) context.addIssue(`is not a cloud; use ${cloudNames.join(', ')}`)
      return found ?? 'AzurePublicCloud'
    }),
  AZURE_ENVIRONMENT_FILEPATH: optionalText.refine(
    (text) => text === undefined || text.startsWith('/'),
    'is not an absolute path; write it from / on',
  ),
  AZURE_TENANT_ID: optionalText,
  AZURE_CLIENT_ID: optionalText,
  AZURE_CLIENT_SECRET: optionalText,
  AZURE_FEDERATED_TOKEN_FILE: optionalText,
  AZURE_AUTHORITY_HOST: optionalText,
  AZURE_TOKEN_CREDENTIALS: optionalText.transform((text, context) => {
    if (text === undefined) return undefined
    const found = credentialNames.find((name) => name.toLowerCase() === text.toLowerCase())
    if (found === undefined) context.addIssue(`is not a credential; use one of ${credentialNames.join(', ')}`)
    return found
  }),
  IDENTITY_ENDPOINT: optionalText,
  ENABLE_AZURE_SDK_LOGGING: flag(true),
  NODE_IDENTITIES: identities.default([]),
  KUBELET_IDENTITY_CLIENT_ID: guid("the client id of the kubelet's identity"),
  // Azure creates no Linux VM without a key.
  SSH_PUBLIC_KEY: required('the public SSH key of the nodes (ssh-rsa or ssh-ed25519)').regex(
    /^ssh-/,
    'is not a public SSH key; it begins with ssh-rsa or ssh-ed25519',
  ),
  LINUX_ADMIN_USERNAME: z
    .string()
    .max(32, 'is longer than 32 characters; shorten it')
    .regex(/^[A-Za-z][-A-Za-z0-9_]*$/, 'is not a user name; begin with a letter and use letters, digits, - and _')
    .default('azureuser'),
  NETWORK_PLUGIN: z
    .enum(['azure', 'none'], {
      error: ({ input }) =>
        input === 'kubenet'
          ? 'is not supported, since kubenet needs a route for each node; move the cluster to azure with the mode overlay: az aks update --network-plugin azure --network-plugin-mode overlay'
          : 'is not supported; use azure or none',
    })
    .default('azure'),
  NETWORK_PLUGIN_MODE: z
    .enum(['overlay', ''], { error: 'is not supported; use overlay, or leave it empty' })
    .default('overlay'),
  NETWORK_DATAPLANE: z
    .enum(['cilium', 'azure', ''], { error: 'is not supported; use cilium or azure, or leave it empty' })
    .default('cilium'),
  NETWORK_POLICY: z
    .enum(['azure', 'calico', 'cilium', 'none', ''], {
      error: 'is not supported; use azure, calico, cilium or none, or leave it empty',
    })
    .default(''),
  VNET_GUID: guid('resourceGuid of the virtual network'),
  ADDITIONAL_TAGS: tagList.default({}),
  NODE_OSDISK_DISKENCRYPTIONSET_ID: z
    .string()
    .refine(
      (text) => text === '' || encryptionSetPattern.test(text),
      'is not the id of a disk encryption set; write /subscriptions/.../providers/Microsoft.Compute/diskEncryptionSets/NAME',
    )
    .default(''),
  USE_SIG: flag(false),
  SIG_SUBSCRIPTION_ID: z.string().default(''),
  SIG_ACCESS_TOKEN_SERVER_URL: z.string().default(''),
  MANAGE_EXISTING_AKS_MACHINES: flag(false),
  // Other modes are refused by `refusedSettings`.
  PROVISION_MODE: z
    .string()
    .default('')
    .transform((mode) => (isMachineMode(mode) ? mode : 'aksscriptless')),
  AKS_MACHINES_POOL_NAME: z
    .string()
    .regex(
      /^([a-z][a-z0-9]{0,11})?$/,
      'is not the name of an agent pool; use a small letter and at most 11 more small letters and digits',
    )
    .default(''),
  JOINER_BILLING_EXTENSION: flag(true),
  JOINER_BOOT_DIAGNOSTICS: flag(true),
  JOINER_UNTESTED_SIZES: flag(false),
  JOINER_IMAGE_MIN_VERSION: z
    .string()
    .regex(
      /^(\d{6}\.\d{1,2}\.\d+)?$/,
      'is not the version of a node image; write one such as 202604.01.0, or leave it empty',
    )
    // Older images do not have the node's controller (reference/bootstrap.md 6).
    .default('202501.00.0'),
  JOINER_IMAGE_MIN_AGE: duration.default(0),
  JOINER_AZURE_API_VERSIONS: z
    .string()
    .refine(
      (text) => apiVersionList.test(text),
      'is not a list of API versions; write Microsoft.Compute/virtualMachines=2025-11-01, more after commas, or leave it empty',
    )
    .default(''),
  JOINER_AZURE_REPLICAS: z.coerce.number().int().min(1).default(1),
  // Other clusters and people also use the subscription's limits; the rest is theirs.
  JOINER_ARM_BUDGET_SHARE: z.coerce
    .number("is not a number; write the share of Azure's request limits that is Joiner's, such as 0.9")
    .gt(0, "leaves no requests; write the share of Azure's request limits that is Joiner's, such as 0.9")
    .max(1, "is more than all of Azure's request limits; write a share such as 0.9")
    .default(0.9),
  DNS_SERVICE_IP: optionalText.superRefine((text, context) => {
    if (text === undefined || z.ipv4().safeParse(text).success) return
    const why = z.ipv6().safeParse(text).success
      ? 'is an IPv6 address, and nodes have IPv4 addresses only; take the IPv4 cluster IP of the Service kube-dns'
      : 'is not an IP address; take the cluster IP of the Service kube-dns, or leave it empty'
    context.addIssue(why)
  }),
  VM_MEMORY_OVERHEAD_PERCENT: z.coerce
    .number('is not a number; write a share such as 0.075')
    .min(0, 'is below 0; write a share such as 0.075')
    .max(1, 'is more than all memory; write a share such as 0.075')
    .default(0.075),
}

/** Allowed values of AZURE_TOKEN_CREDENTIALS: the names of Azure's SDKs. `prod` and `dev` stand for several, tried in a fixed order. */
const credentialNames = [
  'EnvironmentCredential',
  'WorkloadIdentityCredential',
  'ManagedIdentityCredential',
  'AzureCLICredential',
  'prod',
  'dev',
] as const

/** Returns the form of a certificate in a setting: PEM, or PEM in base64; undefined for neither. */
export function certificateForm(text: string): 'pem' | 'base64' | undefined {
  if (text.includes('-----BEGIN CERTIFICATE-----')) return 'pem'
  return text.trim().startsWith('LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t') ? 'base64' : undefined
}

type Environment = Readonly<Record<string, string | undefined>>

interface Conflict {
  readonly name: string
  readonly message: string
}

/** Returns conflicts between settings, beside the errors of each. */
export function azureConflicts(env: Environment): readonly Conflict[] {
  const conflicts: Conflict[] = []
  const makesMachines = isMachineMode(env['PROVISION_MODE'])
  if (isTrue(env['USE_SIG']) && !makesMachines)
    for (const name of ['SIG_SUBSCRIPTION_ID', 'SIG_ACCESS_TOKEN_SERVER_URL'])
      if (!env[name])
        conflicts.push({ name, message: 'is missing, and USE_SIG "true" needs it; set it, or set USE_SIG to false' })
  if (makesMachines) conflicts.push(...machineModeConflicts(env))
  if (isTrue(env['MANAGE_EXISTING_AKS_MACHINES']) && !env['ARM_RESOURCE_GROUP'])
    conflicts.push({
      name: 'ARM_RESOURCE_GROUP',
      message:
        'is missing, and MANAGE_EXISTING_AKS_MACHINES "true" needs it: machines are found below the cluster; set it to the resource group of the cluster (chart: azure.clusterResourceGroup)',
    })
  if (env['NETWORK_PLUGIN'] === 'none' && env['NETWORK_PLUGIN_MODE'])
    conflicts.push({
      name: 'NETWORK_PLUGIN_MODE',
      message: 'does not go with NETWORK_PLUGIN "none", which has no modes; leave it empty',
    })
  if (env['AZURE_ENVIRONMENT_FILEPATH'] && env['ARM_CLOUD'])
    conflicts.push({
      name: 'AZURE_ENVIRONMENT_FILEPATH',
      message: `does not go with ARM_CLOUD "${env['ARM_CLOUD']}": the file describes the cloud; unset one of them`,
    })
  return conflicts
}

const machineNeeds: Readonly<Record<string, string>> = {
  SIG_SUBSCRIPTION_ID: "the subscription of AKS' shared galleries",
  AKS_MACHINES_POOL_NAME: 'the name of the agent pool with the mode Machines (chart: azure.aksMachinesPoolName)',
  ARM_RESOURCE_GROUP: 'the resource group of the cluster (chart: azure.clusterResourceGroup)',
}

/** What making AKS machines needs besides (reference/azure-provider.md 4.7). AKS itself reads the galleries, so no token server is needed. */
function machineModeConflicts(
  env: Readonly<Record<string, string | undefined>>,
): readonly { readonly name: string; readonly message: string }[] {
  const mode = env['PROVISION_MODE']
  const missing = Object.entries(machineNeeds).flatMap(([name, what]) =>
    env[name] ? [] : [{ name, message: `is missing, and PROVISION_MODE "${mode}" needs it; set it to ${what}` }],
  )
  if (isTrue(env['USE_SIG'])) return missing
  const message = `must be true with PROVISION_MODE "${mode}", since AKS machines have images of the shared galleries; set it to true (chart: azure.sharedGallery.enabled)`
  return [{ name: 'USE_SIG', message }, ...missing]
}
