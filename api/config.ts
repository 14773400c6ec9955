import { z } from 'zod'
import { featureGates, schedulerConfig } from './scheduler-settings.ts'

const roles = ['core', 'azure', 'planner', 'bridge'] as const
export type Role = (typeof roles)[number]

/** A Go-like duration in the environment, in milliseconds. */
const duration = z
  .string()
  .regex(/^[0-9]+(ms|s|m|h)$/, 'is not a duration such as 500ms, 10s or 5m')
  .transform(toMs)

function toMs(text: string): number {
  const unit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[text.replace(/^[0-9]+/, '')] ?? 1
  return Number.parseInt(text, 10) * unit
}

const required = (what: string) =>
  z.string({ error: `is missing: set it to ${what}` }).min(1, `is empty: set it to ${what}`)
const port = z.coerce.number().int().min(0).max(65535)
const commaList = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
)

const flag = z
  .enum(['true', 'false'], { error: 'is not a switch; use true or false' })
  .transform((text) => text === 'true')
/** `key=value` pairs between commas. */
const tagList = commaList.transform((pairs, context) => {
  const tags: Record<string, string> = {}
  for (const pair of pairs) {
    const [key = '', ...rest] = pair.split('=')
    if (key === '' || rest.length === 0 || /[<>%&\\?/]/.test(key)) {
      context.addIssue(`holds "${pair}", which is not key=value with a key free of < > % & \\ ? /`)
    }
    tags[key] = rest.join('=')
  }
  return tags
})

/** The environment of a Joiner process. Names that Karpenter's Azure provider has are kept; Joiner's own begin with JOINER_ or TEMPORAL_. */
const environment = z.object({
  JOINER_ROLES: commaList
    .pipe(z.array(z.enum(roles, { error: `is not a role; use some of ${roles.join(', ')}` })))
    .default([...roles]),
  JOINER_NAMESPACE: z.string().default('joiner'),
  SYSTEM_NAMESPACE: z.string().optional(),
  JOINER_HEALTH_PORT: port.default(8080),
  JOINER_CONVERSION_PORT: port.default(8443),
  JOINER_RESYNC_INTERVAL: duration.default(300_000),
  JOINER_ARM_ENDPOINT: z.url('is not a URL').optional(),
  JOINER_PRICES_ENDPOINT: z.url('is not a URL').default('https://prices.azure.com'),
  JOINER_IDENTITY: z.string().optional(),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error'], {
      error: 'is not a level; use trace, debug, info, warn or error',
    })
    .default('info'),
  BATCH_IDLE_DURATION: duration.default(1000),
  BATCH_MAX_DURATION: duration.default(10_000),
  PREFERENCE_POLICY: z
    .enum(['Respect', 'Ignore'], { error: 'is not a policy; use Respect or Ignore' })
    .default('Respect'),
  MIN_VALUES_POLICY: z
    .enum(['Strict', 'BestEffort'], { error: 'is not a policy; use Strict or BestEffort' })
    .default('Strict'),
  FEATURE_GATES: featureGates,
  SCHEDULER_CONFIG: schedulerConfig,
  KUBECONFIG: z.string().optional(),
  TEMPORAL_ADDRESS: required('host:port of the Temporal frontend'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  CLUSTER_NAME: required('the name of the AKS cluster'),
  CLUSTER_ENDPOINT: required('the URL of the API server that nodes join'),
  KUBELET_BOOTSTRAP_CA_FILE: z.string().default('/var/run/secrets/kubernetes.io/serviceaccount/ca.crt'),
  ARM_SUBSCRIPTION_ID: required('the id of the Azure subscription'),
  LOCATION: required('the Azure region, such as westus2'),
  AZURE_NODE_RESOURCE_GROUP: required('the node resource group (MC_...)'),
  VNET_SUBNET_ID: required('the ARM id of the subnet of the nodes'),
  AZURE_TENANT_ID: z.string().optional(),
  AZURE_CLIENT_ID: z.string().optional(),
  AZURE_FEDERATED_TOKEN_FILE: z.string().optional(),
  AZURE_AUTHORITY_HOST: z.string().optional(),
  ARM_CLOUD: z
    .enum(['AzurePublicCloud', 'AzureUSGovernmentCloud', 'AzureChinaCloud'], {
      error: 'is not a cloud; use AzurePublicCloud, AzureUSGovernmentCloud or AzureChinaCloud',
    })
    .default('AzurePublicCloud'),
  ARM_RESOURCE_GROUP: z.string().default(''),
  JOINER_AZURE_REPLICAS: z.coerce.number().int().min(1).default(1),
  NODE_IDENTITIES: commaList.default([]),
  KUBELET_IDENTITY_CLIENT_ID: z.string().default(''),
  // Azure creates no Linux VM without a key.
  SSH_PUBLIC_KEY: required('the public SSH key of the nodes (ssh-rsa or ssh-ed25519)').regex(
    /^ssh-/,
    'is not a public SSH key; it begins with ssh-rsa or ssh-ed25519',
  ),
  LINUX_ADMIN_USERNAME: z.string().default('azureuser'),
  NETWORK_PLUGIN: z.enum(['azure', 'none'], { error: 'is not supported; use azure or none' }).default('azure'),
  NETWORK_PLUGIN_MODE: z
    .enum(['overlay', ''], { error: 'is not supported; use overlay, or leave it empty' })
    .default('overlay'),
  NETWORK_DATAPLANE: z
    .enum(['cilium', 'azure', ''], { error: 'is not supported; use cilium or azure, or leave it empty' })
    .default('cilium'),
  NETWORK_POLICY: z.string().default(''),
  VNET_GUID: z.union([z.literal(''), z.guid('is not a GUID; take resourceGuid of the virtual network')]).default(''),
  ADDITIONAL_TAGS: tagList.default({}),
  NODE_OSDISK_DISKENCRYPTIONSET_ID: z.string().default(''),
  USE_SIG: flag.default(false),
  SIG_SUBSCRIPTION_ID: z.string().default(''),
  SIG_ACCESS_TOKEN_SERVER_URL: z.string().default(''),
  JOINER_BILLING_EXTENSION: flag.default(false),
  DNS_SERVICE_IP: z.string().default('10.0.0.10'),
  VM_MEMORY_OVERHEAD_PERCENT: z.coerce.number().min(0).max(1).default(0.075),
})

export type Config = z.infer<typeof environment>

export type ConfigResult =
  | { readonly kind: 'config'; readonly config: Config }
  | { readonly kind: 'errors'; readonly errors: readonly string[] }

/** Reads the configuration. All that is wrong is told at once, each with the variable, its value and the remedy. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): ConfigResult {
  const parsed = environment.safeParse(env)
  if (parsed.success) return { kind: 'config', config: parsed.data }
  const errors = parsed.error.issues.map(({ path, message }) => {
    const name = String(path[0])
    const value = env[name]
    return `environment variable ${name}${value === undefined ? '' : ` "${shortened(value)}"`}: ${message}`
  })
  return { kind: 'errors', errors }
}

function shortened(value: string): string {
  const line = value.trim().replaceAll(/\s*\n\s*/g, ' ')
  return line.length > 100 ? `${line.slice(0, 97)}...` : line
}
