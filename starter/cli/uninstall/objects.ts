import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { ResourceName } from '../../../activities/kubernetes/client/resources.ts'
import { isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import { nodeClassFinalizer, terminationFinalizer } from '../../../core/requirements/labels.ts'
import { type Chosen, clusterScene, ifServed, listed, object } from '../../picture/from-cluster.ts'
import { leaderLeases } from '../../picture/joiners-client.ts'
import { readWhole } from '../../picture/picture.ts'
import type { Uninstallation } from './context.ts'

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

type Context = Pick<Uninstallation, 'kubernetes' | 'options'>

/** A leader renews its Lease several times in its duration; a Lease that does not change for longer is nobody's. */
const silenceMs = 12_000
const lookEveryMs = 500

/** A process of Joiner that leads. */
export interface Leader {
  readonly lease: string
  readonly identity: string
}

/** Returns a process of Joiner that leads now; false when none does. A Lease is judged by its changes, not by clocks, so this takes some seconds. */
export async function isJoinerRunning(context: Context): Promise<Leader | false> {
  const first = await leases(context)
  if (first.length === 0) return false
  const deadline = performance.now() + silenceMs
  while (performance.now() < deadline) {
    const now = await leases(context)
    if (now.length === 0) return false
    const renewed = now.find(({ metadata }) =>
      first.some(
        (before) =>
          before.metadata.name === metadata.name && before.metadata.resourceVersion !== metadata.resourceVersion,
      ),
    )
    if (renewed !== undefined) return { lease: renewed.metadata.name, identity: renewed.spec?.holderIdentity ?? '' }
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
  }
  return false
}

/** Returns the leader Leases that name a holder. Errors: `LackingError`. */
async function leases({
  kubernetes,
  options: { joinerNamespace: namespace },
}: Context): Promise<readonly SeenObject[]> {
  const seen = (json: Json) => json as unknown as SeenObject
  const parts = Object.fromEntries(leaderLeases.map((name) => [name, object('leases', seen, { name, namespace })]))
  const { missing: _, damaged: __, ...found } = await readWhole(clusterScene(kubernetes), parts)
  return Object.values(found)
    .flat()
    .filter(({ spec }) => (spec?.holderIdentity ?? '') !== '')
}

/** What the chart made for a release. */
export const ofRelease = ({ joinerNamespace: namespace, release }: Context['options']): Chosen => ({
  namespace,
  labelSelector: `app.kubernetes.io/name=joiner,app.kubernetes.io/instance=${release}`,
})

/** Returns the Deployments of the release. Errors: `LackingError`. */
export function deploymentsOf({ kubernetes, options }: Context): Promise<readonly SeenObject[]> {
  return listObjects(kubernetes, 'deployments', ofRelease(options))
}

/** Returns what to run so that Joiner's processes run again. */
export async function startAgain(context: Context): Promise<string> {
  const { joinerNamespace: namespace, release } = context.options
  const found = await deploymentsOf(context)
  if (found.length === 0) return `install the chart again as release "${release}" in namespace "${namespace}"`
  // Not kubectl scale: with Helm 4 the next upgrade would fail, since kubectl then owns the number of replicas.
  return `start it: helm upgrade ${release} deploy/chart --namespace ${namespace} --reset-then-reuse-values --force-conflicts (Helm 3 has no --force-conflicts, and needs none)`
}
