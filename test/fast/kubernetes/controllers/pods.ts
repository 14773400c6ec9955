import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { type ApiServer, nameLetters } from '../api/api-server.ts'
import { metaOf } from '../api/objects.ts'
import { pathOf } from '../api/paths.ts'
import { isReady, nodeNameOf, ownerRef, type PodTemplate, phaseOf, statusOf } from './seen.ts'

interface NewPod {
  readonly owner: Json
  readonly template: PodTemplate
  /** Default: generated from the owner's. */
  readonly name?: string
  readonly labels?: Readonly<Record<string, string>>
}

export function createPod(server: ApiServer, { owner, template, name, labels }: NewPod): Json {
  const { namespace = 'default', name: ownerName } = metaOf(owner)
  const { metadata = {}, spec = {} } = template
  return server.create(`/api/v1/namespaces/${namespace}/pods`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: name ?? server.generatedName(`${ownerName}-`),
      ...(name === undefined ? { generateName: `${ownerName}-` } : {}),
      namespace,
      ...metadata,
      labels: { ...metadata.labels, ...labels },
      ownerReferences: [ownerRef(owner)],
    },
    spec,
  })
}

export const podPathOf = (pod: Json) => pathOf('pods', metaOf(pod).name, metaOf(pod).namespace ?? 'default')

export function setStatus(server: ApiServer, path: string, status: Json): void {
  server.change(path, undefined, (object) => ({ ...object, status: { ...statusOf(object), ...status } }))
}

/** Pods in the order in which a ReplicaSet lets go of them: those first that are worth least. */
export function leastWorthFirst(pods: readonly Json[]): readonly Json[] {
  const onNode = new Map<string, number>()
  for (const pod of pods) onNode.set(nodeNameOf(pod) ?? '', (onNode.get(nodeNameOf(pod) ?? '') ?? 0) + 1)
  const cost = (pod: Json) => Number(metaOf(pod).annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? 0)
  const ranks = (pod: Json): readonly (number | string)[] => [
    nodeNameOf(pod) === undefined ? 0 : 1,
    phaseOf(pod) === 'Pending' ? 0 : 1,
    isReady(pod) ? 1 : 0,
    cost(pod),
    -(onNode.get(nodeNameOf(pod) ?? '') ?? 0),
    -Date.parse(metaOf(pod).creationTimestamp ?? ''),
    metaOf(pod).name,
  ]
  return [...pods].sort((a, b) => compared(ranks(a), ranks(b)))
}

function compared(a: readonly (number | string)[], b: readonly (number | string)[]): number {
  for (const [at, own] of a.entries()) {
    const other = b[at] as typeof own
    if (own !== other) return own < other ? -1 : 1
  }
  return 0
}

/** A template's own letters. */
export function hashOf(template: unknown): string {
  let hash = 0x811c9dc5
  for (const letter of JSON.stringify(template)) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193) >>> 0
  return String(hash).replaceAll(/./g, (digit) => nameLetters[Number(digit)] ?? '')
}
