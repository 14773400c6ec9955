import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { readConnection } from '../../../activities/kubernetes/client/client-config.ts'
import { type Config, isSetting, readConfig } from '../../../api/config.ts'
import type { ClusterOptions } from '../shared/options.ts'
import { isInPod, kubeconfigSource } from './cluster.ts'
import { installedSettings } from './joiner-settings.ts'

/** Joiner's settings, and the environment that they come from. */
export interface AzureSettings {
  readonly config: Config
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * What is never taken from the cluster: what says who a pod is, and where requests go, since the caller's own token goes there. Who may write the ConfigMap
 * must not get that token.
 */
const notFromCluster =
  /^(AZURE_CLIENT_|AZURE_FEDERATED_|AZURE_AUTHORITY_HOST|AZURE_ENVIRONMENT_FILEPATH|AZURE_TOKEN_|IDENTITY_|KUBE|SIG_ACCESS_TOKEN_|JOINER_ROLES$|JOINER_IDENTITY$|JOINER_POD_IP$|\w+_(ENDPOINT|PORT)$)/
const fromCluster = (name: string) => name === 'CLUSTER_ENDPOINT' || (isSetting(name) && !notFromCluster.test(name))

/**
 * Joiner's settings for a command that asks Azure: those of the environment where it has them (as in Joiner's pods), else those in the cluster, over
 * which the environment stands. Errors: `CommandError` when they cannot be read.
 */
export async function azureSettings(
  options: ClusterOptions,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<
  ({ readonly kind: 'settings' } & AzureSettings) | { readonly kind: 'errors'; readonly errors: readonly string[] }
> {
  const env = { ...(await clusterEnvironment(options, environment)), ...environment }
  const read = readConfig(env)
  return read.kind === 'errors' ? read : { kind: 'settings', config: read.config, env }
}

/** What the environment does not say and the cluster does. Errors: as `azureSettings`. */
export async function clusterEnvironment(
  options: ClusterOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Readonly<Record<string, string>>> {
  const isTold = environment['AZURE_NODE_RESOURCE_GROUP'] !== undefined && environment['CLUSTER_NAME'] !== undefined
  if (isTold || isInPod()) return {}
  const connection = await readConnection(kubeconfigSource(options, environment))
  const client = KubernetesClient.of(connection)
  try {
    const { settings, notes } = await installedSettings(client, {
      namespace: options.joinerNamespace,
      deployments: ['joiner-azure', 'joiner'],
      wanted: fromCluster,
    })
    for (const note of notes) console.error(`note: ${note}`)
    // Pods have a file of it.
    const { ca } = connection.tls
    return { ...(ca !== undefined && { CLUSTER_CA_BUNDLE: ca.toString() }), ...settings }
  } finally {
    await client.close()
  }
}
