import { decodeVolumeAttachment } from '../../../activities/kubernetes/cache/decode.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import type { Adornments } from '../../picture/missing.ts'
import type { DrainFacts } from './facts.ts'

interface EvictionJson {
  readonly related?: { readonly kind?: string; readonly name?: string }
  readonly involvedObject?: { readonly namespace?: string; readonly name?: string }
  readonly lastTimestamp?: string | null
}

/** Reads what the drain of a node did and what it may wait for, as far as that can be read. */
export async function readDrain(
  client: KubernetesClient,
  node: string | undefined,
  sources: Adornments,
): Promise<DrainFacts> {
  if (node === undefined) return { evicted: [] }
  const [events, attachments] = await Promise.all([
    sources.read('events of evictions', client.list(resourcePath('events'), { fieldSelector: 'reason=Evicted' })),
    sources.read('volumeattachments', client.list(resourcePath('volumeattachments'))),
  ])
  const evictions = ((events?.items ?? []) as readonly EvictionJson[])
    .filter(({ related }) => related?.kind === 'Node' && related.name === node)
    .sort((a, b) => ((a.lastTimestamp ?? '') < (b.lastTimestamp ?? '') ? 1 : -1))
  const own = attachments?.items.map((item) => decodeVolumeAttachment(item)).filter(({ nodeName }) => nodeName === node)
  return {
    evicted: evictions.map(({ involvedObject: { namespace = '', name = '' } = {} }) => `${namespace}/${name}`),
    ...(own === undefined ? {} : { attachments: own }),
  }
}
