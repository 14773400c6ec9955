// Whose turn it is to launch while Azure refuses what an AKSNodeClass asks for (docs/adr/0037-refusals-of-a-class.md).

import type { NodeClass } from '../../../api/objects.ts'
import { capacityTypeOf, type Offering } from '../../../core/instance-type.ts'
import { NotItsTurn } from '../arm/azure-failure.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { OfferingTest } from '../capacity/choose-offering.ts'
import type { AzureParts } from '../parts.ts'
import { classMarkOf } from './class-marks.ts'
import { stateOf } from './class-refusals.ts'
import { hasTurn, type Tried, turnOf, withTurn } from './class-turns.ts'
import { commonRefusalMessage } from './learn-refusal.ts'

export type LaunchTurnDeps = Pick<AzureParts, 'now' | 'unavailable' | 'config' | 'catalogue' | 'cache'>

export interface ClassLaunch {
  readonly nodeClass: string
  /** Of class and settings: another state may be accepted. */
  readonly state: string
  /** Its own turn; empty while launches of the class need none. */
  readonly turn: string
}

/** Longest wait before a launch is considered again. */
const longestWaitMs = 60_000

/** Returns the state of what a launch asks Azure for besides size and zone. */
export function stateOfClass({ metadata, status }: NodeClass, config: AzureConfig): string {
  const { vnetGuid: _, ...settings } = config
  const versions = [...(config.apiVersions ?? [])]
  const images = status.images.map(({ id }) => id)
  return stateOf([metadata.uid, metadata.generation, images, status.kubernetesVersion, settings, versions])
}

/**
 * Returns what was tried of a class whose launches go one at a time; undefined while they need no turn. Errors: `NotItsTurn` while it is another's turn.
 */
export function turnToTake(deps: LaunchTurnDeps, launch: ClassLaunch): { readonly tried?: Tried } | undefined {
  const { unavailable, now } = deps
  const turn = turnOf(unavailable.remembered, launch.nodeClass, { nowMs: now(), state: launch.state })
  if (turn.kind === 'wait') throw notItsTurn(deps, launch, turn.untilMs)
  return turn.kind === 'turn' ? turn : undefined
}

/** Takes the turn for a launch, for every replica. Errors: `NotItsTurn` when another launch was given it; those of the API server. */
export async function takeTurn(
  deps: LaunchTurnDeps,
  launch: ClassLaunch,
  { typeName, capacityType }: { readonly typeName: string; readonly capacityType: string },
): Promise<void> {
  const { nodeClass, state, turn } = launch
  const family = deps.catalogue.size(typeName)?.family ?? ''
  const marks = await deps.unavailable.change((before, nowMs) =>
    withTurn(before, nodeClass, { turn, nowMs, state, family, capacityType }),
  )
  const nowMs = deps.now()
  if (hasTurn(marks, nodeClass, { turn, nowMs })) return
  const next = turnOf(marks, nodeClass, { nowMs, state })
  if (next.kind !== 'free') throw notItsTurn(deps, launch, next.kind === 'wait' ? next.untilMs : nowMs)
}

/** Holds a launch back that was let through before Azure refused others of its class. Errors: `NotItsTurn`. */
export function keepTurn(deps: LaunchTurnDeps, launch: ClassLaunch): void {
  const { nodeClass, state, turn } = launch
  const nowMs = deps.now()
  const { remembered: marks } = deps.unavailable
  const next = turnOf(marks, nodeClass, { nowMs, state })
  if (next.kind === 'free' || (turn !== '' && hasTurn(marks, nodeClass, { turn, nowMs }))) return
  throw notItsTurn(deps, launch, next.kind === 'wait' ? next.untilMs : nowMs)
}

/** Resolves when launches of a class may go again before the time that was named. */
export async function turnComes(deps: LaunchTurnDeps, name: string, signal: AbortSignal): Promise<void> {
  const isDue = () => {
    const nodeClass = deps.cache.nodeClasses.get(name)
    if (nodeClass === undefined) return true
    const state = stateOfClass(nodeClass, deps.config)
    return turnOf(deps.unavailable.remembered, name, { nowMs: deps.now(), state }).kind !== 'wait'
  }
  const cleared = new AbortController()
  const end = deps.unavailable.onChanged(() => isDue() && cleared.abort())
  const both = AbortSignal.any([signal, cleared.signal])
  try {
    while (!both.aborted && !isDue()) {
      const concerns = ({ kind }: { readonly kind: string }) => kind === 'AKSNodeClass' && isDue()
      await deps.cache.changeWithin(longestWaitMs, concerns, both)
    }
  } catch (error) {
    if (!cleared.signal.aborted) throw error
  } finally {
    end()
  }
}

/** Returns which offerings a launch prefers, the strictest first, so that no turn repeats what was tried. */
export function untriedFirst({ catalogue }: LaunchTurnDeps, tried: Tried): readonly OfferingTest[] {
  const isNewType = (offering: Offering) => !tried.capacityTypes.has(capacityTypeOf(offering))
  const isNewFamily: OfferingTest = (_, { name }) => !tried.families.has(catalogue.size(name)?.family ?? '')
  const isNewSize: OfferingTest = (_, { name }) => !tried.sizes.has(name)
  return [
    (offering, type) => isNewType(offering) && isNewFamily(offering, type) && isNewSize(offering, type),
    (offering, type) => isNewType(offering) && isNewSize(offering, type),
    (offering, type) => isNewFamily(offering, type) && isNewSize(offering, type),
    isNewSize,
    isNewFamily,
  ]
}

function notItsTurn({ unavailable, now }: LaunchTurnDeps, { nodeClass }: ClassLaunch, untilMs: number): NotItsTurn {
  const nowMs = now()
  const mark = classMarkOf(unavailable.marks, nodeClass, nowMs)
  const message =
    mark === undefined
      ? `Azure refused a size of AKSNodeClass ${nodeClass} without naming it as the cause; one launch is tried before all others`
      : commonRefusalMessage(mark)
  return new NotItsTurn(message, { waitMs: untilMs - nowMs, isBrief: mark === undefined })
}
