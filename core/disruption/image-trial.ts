import { conditionOf, isTrue } from '../conditions.ts'
import { imageForm } from '../drift/node-image-version.ts'
import type { NodeClaim, NodeClass } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'

/**
 * The trial of new node images of an AKSNodeClass, of which no node has initialized yet. `untried`: no node with them is on its way; `trying`: one is, or a
 * command will make one. Until one has initialized, drift replaces one node at a time.
 */
export type ImageTrial = 'untried' | 'trying'

interface Trials {
  readonly nodeClaims: Iterable<NodeClaim>
  readonly nodeClasses: Iterable<NodeClass>
  /** Names of NodeClaims that are about to get a command. */
  readonly reserved?: ReadonlySet<string> | undefined
  /** Epoch milliseconds. */
  readonly now: number
}

/** A node that has not initialized for so long holds nothing up any more: another one is tried. */
const longestTryMs = 30 * 60_000

/**
 * Returns the classes whose images are on trial: nodes of the class have initialized with other images, and none with these. A class without nodes has
 * nothing to lose.
 */
export function imageTrials({ nodeClaims, nodeClasses, reserved, now }: Trials): ReadonlyMap<string, ImageTrial> {
  const byClass = Map.groupBy(nodeClaims, ({ spec }) => spec.nodeClassRef.name)
  const trials = new Map<string, ImageTrial>()
  for (const { metadata, status } of nodeClasses) {
    const images = new Set(status.images.map(({ id }) => imageForm(id)))
    const stages = (byClass.get(metadata.name) ?? []).map((claim) => stageOf(claim, { images, reserved, now }))
    const isWaiting = stages.includes('outdated')
    const isOnTrial = images.size > 0 && !stages.includes('proof') && stages.some(isOld)
    if (!isWaiting && !isOnTrial) continue
    const isTried = isWaiting || stages.includes('trying') || stages.includes('old, leaving')
    trials.set(metadata.name, isTried ? 'trying' : 'untried')
  }
  return trials
}

/** `outdated`: its condition says that its image is not the class's, which it is. The class went back to it a moment ago. */
type Stage = 'proof' | 'outdated' | 'trying' | 'old' | 'old, leaving' | 'other'

const isOld = (stage: Stage) => stage === 'old' || stage === 'old, leaving'

function stageOf(
  { metadata, status }: NodeClaim,
  { images, reserved, now }: Pick<Trials, 'reserved' | 'now'> & { readonly images: ReadonlySet<string> },
): Stage {
  const isNew = images.has(imageForm(status.imageId ?? ''))
  if (isTrue(status.conditions, 'Initialized')) {
    const drifted = conditionOf(status.conditions, 'Drifted')
    if (isNew) return drifted?.status === 'True' && drifted.reason === 'ImageDrift' ? 'outdated' : 'proof'
    const isLeaving =
      metadata.annotations[annotations.disruptionCommand] !== undefined || reserved?.has(metadata.name) === true
    return isLeaving && isTrue(status.conditions, 'Drifted') ? 'old, leaving' : 'old'
  }
  // A NodeClaim without an image is on its way to one of these.
  const isOnItsWay =
    metadata.deletionTimestamp === undefined && now - Date.parse(metadata.creationTimestamp) < longestTryMs
  return isOnItsWay && (isNew || !status.imageId) ? 'trying' : 'other'
}
