import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'

import type { Method, PatchType } from './api/rest.ts'

/** A cluster that a row is played in. `name` is the row's own: no other row has an object of it. */
export interface Played {
  readonly client: KubernetesClient
  /** A request as it travels. Errors: `ApiError`. */
  readonly request: (method: Method, path: string, body?: unknown, patch?: PatchType) => Promise<Json>
  readonly name: string
  /** Waits until something is seen: controllers take their time. */
  readonly until: (holds: () => Promise<boolean>) => Promise<void>
}

export interface Row {
  readonly name: string
  readonly play: (played: Played) => Promise<unknown>
}

export const namespace = 'default'
export const maps = resourcePath('configmaps', undefined, namespace)
export const mapPath = (name: string) => resourcePath('configmaps', name, namespace)
export const podPath = (name: string) => resourcePath('pods', name, namespace)
export const nodePath = (name: string) => resourcePath('nodes', name)
export const claimPath = (name: string) => resourcePath('nodeclaims', name)

export const map = (name: string, more: Json = {}, data: Json = { a: '1' }): Json => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, ...more },
  data,
})

export const node = (name: string, more: Json = {}): Json => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, ...more },
  spec: {},
})

export const pod = (name: string, { nodeName, ...more }: Json = {}): Json => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, ...more },
  spec: {
    containers: [{ name: 'c', image: 'i' }],
    automountServiceAccountToken: false,
    ...(nodeName === undefined ? {} : { nodeName }),
  },
})

export const claim = (name: string, more: Json = {}): Json => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name, ...more },
  spec: {
    nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
    requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
  },
})

export interface Meta {
  readonly uid: string
  readonly resourceVersion: string
  readonly deletionTimestamp?: string
  readonly finalizers?: readonly string[]
}
export const metaOf = (object: Json) => object['metadata'] as Meta

/** The code and reason of an error, or what is picked from the answer. */
export async function said(work: Promise<Json>, pick: (answer: Json) => unknown = () => 'done'): Promise<unknown> {
  try {
    return pick(await work)
  } catch (error) {
    if (error instanceof ApiError) return `${error.code} ${error.reason}`
    throw error
  }
}

export const exists = (client: KubernetesClient, path: string) =>
  said(client.get(path), () => true).then((found) => found === true)
export const data = (object: Json) => object['data']
export const wasChanged = (before: Json, after: Json) =>
  metaOf(before).resourceVersion !== metaOf(after).resourceVersion

export const pods = resourcePath('pods', undefined, namespace)
export const pools = resourcePath('nodepools')
export const namesOf = (answer: Json) =>
  (answer['items'] as readonly Json[]).map((item) => String((item['metadata'] as Json)['name']))

export const containersOf = (object: Json) => {
  const spec = object['spec'] as Json
  const template = spec['template'] as { readonly spec: Json } | undefined
  return (template?.spec ?? spec)['containers'] as readonly Json[]
}

export function deployment(name: string, { template, ...spec }: Json & { template?: Json } = {}): Json {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'i' }], ...template } },
      ...spec,
    },
  }
}

export const pool = (name: string, { template, ...spec }: Json & { template?: Json } = {}): Json => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name },
  spec: { template: { spec: { ...(claim(name)['spec'] as Json), ...template } }, ...spec },
})
