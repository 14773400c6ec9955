// What is known of a node image by the nodes that have it. Nothing is stored: nodes that have initialized are the proof.
import { isTrue } from '../../../core/conditions.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { isNewer } from './image-versions.ts'
import { baseImageId, imageVersion } from './images.ts'

type Claims = Iterable<NodeClaim>

const sameId = (a: string | undefined, b: string) => a?.toLowerCase() === b.toLowerCase()

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
 * Returns the newest other version of an image with which a node of the class has initialized: what new nodes get when the image does not work. Undefined:
 * there is none, so that nothing would be better than the image.
 */
export function workingImage(claims: Claims, nodeClass: string, image: string): string | undefined {
  let found: string | undefined
  for (const { status } of ofClass(claims, nodeClass)) {
    const { imageId, conditions } = status
    if (!imageId || sameId(imageId, image) || baseImageId(imageId) !== baseImageId(image)) continue
    if (!isTrue(conditions, 'Initialized')) continue
    if (found === undefined || isNewer(imageVersion(imageId), imageVersion(found))) found = imageId
  }
  return found
}
