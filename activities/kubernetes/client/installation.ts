import type { Logger } from 'pino'
import {
  describeInstallation,
  type Installation,
  installationAnnotation,
  installationText,
  type Ownership,
  ownershipOf,
} from '../../../core/installation.ts'
import { getIfAny, type Json } from './answers.ts'
import { expecting, isConflict } from './api-error.ts'
import type { KubernetesClient } from './client.ts'
import { resourcePath } from './resources.ts'

type Client = Pick<KubernetesClient, 'get' | 'mergePatch'>

/** The CRD that carries the marker. The other CRDs have none, so that a claim is one write. */
export const markedCrd = 'nodepools.karpenter.sh'
const crdPath = resourcePath('customresourcedefinitions', markedCrd)

/** Returns the installation that a process belongs to. Errors: the API server's, about the namespace. */
export async function ownInstallation(client: Client, release: string, namespace: string): Promise<Installation> {
  const { metadata } = await client.get(resourcePath('namespaces', namespace))
  return { release, namespace, uid: (metadata as { readonly uid: string }).uid }
}

interface Metadata {
  readonly resourceVersion: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** Returns the marker of a CRD; undefined when it has none. */
export function markerOf(crd: Json): string | undefined {
  return (crd['metadata'] as Metadata).annotations?.[installationAnnotation]
}

/** The owner of the CRDs, or that they are missing. */
export type Found = Ownership | { readonly kind: 'missing' }

/** Reads the owner of the CRDs. Errors: the API server's. */
export async function readOwnership(client: Client, own: Installation): Promise<Found> {
  const crd = await readMarkedCrd(client)
  return crd === undefined ? { kind: 'missing' } : ownershipOf(markerOf(crd), own)
}

/** Returns the CRD with the marker; undefined when it is not installed. */
export function readMarkedCrd(client: Client): Promise<Json | undefined> {
  return getIfAny(client, crdPath)
}

/**
 * Claims the CRDs unless another installation owns them. Of two that try at once the API server lets one through, by the resource version.
 * Errors: the API server's.
 */
export async function claimInstallation(client: Client, own: Installation, log: Logger): Promise<Found> {
  const crd = await readMarkedCrd(client)
  if (crd === undefined) return { kind: 'missing' }
  const ownership = ownershipOf(markerOf(crd), own)
  if (ownership.kind !== 'unclaimed') return ownership
  if (!(await writeMarker(client, crd, own))) return claimInstallation(client, own, log)
  log.info({ crd: markedCrd, ...own }, 'claimed the CRDs for this installation')
  return { kind: 'ours' }
}

/**
 * Returns whether this installation may write to its CRDs, as a watch has seen the marked one. A marker that was removed, as an upgrade of
 * the CRDs may do, is claimed again, unless `joiner admin crds release` removed it: nobody converts the CRD then. Errors: the API server's.
 */
export async function mayWriteCrds(client: Client, crd: Json, own: Installation): Promise<boolean> {
  const { kind } = ownershipOf(markerOf(crd), own)
  return kind === 'ours' || (kind === 'unclaimed' && !isReleased(crd) && (await writeMarker(client, crd, own)))
}

function isReleased(crd: Json): boolean {
  const { conversion } = crd['spec'] as { readonly conversion?: { readonly strategy?: string } }
  return conversion?.strategy === 'None'
}

/** Writes the marker of an installation, if the CRD is still as it was read. Returns whether it was. */
export async function writeMarker(client: Client, crd: Json, installation: Installation): Promise<boolean> {
  const { resourceVersion } = crd['metadata'] as Metadata
  const annotations = { [installationAnnotation]: installationText(installation) }
  const patch = { metadata: { resourceVersion, annotations } }
  return client.mergePatch(crdPath, patch).then(() => true, expecting(isConflict, false))
}

/** Returns why this installation does no work, with the remedy. Undefined when it may work. */
export function installationProblem(found: Found, own: Installation): string | undefined {
  const ours = `release "${own.release}" in namespace "${own.namespace}"`
  switch (found.kind) {
    case 'ours':
      return undefined
    case 'missing':
      return `CustomResourceDefinition ${markedCrd} is not installed; as an administrator: joiner admin crds apply --release ${own.release} --joiner-namespace ${own.namespace}`
    case 'unclaimed':
      return `CustomResourceDefinition ${markedCrd}: annotation ${installationAnnotation} is missing; a process with the role "conversion" writes it, check that one runs`
    case 'foreign':
      return `CustomResourceDefinition ${markedCrd}: annotation ${installationAnnotation} names ${describeInstallation(found.owner)}, and this is ${ours}; one installation works in a cluster. Uninstall one of both, or run when the other one is gone: joiner admin takeover --release ${own.release} --joiner-namespace ${own.namespace}`
  }
}
