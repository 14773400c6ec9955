import { hostname, userInfo } from 'node:os'
import { isNotFound } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { type ResourceName, resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { isInPod, withCluster } from '../access/cluster.ts'
import type { ConnectionOptions } from '../shared/options.ts'
import type { PauseTarget } from './scope-options.ts'

const limitMs = 5000

/** What the cluster knows about who asks and what they ask about; all of it may fail, since a pause must not need the cluster. */
export interface ClusterFacts {
  /** Who asks: the user that Kubernetes takes them for, else the one of this machine. */
  readonly by: string
  /** What is odd about the scope, such as a NodePool that does not exist. */
  readonly warning?: string
}

export async function clusterFacts(options: ConnectionOptions, { scope }: PauseTarget): Promise<ClusterFacts> {
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, limitMs, undefined).unref())
  const look = withCluster(options, async (client) => {
    const [user, warning] = await Promise.all([userOf(client), warningOf(client, scope)])
    return { user, ...(warning === undefined ? {} : { warning }) }
  })
  const found = await Promise.race([look.catch(() => undefined), late])
  return { by: named(found?.user), ...(found?.warning === undefined ? {} : { warning: found.warning }) }
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

/** A name that was mistyped would pause nothing, and nobody would notice. */
async function warningOf(client: KubernetesClient, scope: PauseTarget['scope']): Promise<string | undefined> {
  const exists = async (resource: ResourceName, name: string) => {
    try {
      await client.get(resourcePath(resource, name))
      return true
    } catch (error) {
      // Whoever may not read it is not told that it is missing.
      return !isNotFound(error)
    }
  }
  if (scope?.nodePool !== undefined && !(await exists('nodepools', scope.nodePool)))
    return `there is no NodePool "${scope.nodePool}" now; kubectl get nodepools`
  const { node } = scope ?? {}
  if (node !== undefined && !(await exists('nodes', node)) && !(await exists('nodeclaims', node)))
    return `there is no Node or NodeClaim "${node}" now; kubectl get nodes,nodeclaims`
  return undefined
}

function localUser(): string {
  try {
    return userInfo().username
  } catch {
    return 'unknown'
  }
}
