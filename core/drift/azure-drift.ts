import { conditionOf, isTrueAt } from '../conditions.ts'
import { isAksMachine } from '../node-claim/aks-machine.ts'
import type { Node, NodeClaim, NodeClass, NodePool } from '../objects.ts'
import { annotations, labels } from '../requirements/labels.ts'
import { printableStart } from '../values/printable.ts'
import { type Drift, drifted } from './drift.ts'
import { imageForm } from './node-image-version.ts'

/** Input of drift detection for an AKSNodeClass. */
export interface AzureDriftView {
  readonly claim: NodeClaim
  /** The pool that the claim's label names. */
  readonly nodePool: NodePool | undefined
  /** The class in the pool's template, which new nodes would use. */
  readonly nodeClass: NodeClass | undefined
  readonly node: Node | undefined
  /** Client id of the present identity of kubelets; empty when unknown. */
  readonly kubeletIdentityClientId: string
  /** Of an AKS machine: what AKS would do about it; unset where that is not known. */
  readonly machineDriftAction?: string | undefined
}

const none: Drift = { kind: 'none' }
const kubeletIdentityLabel = 'kubernetes.azure.com/kubelet-identity-client-id'

/**
 * Returns whether a claim's node differs from its pool's present AKSNodeClass; the first difference counts. Versions and images in a status of an
 * earlier spec prove nothing. After an edit the hash alone decides until the status is current (reference/azure-provider.md 1.3 and 8.1). A subnet is
 * part of the hash.
 */
export function azureDrift(view: AzureDriftView): Drift {
  const { claim, nodePool, nodeClass } = view
  if (claim.metadata.labels[labels.nodePool] === undefined || nodePool === undefined) return none
  if (nodeClass === undefined || nodeClass.metadata.deletionTimestamp !== undefined) return none
  if (claim.status.providerId === undefined)
    return { kind: 'unknown', message: `NodeClaim ${claim.metadata.name}: status.providerID is not set` }
  for (const look of [hashDrift, kubernetesDrift, identityDrift, imageDrift, clusterConfigDrift]) {
    const drift = look(view, nodeClass)
    if (drift.kind !== 'none') return drift
  }
  return none
}

type Look = (view: AzureDriftView, nodeClass: NodeClass) => Drift

/** Hashes of two versions cannot be compared. */
const hashDrift: Look = ({ claim }, { metadata }) => {
  const [own, wanted] = [claim.metadata.annotations, metadata.annotations]
  const { nodeClassHash, nodeClassHashVersion } = annotations
  if (own[nodeClassHash] === undefined || wanted[nodeClassHash] === undefined) return none
  if (own[nodeClassHashVersion] === undefined || own[nodeClassHashVersion] !== wanted[nodeClassHashVersion]) return none
  if (own[nodeClassHash] === wanted[nodeClassHash]) return none
  return drifted('NodeClassDrift', `the spec of AKSNodeClass ${metadata.name} changed since the node was made`)
}

const kubernetesDrift: Look = ({ node }, { metadata, status }) => {
  const wanted = status.kubernetesVersion
  if (!wanted || !isTrueAt(status.conditions, 'KubernetesVersionReady', metadata.generation)) return none
  const own = isThere(node) ? node.kubeletVersion?.replace(/^v/, '') : undefined
  if (own === undefined || own === '' || own === wanted) return none
  return drifted('K8sVersionDrift', `the kubelet is of version ${own}, AKSNodeClass ${metadata.name} of ${wanted}`)
}

const identityDrift: Look = ({ claim, node, kubeletIdentityClientId }) => {
  // AKS gives its machines their identity.
  if (isAksMachine(claim)) return none
  const own = isThere(node) ? node.metadata.labels[kubeletIdentityLabel] : undefined
  if (!own || kubeletIdentityClientId === '' || own === kubeletIdentityClientId) return none
  return drifted(
    'KubeletIdentityDrift',
    `the kubelet has the identity ${own}, new ones have ${kubeletIdentityClientId}`,
  )
}

/** ARM ids are case-insensitive. */
const imageDrift: Look = ({ claim }, { metadata, status }) => {
  if (!isTrueAt(status.conditions, 'ImagesReady', metadata.generation)) return none
  const { imageId } = claim.status
  if (!imageId) return { kind: 'unknown', message: `NodeClaim ${claim.metadata.name}: status.imageID is not set` }
  if (status.images.length === 0)
    return { kind: 'unknown', message: `AKSNodeClass ${metadata.name}: status.images is empty` }
  const ofMachine = isAksMachine(claim)
  const form = (id: string) => (ofMachine ? imageForm(id) : id.toLowerCase())
  if (status.images.some(({ id }) => form(id) === form(imageId))) return none
  return drifted('ImageDrift', `AKSNodeClass ${metadata.name} has other images than ${imageId}`)
}

/** AKS says that it would recreate the machine. Where that was not read, what it said before stays. */
const clusterConfigDrift: Look = ({ claim, machineDriftAction: action }) => {
  if (!isAksMachine(claim)) return none
  if (action === undefined && conditionOf(claim.status.conditions, 'Drifted')?.reason === 'ClusterConfigDrift')
    return { kind: 'unknown', message: `NodeClaim ${claim.metadata.name}: its AKS machine could not be read` }
  if (action === undefined || action === '' || action === 'Synced') return none
  const shown = printableStart(action, 60)
  return drifted('ClusterConfigDrift', `AKS says that the machine differs from its cluster (driftAction "${shown}")`)
}

function isThere(node: Node | undefined): node is Node {
  return node !== undefined && node.metadata.deletionTimestamp === undefined
}
