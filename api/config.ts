import { z } from 'zod'
import { interruptionConditions } from './node-rules.ts'
import { repairPolicies } from './repair-policies.ts'
import { azureConflicts, azureSettings } from './settings/azure-settings.ts'
import { nodeSettings } from './settings/node-settings.ts'
import { featureGates, schedulerConfig } from './settings/scheduler-settings.ts'
import { commaList, duration, flag, optionalText, port } from './settings/setting-types.ts'
import { refusedSettings, settingNotes, withSynonyms } from './settings/upstream-settings.ts'

const roles = ['core', 'azure', 'planner', 'bridge', 'conversion'] as const
export type Role = (typeof roles)[number]

/** The workflow code that a process runs, and the version that it reports to Temporal. Temporal's Worker Controller sets the two TEMPORAL_ names. */
const versionSettings = {
  JOINER_WORKER_VERSIONING: flag(false),
  TEMPORAL_DEPLOYMENT_NAME: optionalText,
  TEMPORAL_WORKER_BUILD_ID: optionalText,
  /** A kept bundle (`test/bundles/`) instead of this version's own. */
  JOINER_WORKFLOW_BUNDLE: optionalText,
}

/**
 * The environment of a Joiner process. Names of Karpenter's Azure provider are kept; Joiner's own begin with JOINER_. `starter/temporal/settings.ts`
 * reads the connection to Temporal.
 */
const environment = z.object({
  JOINER_ROLES: commaList
    .pipe(z.array(z.enum(roles, { error: `is not a role; use some of ${roles.join(', ')}` })))
    .default([...roles]),
  JOINER_NAMESPACE: z.string().default('joiner'),
  /** Name of the Helm release: with the namespace it identifies an installation in a cluster. */
  JOINER_RELEASE: z.string().min(1).default('joiner'),
  SYSTEM_NAMESPACE: optionalText,
  JOINER_HEALTH_PORT: port.default(8080),
  /** Health and metrics are served on it as well. Unset: on the first one only. */
  JOINER_METRICS_PORT: port.optional(),
  JOINER_CONVERSION_PORT: port.default(8443),
  JOINER_RESYNC_INTERVAL: duration.default(300_000),
  JOINER_ARM_ENDPOINT: z.url('is not a URL').optional(),
  JOINER_PRICES_ENDPOINT: z.url('is not a URL').optional(),
  JOINER_IDENTITY: z.string().optional(),
  /** Where other processes of Joiner reach this one. Unset: they hear of its end when its Lease runs out. */
  JOINER_POD_IP: z.union([z.ipv4(), z.ipv6()], { error: 'is not an IP address' }).optional(),
  JOINER_COMMIT: z.string().default(''),
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
  DISABLE_CLUSTER_STATE_OBSERVABILITY: flag(false),
  SCHEDULER_CONFIG: schedulerConfig,
  JOINER_INTERRUPTION_CONDITIONS: interruptionConditions,
  JOINER_REPAIR_POLICIES: repairPolicies,
  LEGACY_NODE_REPAIR: flag(false),
  KUBECONFIG: z.string().optional(),
  /** Whether Temporal is the one that the chart runs. */
  JOINER_TEMPORAL_BUNDLED: flag(false),
  ...versionSettings,
  ...azureSettings,
  ...nodeSettings,
})

export type Config = z.infer<typeof environment>

export type ConfigResult =
  | {
      readonly kind: 'config'
      readonly config: Config
      /** Settings without effect here, a line each. */
      readonly notes: readonly string[]
    }
  | { readonly kind: 'errors'; readonly errors: readonly string[] }

/** The parts of the environment about access to Azure, and the kind of cluster there. */
const azureAccess = environment.pick({
  ARM_SUBSCRIPTION_ID: true,
  LOCATION: true,
  ARM_CLOUD: true,
  AZURE_ENVIRONMENT_FILEPATH: true,
  AZURE_TENANT_ID: true,
  AZURE_CLIENT_ID: true,
  AZURE_CLIENT_SECRET: true,
  AZURE_FEDERATED_TOKEN_FILE: true,
  AZURE_AUTHORITY_HOST: true,
  AZURE_TOKEN_CREDENTIALS: true,
  IDENTITY_ENDPOINT: true,
  JOINER_NAMESPACE: true,
  JOINER_ARM_ENDPOINT: true,
  JOINER_PRICES_ENDPOINT: true,
  KUBECONFIG: true,
  NETWORK_PLUGIN: true,
  NETWORK_PLUGIN_MODE: true,
  VM_MEMORY_OVERHEAD_PERCENT: true,
})

export type AzureAccess = z.infer<typeof azureAccess>

/** Reads the settings of a command that uses Azure and no cluster. */
export function readAzureAccess(
  given: Readonly<Record<string, string | undefined>>,
):
  | { readonly kind: 'config'; readonly config: AzureAccess }
  | { readonly kind: 'errors'; readonly errors: readonly string[] } {
  const env = withSynonyms(given)
  const parsed = azureAccess.safeParse(env)
  if (parsed.success) return { kind: 'config', config: withoutMode(parsed.data, env) }
  return partErrors(given, parsed.error)
}

/** The parts of the environment about an identity at Azure, for commands that find out all else. */
const azureLogin = azureAccess
  .omit({ ARM_SUBSCRIPTION_ID: true, LOCATION: true })
  .extend({ ARM_SUBSCRIPTION_ID: optionalText })

export type AzureLogin = z.infer<typeof azureLogin>

/** Reads the settings of a command that uses Azure, and finds subscription and region itself. */
export function readAzureLogin(
  given: Readonly<Record<string, string | undefined>>,
):
  | { readonly kind: 'config'; readonly config: AzureLogin }
  | { readonly kind: 'errors'; readonly errors: readonly string[] } {
  const parsed = azureLogin.safeParse(withSynonyms(given))
  return parsed.success ? { kind: 'config', config: parsed.data } : partErrors(given, parsed.error)
}

/** Settings of a process whose only role is `conversion`: it uses neither Temporal nor Azure. */
const conversionSettings = environment.pick({
  JOINER_NAMESPACE: true,
  JOINER_RELEASE: true,
  JOINER_HEALTH_PORT: true,
  JOINER_METRICS_PORT: true,
  JOINER_CONVERSION_PORT: true,
  JOINER_COMMIT: true,
  LOG_LEVEL: true,
  KUBECONFIG: true,
})

export type ConversionConfig = z.infer<typeof conversionSettings>

/** Reads the settings of a process whose only role is `conversion`; undefined when it has another role. */
export function readConversionConfig(
  given: Readonly<Record<string, string | undefined>>,
):
  | { readonly kind: 'config'; readonly config: ConversionConfig }
  | { readonly kind: 'errors'; readonly errors: readonly string[] }
  | undefined {
  if (given['JOINER_ROLES']?.trim() !== 'conversion') return undefined
  const parsed = conversionSettings.safeParse(given)
  return parsed.success ? { kind: 'config', config: parsed.data } : partErrors(given, parsed.error)
}

function partErrors(given: Readonly<Record<string, string | undefined>>, { issues }: z.ZodError) {
  return {
    kind: 'errors' as const,
    errors: issues.map(({ path, message }) => errorText(given, String(path[0]), message)),
  }
}

/** Returns whether `readConfig` reads a variable of this name. */
export function isSetting(name: string): boolean {
  return name in environment.shape || Object.keys(withSynonyms({ [name]: 'x' })).some((known) => known !== name)
}

/** Reads the configuration. Errors: throws with all problems at once, each with the variable, its value and the remedy. */
export function readConfig(given: Readonly<Record<string, string | undefined>>): ConfigResult {
  const env = withSynonyms(given)
  const parsed = environment.safeParse(env)
  const issues = [
    ...(parsed.error?.issues ?? []).map(({ path, message }) => ({ name: String(path[0]), message })),
    ...azureConflicts(env),
    ...versionConflicts(env),
    ...repairConflicts(parsed.data),
    ...refusedSettings(given),
  ]
  if (parsed.success && issues.length === 0)
    return { kind: 'config', config: withoutMode(parsed.data, env), notes: settingNotes(given) }
  return { kind: 'errors', errors: issues.map(({ name, message }) => errorText(given, name, message)) }
}

function repairConflicts(config: Config | undefined): readonly { readonly name: string; readonly message: string }[] {
  if (config?.FEATURE_GATES.NodeRepair !== true || config.JOINER_REPAIR_POLICIES.length > 0) return []
  const message = 'has no policy, and the gate NodeRepair needs some; name policies, or switch the gate off'
  return [{ name: 'JOINER_REPAIR_POLICIES', message }]
}

function errorText(given: Readonly<Record<string, string | undefined>>, name: string, message: string): string {
  const value = given[name]
  return `environment variable ${name}${value === undefined ? '' : ` "${shortened(value)}"`}: ${message}`
}

/** A cluster without Azure's network plugin has no plugin mode either. */
function withoutMode<T extends Pick<Config, 'NETWORK_PLUGIN' | 'NETWORK_PLUGIN_MODE'>>(
  config: T,
  env: Readonly<Record<string, string | undefined>>,
): T {
  const isMeant = config.NETWORK_PLUGIN !== 'none' || env['NETWORK_PLUGIN_MODE'] !== undefined
  return isMeant ? config : { ...config, NETWORK_PLUGIN_MODE: '' }
}

function shortened(value: string): string {
  const line = value
    .slice(0, 1000)
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')
  return line.length > 100 ? `${line.slice(0, 97)}...` : line
}

/** Whether AKS machines are managed: those of others where the setting says so, and Joiner's own where it makes machines. */
export function managesMachines(config: Pick<Config, 'MANAGE_EXISTING_AKS_MACHINES' | 'PROVISION_MODE'>): boolean {
  return config.MANAGE_EXISTING_AKS_MACHINES || config.PROVISION_MODE !== 'aksscriptless'
}

/** Returns conflicts: names that Temporal's Worker Controller sets go together. */
function versionConflicts(
  env: Readonly<Record<string, string | undefined>>,
): readonly { readonly name: string; readonly message: string }[] {
  const names = ['TEMPORAL_DEPLOYMENT_NAME', 'TEMPORAL_WORKER_BUILD_ID'] as const
  const missing = names.filter((name) => (env[name] ?? '') === '')
  return missing.length === 1
    ? missing.map((name) => ({ name, message: `is missing: set it as well, or neither of ${names.join(' and ')}` }))
    : []
}
