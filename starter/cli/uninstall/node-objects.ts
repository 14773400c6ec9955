import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { ResourceName } from '../../../activities/kubernetes/client/resources.ts'
import { isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import { nodeClassFinalizer, terminationFinalizer } from '../../../core/requirements/labels.ts'
import { type Chosen, clusterScene, ifServed, listed } from '../../picture/from-cluster.ts'
import { readWhole } from '../../picture/picture.ts'

interface Owner {
  readonly kind: string
  readonly name: string
  readonly apiVersion: string
}

/** An object, as far as an uninstallation looks into it. */
export interface SeenObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
    readonly finalizers?: readonly string[]
    readonly ownerReferences?: readonly Owner[]
  }
  readonly spec?: {
    readonly replicas?: number
    readonly holderIdentity?: string
    readonly renewTime?: string
    readonly nodeClassRef?: { readonly group?: string; readonly kind?: string }
  }
  readonly status?: {
    readonly providerID?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

/** Returns objects; none where the API server does not know the resource. Errors: `LackingError`. */
export async function listObjects(
  client: KubernetesClient,
  resource: ResourceName,
  chosen: Chosen = {},
): Promise<readonly SeenObject[]> {
  const objects = ifServed(listed(resource, (json) => json as unknown as SeenObject, chosen))
  return (await readWhole(clusterScene(client), { objects })).objects
}

/** Returns Joiner's NodeClaims: those of AKSNodeClasses, without the machines that AKS makes. */
export async function ownClaims(client: KubernetesClient): Promise<readonly SeenObject[]> {
  return (await listObjects(client, 'nodeclaims')).filter(isOwnClaim)
}

function isOwnClaim({ metadata, spec, status }: SeenObject): boolean {
  const { group, kind } = spec?.nodeClassRef ?? {}
  const { annotations = {}, name } = metadata
  const { providerID } = status ?? {}
  const claim = { metadata: { annotations, name }, status: providerID === undefined ? {} : { providerId: providerID } }
  const isMachine = isAksMachine(claim as unknown as Parameters<typeof isAksMachine>[0])
  return group === 'karpenter.azure.com' && kind === 'AKSNodeClass' && !isMachine
}

const isClaimOwner = ({ kind, apiVersion }: Owner) => kind === 'NodeClaim' && apiVersion.startsWith('karpenter.sh/')

/** A merge patch that frees an object from Joiner; undefined when nothing holds it. */
export type Freeing = (object: SeenObject) => Json | undefined

/** Frees a Node: its deletion waits for nobody, and it stays when its NodeClaim goes. Nodes of AKS machines and others are left alone. */
export function freeNode(claims: readonly SeenObject[]): Freeing {
  const names = new Set(claims.map(({ metadata }) => metadata.name))
  return ({ metadata }) => {
    const { finalizers = [], ownerReferences = [], resourceVersion } = metadata
    const owners = ownerReferences.filter(isClaimOwner)
    const isOwn =
      owners.length === 0 ? finalizers.includes(terminationFinalizer) : owners.some(({ name }) => names.has(name))
    if (!isOwn) return undefined
    return {
      metadata: {
        resourceVersion,
        finalizers: finalizers.filter((each) => each !== terminationFinalizer),
        ownerReferences: ownerReferences.filter((owner) => !isClaimOwner(owner)),
      },
    }
  }
}

function withoutFinalizer(finalizer: string): Freeing {
  return ({ metadata: { finalizers = [], resourceVersion } }) => {
    if (!finalizers.includes(finalizer)) return undefined
    return { metadata: { resourceVersion, finalizers: finalizers.filter((each) => each !== finalizer) } }
  }
}

/** Frees a NodeClaim: its deletion waits for nobody. */
export const freeClaim = withoutFinalizer(terminationFinalizer)

/** Frees an AKSNodeClass: its deletion waits for nobody. */
export const freeNodeClass = withoutFinalizer(nodeClassFinalizer)

/** Resources whose objects wait for Joiner when they are deleted. */
export type FreedResource = Extract<ResourceName, 'nodes' | 'nodeclaims' | 'aksnodeclasses'>
