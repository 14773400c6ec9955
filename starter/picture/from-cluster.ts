// Parts of a picture that are lists of objects.
import {
  decodeNode,
  decodeNodeClaim,
  decodeNodeClass,
  decodeNodePool,
  decodePodDisruptionBudget,
  decodeVolumeAttachment,
} from '../../activities/kubernetes/cache/decode.ts'
import { isOfAnotherProvider } from '../../activities/kubernetes/cache/other-providers.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { isNotFound } from '../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { type ResourceName, resourcePath } from '../../activities/kubernetes/client/resources.ts'
import type { NodeClaim, NodePool, PodDisruptionBudget } from '../../core/objects.ts'
import type { VolumeAttachment } from '../../core/pods/related-objects.ts'
import { defined } from '../../core/values/defined.ts'
import { printableStart } from '../../core/values/printable.ts'
import type { Part, Scene } from './picture.ts'

const listMs = 60_000
const objectMs = 15_000
const longestReason = 200

/** Where objects of the cluster are read, and nothing that Joiner keeps. */
export const clusterScene = (client: KubernetesClient): Scene => ({ client, namespace: '', now: 0 })

/** Which objects of a kind. */
export interface Chosen {
  /** Unset: of all namespaces. */
  readonly namespace?: string
  readonly fieldSelector?: string
  readonly labelSelector?: string
}

/** Returns the part that is a list. Objects that are not as their kind is are left out, and the picture says so. */
export function listed<T>(
  resource: ResourceName,
  decode: (json: Json) => T,
  { namespace, fieldSelector, labelSelector }: Chosen = {},
): Part<readonly T[]> {
  const path = resourcePath(resource, undefined, namespace)
  return {
    what: resource,
    limitMs: listMs,
    read: async ({ client, leaveOut }) => {
      const found: T[] = []
      const odd: string[] = []
      const selectors = { ...defined({ fieldSelector }), ...(labelSelector && { query: { labelSelector } }) }
      for await (const { items } of client.listPages(path, selectors))
        for (const json of items) {
          try {
            found.push(decode(json))
          } catch (error) {
            odd.push(`${nameOf(json)} (${printableStart((error as Error).message, longestReason)})`)
          }
        }
      if (odd.length > 0) leaveOut(`${odd.length} are not as their kind is: ${odd[0]}`)
      return found
    },
  }
}

function nameOf({ metadata }: Json): string {
  const { name, namespace } = (metadata ?? {}) as { readonly name?: unknown; readonly namespace?: unknown }
  return printableStart([namespace, name].filter((part) => typeof part === 'string').join('/'), longestReason)
}

/** Returns the part that is one object: a list of it, or an empty one where there is none. */
export function object<T>(
  resource: ResourceName,
  decode: (json: Json) => T,
  { name, namespace }: { readonly name: string; readonly namespace?: string },
): Part<readonly T[]> {
  return {
    what: resource,
    limitMs: objectMs,
    read: async ({ client }) => {
      try {
        return [decode(await client.get(resourcePath(resource, name, namespace)))]
      } catch (error) {
        if (isNotFound(error)) return []
        throw error
      }
    },
  }
}

/** Takes a kind that the cluster does not have for one of which there is nothing. */
export function ifServed<T>(part: Part<readonly T[]>): Part<readonly T[]> {
  const orNothing = (error: unknown) => {
    if (isNotFound(error)) return []
    throw error
  }
  return { ...part, read: (source) => part.read(source).catch(orNothing) }
}

/** The part that is not asked for. */
export function nothing<T>(): Part<readonly T[]> {
  return { what: '', limitMs: 1, read: async () => [] }
}

export const nodes = listed('nodes', decodeNode)
export const nodeClaims = listed('nodeclaims', decodeNodeClaim)
export const nodePools = listed('nodepools', decodeNodePool)
export const nodeClasses = listed('aksnodeclasses', decodeNodeClass)

/** The NodePools of AKS. */
export const aksPools: Part<readonly NodePool[]> = {
  ...nodePools,
  read: async (source) =>
    (await nodePools.read(source)).filter(({ template }) => template.spec.nodeClassRef.kind === 'AKSNodeClass'),
}

/** Joiner's NodeClaims, which should have lifecycles. `machines`: with those of AKS machines that were adopted. */
export function ownClaims({ machines = true } = {}): Part<readonly NodeClaim[]> {
  return {
    ...nodeClaims,
    read: async (source) =>
      (await nodeClaims.read(source)).filter((claim) => !isOfAnotherProvider(claim, { machines })),
  }
}

/** A PodDisruptionBudget with the numbers of its status. */
export interface CountedBudget extends PodDisruptionBudget {
  readonly healthy: number
  readonly wanted: number
  readonly pods: number
}

/** PodDisruptionBudgets of a namespace, or of all. */
export function countedBudgets(namespace?: string): Part<readonly CountedBudget[]> {
  return listed('poddisruptionbudgets', countedBudget, namespace === undefined ? {} : { namespace })
}

function countedBudget(json: Json): CountedBudget {
  const { currentHealthy = 0, desiredHealthy = 0, expectedPods = 0 } = (json['status'] ?? {}) as Record<string, number>
  return { ...decodePodDisruptionBudget(json), healthy: currentHealthy, wanted: desiredHealthy, pods: expectedPods }
}

/** The volumes of a node. */
export function attachmentsOf(node: string): Part<readonly VolumeAttachment[]> {
  const all = listed('volumeattachments', decodeVolumeAttachment)
  return { ...all, read: async (source) => (await all.read(source)).filter(({ nodeName }) => nodeName === node) }
}
