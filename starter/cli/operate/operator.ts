import { hostname, userInfo } from 'node:os'
import { isNotFound } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { type ResourceName, resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { similarName } from '../../../api/rules/similar-name.ts'
import { isInPod, withCluster } from '../access/cluster.ts'
import type { ConnectionOptions } from '../shared/options.ts'
import type { PauseTarget } from './request-options.ts'

const limitMs = 5000

/** What the cluster knows about who asks and what they ask about; all of it may fail, since a pause must not need the cluster. */
export interface ClusterFacts {
  /** Who asks: the user that Kubernetes takes them for, else the one of this machine. */
  readonly by: string
  /** That the scope names nothing that there is, and what may be meant. */
  readonly wrongName?: string
}

export async function clusterFacts(options: ConnectionOptions, { scope }: PauseTarget): Promise<ClusterFacts> {
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, limitMs, undefined).unref())
  const look = withCluster(options, async (client) => {
    const [user, wrongName] = await Promise.allSettled([userOf(client), wrongNameOf(client, scope)])
    return { user: valueOf(user), wrongName: valueOf(wrongName) }
  })
  const found = await Promise.race([look.catch(() => undefined), late])
  return { by: named(found?.user), ...(found?.wrongName === undefined ? {} : { wrongName: found.wrongName }) }
}

/** One of the two may not be read, and the other is worth having. */
function valueOf<T>(settled: PromiseSettledResult<T>): T | undefined {
  return settled.status === 'fulfilled' ? settled.value : undefined
}

/** Through kubectl exec every caller has the pod's account, which says nothing of them. */
function named(user: string | undefined): string {
  if (user !== undefined && !(isInPod() && user.startsWith('system:serviceaccount:'))) return user
  return isInPod() ? `somebody in pod ${hostname()}` : localUser()
}

async function userOf(client: KubernetesClient): Promise<string | undefined> {
  const review = (await client.create('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
  })) as { readonly status?: { readonly userInfo?: { readonly username?: string } } }
  return review.status?.userInfo?.username
}

/** Why a scope names nothing that there is: what was mistyped would pause nothing, and nobody would notice. Undefined: it exists, or that cannot be read. */
async function wrongNameOf(client: KubernetesClient, scope: PauseTarget['scope']): Promise<string | undefined> {
  const { nodePool, node } = scope ?? {}
  if (nodePool !== undefined) return wrongName(client, { option: '--nodepool', name: nodePool, kinds: ['nodepools'] })
  if (node !== undefined) return wrongName(client, { option: '--node', name: node, kinds: ['nodes', 'nodeclaims'] })
  return undefined
}

interface Named {
  readonly option: string
  readonly name: string
  readonly kinds: readonly ResourceName[]
}

/** Errors: the API server's, also where the caller may not list what there is. */
async function wrongName(client: KubernetesClient, { option, name, kinds }: Named): Promise<string | undefined> {
  const isThere = (kind: ResourceName) =>
    client.get(resourcePath(kind, name)).then(
      () => true,
      // Whoever may not read it gets no report that it is missing.
      (error: unknown) => !isNotFound(error),
    )
  if ((await Promise.all(kinds.map(isThere))).includes(true)) return undefined
  const lists = await Promise.all(kinds.map((kind) => client.list(resourcePath(kind))))
  const names = lists.flatMap(({ items }) => items.map(({ metadata }) => (metadata as { readonly name: string }).name))
  const meant = similarName(name, names)
  const suggestion = meant === undefined ? '' : ` Did you mean "${meant}"?`
  return `${option} "${name}": there is none of that name (kubectl get ${kinds.join(',')}).${suggestion}`
}

function localUser(): string {
  try {
    return userInfo().username
  } catch {
    return 'unknown'
  }
}
