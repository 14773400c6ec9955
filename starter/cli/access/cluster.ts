import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { isForbidden } from '../../../activities/kubernetes/client/api-error.ts'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { KubeconfigSource } from '../../../activities/kubernetes/client/kubeconfig.ts'
import { defined } from '../../../core/values/defined.ts'
import { CommandError } from '../../document/reported-error.ts'
import { joinersClient } from '../../picture/joiners-client.ts'
import { missingOf, unanswered, whyOf } from '../../picture/missing.ts'
import { type ClusterPicture, type PartSource, type Parts, readPicture } from '../../picture/picture.ts'
import type { ClusterOptions, ConnectionOptions } from '../shared/options.ts'

const accountToken = '/var/run/secrets/kubernetes.io/serviceaccount/token'

/** Whether this process runs in a pod that has an account. */
export function isInPod(): boolean {
  return existsSync(accountToken)
}

/**
 * Where commands find the cluster, as kubectl: --kubeconfig, else KUBECONFIG (which may name several files), else the pod's own account (undefined),
 * else the user's file. Errors: `CommandError` for options that the pod's own account has no use for.
 */
export function kubeconfigSource(
  { kubeconfig, context, as, asGroup }: ConnectionOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): KubeconfigSource | undefined {
  const named = env['KUBECONFIG']?.split(delimiter).filter(Boolean) ?? []
  const chosen = { ...defined({ context, as, asGroups: asGroup }) }
  if (kubeconfig !== undefined) return { files: [kubeconfig], ...chosen }
  if (named.length > 0) return { files: named, ...chosen }
  if (!isInPod()) return { files: [join(homedir(), '.kube', 'config')], ...chosen }
  if (Object.keys(chosen).length === 0) return undefined
  throw new CommandError(
    "--context, --as and --as-group: the pod's own account has none of them; give --kubeconfig as well",
  )
}

/**
 * Does the work with a client of the cluster, which is closed afterwards; where the options name Joiner's namespace, it knows that one from others
 * (`joinersClient`). Errors: those of the work, and of a kubeconfig that cannot be read.
 */
export async function withCluster<T>(
  options: ConnectionOptions & Partial<Pick<ClusterOptions, 'joinerNamespace'>>,
  work: (client: KubernetesClient) => Promise<T>,
): Promise<T> {
  const client = await KubernetesClient.load(kubeconfigSource(options))
  const { joinerNamespace: namespace } = options
  try {
    return await work(namespace === undefined ? client : joinersClient(client, namespace))
  } finally {
    await client.close()
  }
}

/** Reads parts of the cluster that the options name. Where its kubeconfig cannot be used, all of them are missing. */
export async function pictureOf<P extends Parts<PartSource>>(
  options: ConnectionOptions & Partial<Pick<ClusterOptions, 'joinerNamespace'>>,
  parts: P,
  now: number,
): Promise<ClusterPicture<P>> {
  try {
    const { joinerNamespace: namespace = '' } = options
    return await withCluster(options, (client) => readPicture({ client, namespace, now }, parts))
  } catch (error) {
    const missing = Object.values(parts).map(({ what }) => missingOf(what, error))
    return { missing, damaged: [] } as unknown as ClusterPicture<P>
  }
}

/** Who has the rights that operators of Joiner do not have. */
export const asAdministrator = 'run the command as an administrator of the cluster'

/**
 * Does a command's work, which needs the cluster, and returns the exit code: 1 with one line where something needed cannot be read. `remedy`: for a right that
 * is missing, where the role of operators does not have it.
 */
export async function exitCodeOf(work: () => Promise<number>, remedy?: string): Promise<number> {
  try {
    return await work()
  } catch (error) {
    const isLacking = remedy !== undefined && isForbidden(error)
    const said = isLacking ? `${whyOf(error)}; ${remedy}` : unanswered(error)
    console.error(error instanceof CommandError ? error.message : said)
    return 1
  }
}
