// The Temporal that the chart runs where no other one is named (docs/temporal.md).
import type { ConnectionLike } from '@temporalio/client'
import { isNotFound } from '../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { resourcePath } from '../../activities/kubernetes/client/resources.ts'
import { messageOf, type TemporalProblem } from './problem.ts'

/** Nodes that it was measured with; doctor warns of more. */
export const mostNodes = 200
/** What ended in a week can be compared. docs/temporal.md says what it takes. */
export const recommendedHours = 7 * 24

const hourSeconds = 3600
/** What the development server gives each namespace that it makes. Any other retention is somebody's choice. */
const givenHours = 24
/** Azure detaches a disk from a node that is gone, and attaches it to another one, within some minutes. */
const attachMs = 300_000
const pod = 'joiner-temporal-0'

/** Raises the retention that the server gave to `recommendedHours`. Returns whether it did. Errors: Temporal's. */
export async function raiseRetention(
  { workflowService }: Pick<ConnectionLike, 'workflowService'>,
  namespace: string,
): Promise<boolean> {
  const { config } = await workflowService.describeNamespace({ namespace })
  if (Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) !== givenHours * hourSeconds) return false
  // The library's type is a class of 64 bits, and it takes numbers.
  const seconds = (recommendedHours * hourSeconds) as never
  await workflowService.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl: { seconds } } })
  return true
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly message?: string
  readonly lastTransitionTime?: string | null
}

interface PodJson {
  readonly spec: {
    readonly nodeName?: string
    readonly volumes?: readonly { readonly persistentVolumeClaim?: object }[]
  }
  readonly status: { readonly conditions?: readonly Condition[] }
}

interface Where {
  readonly client: Pick<KubernetesClient, 'get'>
  /** That of Joiner. */
  readonly namespace: string
  /** Epoch ms. */
  readonly now: number
}

/** Returns what is wrong where the pod has waited for its volume for too long; undefined where that is not what it waits for. Never throws. */
export async function volumeProblem({ client, namespace, now }: Where): Promise<TemporalProblem | undefined> {
  let found: PodJson
  try {
    found = (await client.get(resourcePath('pods', pod, namespace))) as unknown as PodJson
  } catch (error) {
    if (isNotFound(error)) return undefined
    return { what: `whether pod ${pod} waits for its volume could not be read: ${messageOf(error)}`, remedies: [] }
  }
  const waits = waitOf(found)
  const minutes = Math.floor((now - (waits?.sinceMs ?? now)) / 60_000)
  if (waits === undefined || minutes * 60_000 < attachMs) return undefined
  return {
    what: `pod ${pod} has waited for its volume for ${minutes} min: ${waits.why}`,
    remedies: [
      `delete the volume, no node is lost: kubectl delete pvc data-${pod} --namespace ${namespace} --wait=false && kubectl delete pod ${pod} --namespace ${namespace}`,
    ],
  }
}

/** Since when the pod waits for a volume, as far as its conditions say. */
function waitOf({ spec, status }: PodJson): { readonly sinceMs: number; readonly why: string } | undefined {
  if (spec.volumes?.every(({ persistentVolumeClaim }) => persistentVolumeClaim === undefined) ?? true) return undefined
  const condition = (name: string) => status.conditions?.find(({ type }) => type === name)
  const scheduled = condition('PodScheduled')
  const sinceMs = Date.parse(scheduled?.lastTransitionTime ?? '')
  if (scheduled === undefined || Number.isNaN(sinceMs)) return undefined
  const { message = '' } = scheduled
  if (scheduled.status === 'False') return /volume/i.test(message) ? { sinceMs, why: message } : undefined
  // The kubelet makes a pod's sandbox once its volumes are mounted.
  if (condition('PodReadyToStartContainers')?.status !== 'False') return undefined
  return { sinceMs, why: `Node ${spec.nodeName} could not mount it; kubectl describe pod ${pod} has the reason` }
}
