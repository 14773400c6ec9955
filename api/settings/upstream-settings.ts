type Environment = Readonly<Record<string, string | undefined>>

/** Two names of one setting: the second is read where the first is unset. */
const synonyms: readonly (readonly [string, string])[] = [
  ['ARM_SUBSCRIPTION_ID', 'AZURE_SUBSCRIPTION_ID'],
  ['AZURE_TENANT_ID', 'ARM_TENANT_ID'],
  ['JOINER_NAMESPACE', 'SYSTEM_NAMESPACE'],
]

const served =
  'health and metrics are both served on JOINER_HEALTH_PORT, and on JOINER_METRICS_PORT where it is set (chart: controller.metrics.port, controller.healthProbe.port)'
const webhook = 'the one webhook converts old API versions and is served on JOINER_CONVERSION_PORT'
const logged = 'logs go to standard output'
const pacing = 'requests to the API server are not limited by a number, since caches make them few'
const batching =
  'each VM is created by a request of its own as soon as it is planned, and batches of AKS machines have fixed limits'
const credentials = 'AZURE_TOKEN_CREDENTIALS chooses the credential; without it the log says which one was found'
const galleries = 'only USE_SIG, SIG_SUBSCRIPTION_ID and SIG_ACCESS_TOKEN_SERVER_URL are read of shared galleries'

/** Settings of Karpenter for Azure that Joiner accepts and ignores, each with the reason (reference/azure-provider.md 9.1). */
const unread: Readonly<Record<string, string>> = {
  KUBELET_BOOTSTRAP_TOKEN: 'every node gets a token of its own, which ends soon after the node should have joined',
  DISABLE_LEADER_ELECTION: 'replicas share the work through Temporal; only the watches have a leader, always',
  LEADER_ELECT: 'replicas share the work through Temporal; only the watches have a leader, always',
  METRICS_PORT: served,
  HEALTH_PROBE_PORT: served,
  WEBHOOK_PORT: webhook,
  WEBHOOK_METRICS_PORT: webhook,
  DISABLE_WEBHOOK: webhook,
  KUBE_CLIENT_QPS: pacing,
  KUBE_CLIENT_BURST: pacing,
  PROVIDER_BATCH_IDLE_DURATION: batching,
  PROVIDER_BATCH_MAX_DURATION: batching,
  PROVIDER_BATCH_MAX_SIZE: batching,
  NODEBOOTSTRAPPING_SERVER_URL: "the node's configuration is written by Joiner itself",
  SIG_ACCESS_TOKEN_SCOPE: galleries,
  SIG_SCOPE: galleries,
  AUXILIARY_TOKEN_SERVER_URL: galleries,
  ARM_USE_CREDENTIAL_FROM_ENVIRONMENT: credentials,
  ARM_USE_MANAGED_IDENTITY_EXTENSION: credentials,
  ARM_USER_ASSIGNED_IDENTITY_ID: credentials,
  IGNORE_DRA_REQUESTS: 'pods with resourceClaims get no node, whatever it says',
  COMPUTE_RECOMMENDATION_MODE: 'offerings are chosen by price and by what Azure refused lately',
  ENABLE_PROFILING: "profiles are taken with Node's own --cpu-prof",
  LOG_OUTPUT_PATHS: logged,
  LOG_ERROR_OUTPUT_PATHS: logged,
  KARPENTER_SERVICE: 'the Service of the webhook has a fixed name',
  KUBERNETES_MIN_VERSION: 'the chart states the oldest version',
  CPU_REQUESTS: 'concurrency is not derived from it',
  MEMORY_LIMIT: 'set NODE_OPTIONS=--max-old-space-size to limit the heap',
}

/** Returns the environment with each synonym under the name that is read. */
export function withSynonyms(env: Environment): Environment {
  const result: Record<string, string | undefined> = { ...env }
  for (const [name, other] of synonyms) if (!result[name] && result[other]) result[name] = result[other]
  return result
}

interface Refusal {
  readonly name: string
  readonly message: string
}

/** Returns values that Karpenter for Azure accepts and that would have another effect with Joiner. */
export function refusedSettings(env: Environment): readonly Refusal[] {
  const refusals: Refusal[] = []
  for (const [name, other] of synonyms)
    if (name !== 'JOINER_NAMESPACE' && env[name] && env[other] && env[name] !== env[other])
      refusals.push({ name: other, message: `differs from ${name} "${env[name]}", which means the same; unset one` })
  const mode = env['PROVISION_MODE']
  if (mode && mode !== 'aksscriptless' && !isMachineMode(mode))
    refusals.push({
      name: 'PROVISION_MODE',
      message:
        mode === 'bootstrappingclient'
          ? `is not supported: Joiner writes the configuration of its VMs itself; set it to aksscriptless, or unset it`
          : `is not a provision mode; use aksscriptless, ${machineModes.join(' or ')}, or unset it`,
    })
  return refusals
}

const machineModes = ['aksmachineapi', 'aksmachineapiheaderbatch'] as const

/** Whether nodes are made as AKS machines, and not as VMs (reference/azure-provider.md 4.7). */
export function isMachineMode(mode: string | undefined): mode is (typeof machineModes)[number] {
  return machineModes.some((name) => name === mode)
}

/** Returns one line for each setting of Karpenter for Azure that is set and ignored. Values are left out: one of them is a token. */
export function settingNotes(env: Environment): readonly string[] {
  const notes = Object.entries(unread)
    .filter(([name]) => env[name])
    .map(([name, why]) => `environment variable ${name} is accepted and not read: ${why}`)
  if (env['AKS_MACHINES_POOL_NAME'] && !isMachineMode(env['PROVISION_MODE']))
    notes.push(
      'environment variable AKS_MACHINES_POOL_NAME is accepted and not read: nodes are VMs; PROVISION_MODE aksmachineapi makes AKS machines',
    )
  return notes
}
