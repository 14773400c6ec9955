import { randomUUID } from 'node:crypto'
import { capacityTypeOf, type InstanceType, type Offering, zoneOf } from '../../../core/instance-type.ts'
import { leftOutOf } from '../../../core/node-claim/left-out.ts'
import { kubeletConversion } from '../../../core/node-class/kubelet-conversion.ts'
import { maxFallbackPriceFactor } from '../../../core/node-pool/fallback-price.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations, labels, wellKnownLabels } from '../../../core/requirements/labels.ts'
import { isCompatible, requirements } from '../../../core/requirements/requirements.ts'
import { typesForClaim } from '../../node-overlays/pool-types.ts'
import { LaunchBlocked } from '../arm/azure-failure.ts'
import { offeringUse } from '../capacity/blocking-mark.ts'
import type { Wanted } from '../capacity/choose-offering.ts'
import { takeLaunchTurn } from '../capacity/learn.ts'
import type { LearnDeps } from '../capacity/lesson.ts'
import type { Mark, OfferingId } from '../capacity/mark.ts'
import { type Demand, type Shortage, shortageText } from '../capacity/quota-accounting.ts'
import { chooseLaunch, type LaunchChoice } from '../launch/choose-launch.ts'
import type { MakeInput } from '../launch/vm-request.ts'
import { withWorkingImages } from '../node-class/image-standing.ts'
import { resolveImageFamily } from '../node-class/images.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import type { AzureParts } from '../parts.ts'
import { refusedSizes } from './class-refusals.ts'
import type { Tried } from './class-turns.ts'
import { type ClassLaunch, stateOfClass, takeTurn, turnToTake, untriedFirst } from './launch-turn.ts'
import { fittingTypes, isWithin, type PriceBound, priceBound } from './price-bound.ts'

type ChooseDeps = LearnDeps & Pick<AzureParts, 'quota' | 'reservations'>

type ClaimOfClass = Pick<MakeInput, 'claim' | 'nodeClass'>

/** What was chosen for a claim, and its class with the images that its nodes get. */
type LaunchInTurn = { readonly kind: 'chosen' } & Pick<MakeInput, 'chosen' | 'size' | 'image' | 'nodeClass' | 'inClass'>

/**
 * Chooses what to make for a claim, when it is its turn. What is chosen is the claim's from then on: its vCPUs, and its place in a capacity reservation.
 * Errors: `NotItsTurn`; `LaunchBlocked` when all that is left is too dear; those of the API server.
 */
export async function chooseInTurn(
  deps: ChooseDeps,
  { claim, nodeClass: seen }: ClaimOfClass,
): Promise<LaunchInTurn | Exclude<LaunchChoice, { kind: 'chosen' }>> {
  // An image may have been given up a moment ago.
  const { images } = withWorkingImages(deps, seen, seen.status.images)
  const nodeClass = { ...seen, status: { ...seen.status, images } }
  // What an earlier attempt of this claim reserved is free for this one.
  deps.quota.release(claim.metadata.uid)
  takeLaunchTurn(deps, nodeClass.metadata.name)
  const { inClass, tried } = await turnFor(deps, { claim, nodeClass }, stateOfClass(seen, deps.config))
  const choice = chooseNow(deps, { claim, nodeClass }, tried)
  if (choice.kind === 'nodeClassNotReady')
    deps.vmCreates.withoutImage(
      resolveImageFamily(nodeClassSettings(nodeClass, deps.config), nodeClass.status.kubernetesVersion ?? ''),
    )
  if (choice.kind !== 'chosen') return choice
  const { chosen, image } = choice
  const size = deps.catalogue.size(chosen.typeName)
  if (size === undefined)
    throw new Error(`size ${chosen.typeName} left the catalogue just now; the launch is tried again`)
  // Nothing was awaited since the choice, so no other launch can have chosen the same vCPUs, or the same place in a reservation.
  deps.reservations.choose(claim.metadata.name, chosen.reservation?.id)
  deps.quota.reserve(claim.metadata.uid, { ...size, capacityType: chosen.capacityType })
  return { kind: 'chosen', chosen, size, image, nodeClass, inClass }
}

/** A launch in its class, and what was tried of the class before. */
interface OwnTurn {
  readonly inClass: ClassLaunch
  readonly tried?: Tried
}

/** Takes the turn of its class for a claim, where launches go one at a time. `state`: of class and settings. Errors: `NotItsTurn`; those of the API server. */
async function turnFor(deps: ChooseDeps, input: ClaimOfClass, state: string): Promise<OwnTurn> {
  const inClass = { nodeClass: input.nodeClass.metadata.name, state, turn: '' }
  const due = turnToTake(deps, inClass)
  if (due === undefined) return { inClass }
  const choice = chooseNow(deps, input, due.tried)
  if (choice.kind !== 'chosen') return { inClass, ...due }
  const own = { ...inClass, turn: randomUUID() }
  await takeTurn(deps, own, choice.chosen)
  return { inClass: own, ...due }
}

/** Chooses an offering for a claim from what can be bought now. Errors: `LaunchBlocked` when all that is left is too dear. */
function chooseNow(deps: ChooseDeps, { claim, nodeClass }: ClaimOfClass, tried: Tried | undefined): LaunchChoice {
  const { name } = nodeClass.metadata
  const bought = deps.catalogue.instanceTypesFor(nodeClass, kubeletConversion(claim.metadata.annotations))
  const types = typesForClaim(deps, claim, bought)
  const failed = new Set(deps.launchHealth.commonCause(name)?.sizes)
  const preferences = [
    ...(tried === undefined ? [] : untriedFirst(deps, tried)),
    ...(failed.size === 0 ? [] : [(_: Offering, type: InstanceType) => !failed.has(type.name)]),
  ]
  const request = { claim, nodeClass, preferences, reservations: deps.reservations }
  const bound = boundOf(deps, claim, types)
  const accepts = bound === undefined ? undefined : (offering: Offering) => isWithin(bound, offering)
  const choice = chooseLaunch(types, accepts === undefined ? request : { ...request, accepts }, (wanted) =>
    whyExhausted(types, wanted, {
      sizeOf: (size) => deps.catalogue.size(size),
      markOf: (offering) => deps.unavailable.markOf(offering, offeringUse(nodeClass)),
      shortagesOf: (demand) => deps.quota.shortages(demand),
    }),
  )
  if (bound !== undefined && choice.kind === 'exhausted') refuseTooDear(claim, bound, chooseLaunch(types, request))
  return choice
}

function boundOf(deps: ChooseDeps, claim: NodeClaim, types: readonly InstanceType[]): PriceBound | undefined {
  const { metadata, spec } = claim
  const pool = deps.cache.nodePools.get(metadata.labels[labels.nodePool] ?? '')
  const wanted = { uid: metadata.uid, requirements: requirements(spec.requirements), requests: spec.requests }
  return priceBound(types, wanted, {
    refused: refusedSizes(deps.unavailable.marks, spec.nodeClassRef.name, deps.now()),
    leftOut: leftOutOf(claim),
    factor: pool && maxFallbackPriceFactor(pool),
  })
}

/** Errors: `LaunchBlocked` that names what is left and not bought. It waits: a new NodeClaim would find no more. */
function refuseTooDear({ metadata }: NodeClaim, { most, why }: PriceBound, left: LaunchChoice): void {
  if (left.kind !== 'chosen') return
  const { typeName, instanceType, capacityType, zone } = left.chosen
  const prices = instanceType.offerings
    .filter((one) => isOffering(one, { capacityType, zone }))
    .map(({ price }) => price)
  const key = annotations.maxFallbackPriceFactor
  throw new LaunchBlocked(
    'FallbackTooDear',
    `${typeName} (${capacityType}) for ${Math.min(...prices)} USD/h is not bought: ${why} NodeClaim ${metadata.name} may cost ${rounded(most.get(capacityType) ?? 0)} USD/h at most. Cheaper offerings are tried again when their marks end ("joiner blocked capacity list"); annotation ${key} of the NodePool bounds what is bought after a lack of capacity`,
  )
}

const isOffering = (
  { requirements: own }: Offering,
  { capacityType, zone }: Pick<LaunchedAs, 'capacityType' | 'zone'>,
) => own.get(labels.capacityType)?.values.has(capacityType) === true && own.get(labels.zone)?.values.has(zone) === true

type LaunchedAs = Extract<LaunchChoice, { kind: 'chosen' }>['chosen']

const rounded = (price: number) => Number(price.toFixed(4))

const shownAtMost = 3
interface Obstacles {
  readonly sizeOf: (instanceType: string) => { readonly family: string; readonly vCpus: number } | undefined
  readonly markOf: (offering: OfferingId) => Mark | undefined
  readonly shortagesOf: (demand: Demand) => readonly Shortage[]
}

/** Explains why a claim has no offering left: the marks and quotas that block the offerings it allows. */
function whyExhausted(types: readonly InstanceType[], claim: Wanted, obstacles: Obstacles): string {
  const fitting = fittingTypes(types, claim)
  const marks = new Map<string, { offerings: number; untilMs: number }>()
  const shortages = new Map<string, Shortage>()
  let offered = 0
  for (const type of fitting) {
    const size = obstacles.sizeOf(type.name)
    if (size === undefined) continue
    for (const offering of type.offerings) {
      if (!isCompatible(claim.requirements, offering.requirements, wellKnownLabels)) continue
      offered += 1
      const capacityType = capacityTypeOf(offering)
      const mark = obstacles.markOf({ instanceType: type.name, ...size, zone: zoneOf(offering), capacityType })
      if (mark !== undefined) {
        const known = marks.get(mark.reason) ?? { offerings: 0, untilMs: mark.untilMs }
        marks.set(mark.reason, { offerings: known.offerings + 1, untilMs: Math.min(known.untilMs, mark.untilMs) })
      }
      for (const shortage of obstacles.shortagesOf({ ...size, capacityType }))
        if (shortage.needed < (shortages.get(shortage.pool)?.needed ?? Number.POSITIVE_INFINITY))
          shortages.set(shortage.pool, shortage)
    }
  }
  if (offered === 0) return 'all requested instance types were unavailable during launch: none of the region fits'
  return [
    `all requested instance types were unavailable during launch: ${fitting.length} fit, in ${offered} offerings`,
    ...[...marks].map(
      ([reason, { offerings, untilMs }]) =>
        `${offerings} are marked ${reason}, the first until ${new Date(untilMs).toISOString().slice(0, 19)}Z (see "joiner blocked capacity list")`,
    ),
    ...[...shortages.values()].slice(0, shownAtMost).map(shortageText),
    ...(shortages.size > shownAtMost
      ? [`${shortages.size - shownAtMost} more quotas (see "joiner blocked quota")`]
      : []),
  ].join('; ')
}
