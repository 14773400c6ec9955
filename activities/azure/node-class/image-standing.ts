// What is known of a node image by the nodes that have it. Nothing is stored: nodes that have initialized are the proof.
import { isTrue } from '../../../core/conditions.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { isNewer } from './image-versions.ts'
import { imageVersion, type ResolvedImage, withImageVersion } from './images.ts'

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

/** Returns images of which those of a refused version are replaced as `workingImage` has it, and the replaced ones. */
export function withWorkingImages(
  images: readonly ResolvedImage[],
  { claims, nodeClass, isRefused }: Refusals,
): { readonly images: readonly ResolvedImage[]; readonly replaced: readonly string[] } {
  const replaced: string[] = []
  const usable = images.map((image) => {
    const other = isRefused(image.id) ? workingImage(claims(), nodeClass, image.id) : undefined
    if (other === undefined) return image
    replaced.push(image.id)
    return { ...image, id: other }
  })
  return { images: usable, replaced }
}

interface Refusals {
  readonly claims: () => Claims
  readonly nodeClass: string
  readonly isRefused: (image: string) => boolean
}
