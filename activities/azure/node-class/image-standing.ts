// What is known of a node image by the nodes that have it. Nothing is stored: nodes that have initialized are the proof.

import { isTrue } from '../../../core/conditions.ts'
import { imageForm } from '../../../core/drift/node-image-version.ts'
import type { NodeClaim, NodeClass } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import type { AzureParts } from '../parts.ts'
import { isNewer } from './image-versions.ts'
import { imageVersion, type ResolvedImage, withImageVersion } from './images.ts'

type Claims = Iterable<NodeClaim>

const sameId = (a: string | undefined, b: string) => a !== undefined && imageForm(a) === imageForm(b)

function* ofClass(claims: Claims, nodeClass: string): Iterable<NodeClaim> {
  for (const claim of claims) if (claim.spec.nodeClassRef.name === nodeClass) yield claim
}

/** Whether a node of the class has initialized with the image. */
export function isProven(claims: Claims, nodeClass: string, image: string): boolean {
  for (const { status } of ofClass(claims, nodeClass))
    if (sameId(status.imageId, image) && isTrue(status.conditions, 'Initialized')) return true
  return false
}

/**
 * Returns the image of the newest other version with which a node of the class has initialized: what new nodes get when the image does not work. Undefined:
 * there is none, so that nothing would be better than the image.
 */
export function workingImage(claims: Claims, nodeClass: string, image: string): string | undefined {
  const refused = imageVersion(image)
  let found: string | undefined
  for (const { status } of ofClass(claims, nodeClass)) {
    const version = imageVersion(status.imageId ?? '')
    if (version === '' || version === refused || !isTrue(status.conditions, 'Initialized')) continue
    if (found === undefined || isNewer(version, found)) found = version
  }
  return found === undefined ? undefined : withImageVersion(image, found)
}

export type ImageStandingDeps = Pick<AzureParts, 'cache' | 'unavailable'>

/** Whether an annotation names the version of the class's images, so that no other is used instead. */
export const isPinned = ({ metadata }: Pick<NodeClass, 'metadata'>) =>
  metadata.annotations[annotations.imageVersion] !== undefined

/** Returns images of which those that were given up are replaced as `workingImage` has it, and the replaced ones. */
export function withWorkingImages(
  { cache, unavailable }: ImageStandingDeps,
  nodeClass: Pick<NodeClass, 'metadata'>,
  images: readonly ResolvedImage[],
): { readonly images: readonly ResolvedImage[]; readonly replaced: readonly string[] } {
  if (isPinned(nodeClass)) return { images, replaced: [] }
  const { name } = nodeClass.metadata
  const replaced: string[] = []
  const usable = images.map((image) => {
    if (unavailable.imageMarkOf(image.id, name) === undefined) return image
    const other = workingImage(cache.nodeClaims.values(), name, image.id)
    if (other === undefined) return image
    replaced.push(image.id)
    return { ...image, id: other }
  })
  return { images: usable, replaced }
}
