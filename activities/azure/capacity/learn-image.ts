// What Joiner learns of node images from launches that failed (docs/adr/0025-new-images-are-tried-first.md).
import { setConditions } from '../../kubernetes/client/status-writes.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { refreshDrift } from '../node-class/drift.ts'
import { isPinned, isProven, withWorkingImages, workingImage } from '../node-class/image-standing.ts'
import type { RefusedImage } from './lasting-mark.ts'
import type { LearnDeps, Lesson } from './lesson.ts'
import type { AttemptedLaunch } from './refused-size.ts'

/**
 * Counts a failure against an image that no node has proved yet, and gives the image up at the second. Undefined: the image is proved or the only one, so
 * that the size may be at fault. Errors: those of the API server.
 */
export async function learnOfImage(
  deps: LearnDeps,
  { nodeClass, image }: Pick<AttemptedLaunch, 'nodeClass' | 'image'>,
  why: { readonly reason: string; readonly cause: string },
): Promise<Lesson | undefined> {
  const claims = deps.cache.nodeClaims
  const seen = deps.cache.nodeClasses.get(nodeClass)
  if (image === '' || (seen && isPinned(seen)) || isProven(claims.values(), nodeClass, image)) return undefined
  if (workingImage(claims.values(), nodeClass, image) === undefined) return undefined
  if (!deps.launchHealth.failedOnTrial(nodeClass, image))
    return { kind: 'capacity', reason: why.reason, message: `a node with the new image ${image} failed: ${why.cause}` }
  return giveUpImage(deps, { nodeClass, image, ...why })
}

/** Marks an image and gives the class the one that works. Undefined: no other is known to work. Errors: those of the API server. */
export async function giveUpImage(deps: LearnDeps, image: RefusedImage): Promise<Lesson | undefined> {
  const other = workingImage(deps.cache.nodeClaims.values(), image.nodeClass, image.image)
  const nodeClass = deps.cache.nodeClasses.get(image.nodeClass)
  if (other === undefined || (nodeClass && isPinned(nodeClass))) return undefined
  await deps.unavailable.markImage(image)
  const message = `node image ${image.image} is given up (${image.reason}: ${image.cause}); new nodes get ${other}`
  if (nodeClass !== undefined) {
    deps.log.warn({ nodeClass: image.nodeClass, why: message }, 'node image is given up')
    deps.events.record({ about: subject(nodeClass), reason: 'ImageGivenUp', message, values: [image.image] })
    const { images } = withWorkingImages(deps, nodeClass, nodeClass.status.images)
    await setConditions(deps, { kind: 'AKSNodeClass', ref: nodeClass.metadata }, () => ({
      conditions: [{ type: 'ImagesReady', status: 'True', message }],
      status: { images },
    }))
    // Nodes that have the image that works do not differ from the class any more, and must not be replaced.
    await refreshDrift(deps)
  }
  return { kind: 'capacity', reason: 'ImageGivenUp', message }
}
