import { decodeNodeClaim } from '../../../activities/kubernetes/cache/decode.ts'
import { isNotFound } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { readPause } from '../../../activities/kubernetes/pauses/pauses.ts'
import { readWaiting } from '../../../activities/provisioning/findings/read-waiting.ts'
import { podFingerprint } from '../../../activities/scheduler-thread/pod-fingerprint.ts'
import { faultText, type NoteFaults } from '../../../api/kept/document.ts'
import type { Pod } from '../../../core/objects.ts'
import { waitingKey, waitingMapName } from '../../../core/scheduling/explain/waiting-classes.ts'
import type { Adornments } from '../../picture/missing.ts'
import type { EventFacts, WaitingFacts } from './facts.ts'
import { classOf, plannedClaim } from './waiting.ts'

interface Where {
  /** That of Joiner. */
  readonly namespace: string
  /** Epoch ms. */
  readonly now: number
  /** Takes what could not be read. */
  readonly sources: Adornments
}

const states = ['unschedulable', 'held', 'planned'] as const

/** Reads what is known about a pending pod. `events`: of the pod, the latest first. */
export async function readWaitingPod(
  client: KubernetesClient,
  { pod, events }: { readonly pod: Pod; readonly events: readonly EventFacts[] },
  { namespace, now, sources }: Where,
): Promise<WaitingFacts> {
  const note: NoteFaults = (map, faults) => {
    for (const fault of faults) console.error(`note: ${faultText(map, namespace, fault)}`)
  }
  const [stored, pause] = await Promise.all([
    sources.read(`ConfigMap ${waitingMapName}`, readWaiting({ client, namespace, note })),
    sources.read('ConfigMap joiner-pauses', readPause({ client, namespace }, 'provisioning', now)),
  ])
  const unread = sources.missing.find(({ what }) => what === `ConfigMap ${waitingMapName}`)
  const alike = states.flatMap((state) => stored?.classes.get(waitingKey(podFingerprint(pod), state)) ?? [])
  const found = classOf(pod, alike, events)
  const name = plannedClaim(found, events)
  const claim = name === undefined ? undefined : await readClaim(client, name)
  return {
    ...(found === undefined ? {} : { found }),
    ...(unread && { unread }),
    ...(stored?.atMs === undefined ? {} : { atMs: stored.atMs }),
    ...(pause === undefined ? {} : { pause }),
    ...(claim === undefined ? {} : { claim }),
  }
}

async function readClaim(client: KubernetesClient, name: string) {
  try {
    return decodeNodeClaim(await client.get(resourcePath('nodeclaims', name)))
  } catch (error) {
    // The name may be that of a Node.
    if (isNotFound(error)) return undefined
    throw error
  }
}
