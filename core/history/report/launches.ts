import type { TimeRange } from '../../cost/bill.ts'
import type { Life } from '../life.ts'
import { type Spread, spreadOf, type Weighted, weightedSpread } from './spread.ts'
import { endOf, inOrder, isWithin, noPool } from './window.ts'

/** How NodeClaims that were created within the window came to be ready. `created` is the sum of the four that follow. */
export interface LaunchCounts {
  readonly created: number
  readonly ready: number
  readonly underWay: number
  readonly gaveUp: number
  /** Deleted before they were ready, for another reason. */
  readonly leftEarly: number
}

/** Latencies of NodeClaims of one NodePool and size, in ms. A step is absent where a time of it is not known. */
export interface LaunchLatency {
  readonly nodePool: string
  readonly instanceType: string
  readonly ready: number
  readonly steps: Readonly<Partial<Record<LaunchStep, Spread>>>
}

/** `accepted`: from the NodeClaim's creation; `registered` and `initialized`: from the step before; `total`: from creation to ready. */
type LaunchStep = (typeof launchSteps)[number]

const launchSteps = ['accepted', 'registered', 'initialized', 'total'] as const

export function launchCounts(lives: readonly Life[], window: TimeRange): LaunchCounts {
  const created = createdIn(lives, window)
  const unready = created.filter(({ readyMs }) => readyMs === undefined)
  const gone = unready.filter((life) => endOf(life) < window.toMs)
  const gaveUp = gone.filter(({ went }) => went?.kind === 'gave-up').length
  return {
    created: created.length,
    ready: created.length - unready.length,
    underWay: unready.length - gone.length,
    gaveUp,
    leftEarly: gone.length - gaveUp,
  }
}

/** Returns the latencies of NodeClaims that became ready, by NodePool and size. `all` are those of all of them; undefined when there are none. */
export function launchLatencies(
  lives: readonly Life[],
  window: TimeRange,
): { readonly all?: LaunchLatency; readonly rows: readonly LaunchLatency[] } {
  const ready = createdIn(lives, window).filter(({ readyMs }) => readyMs !== undefined)
  if (ready.length === 0) return { rows: [] }
  const rows = [...Map.groupBy(ready, (life) => JSON.stringify([life.nodePool ?? noPool, sizeOf(life)]))].map(
    ([key, own]) => {
      const [nodePool = '', instanceType = ''] = JSON.parse(key) as readonly string[]
      return latencyOf(nodePool, instanceType, own)
    },
  )
  return {
    all: latencyOf('', '', ready),
    rows: rows.sort(
      inOrder(
        ({ nodePool }) => nodePool,
        ({ instanceType }) => instanceType,
      ),
    ),
  }
}

/** Returns how long pods waited at least that were planned onto NodeClaims of the window: until the node was ready, in ms. One value for each pod. */
export function plannedWaits(lives: readonly Life[], window: TimeRange): Spread | undefined {
  return weightedSpread(
    createdIn(lives, window).flatMap((life): readonly Weighted[] => {
      const { came, createdMs, readyMs } = life
      return came.kind !== 'pods' || readyMs === undefined
        ? []
        : [{ value: Math.max(0, readyMs - createdMs), weight: came.pods }]
    }),
  )
}

function createdIn(lives: readonly Life[], window: TimeRange): readonly Life[] {
  return lives.filter(({ createdMs }) => isWithin(window, createdMs))
}

/** The VM that became the node is the last one: those before it failed. */
function sizeOf({ vms }: Life): string {
  return vms.at(-1)?.instanceType ?? 'unknown'
}

function latencyOf(nodePool: string, instanceType: string, lives: readonly Life[]): LaunchLatency {
  const steps: Partial<Record<LaunchStep, Spread>> = {}
  for (const step of launchSteps) {
    const spread = spreadOf(lives.flatMap((life) => latency(life, step) ?? []))
    if (spread !== undefined) steps[step] = spread
  }
  return { nodePool, instanceType, ready: lives.length, steps }
}

/** Kubernetes keeps whole seconds and Azure's answer has milliseconds, so a quick step may seem to end before it began: it took no time. */
function latency({ createdMs, registeredMs, readyMs, vms }: Life, step: LaunchStep): number | undefined {
  const acceptedMs = vms.at(-1)?.fromMs
  const [from, to] = {
    accepted: [createdMs, acceptedMs],
    registered: [acceptedMs, registeredMs],
    initialized: [registeredMs, readyMs],
    total: [createdMs, readyMs],
  }[step]
  return from === undefined || to === undefined ? undefined : Math.max(0, to - from)
}
