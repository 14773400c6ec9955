/** Hours of a day. */
export const hours = 24
/** So many applications share the pods; each third of them needs spot nodes. */
export const apps = 24
/** Each app is deployed anew three times a day. */
const rolloutsPerHour = apps / 8

/** What a cluster is asked for in an hour. */
export interface Demand {
  /** Replicas of each app. */
  readonly replicas: readonly number[]
  /** Apps, by number, whose pods are all made anew. */
  readonly rollouts: readonly number[]
}

/** The share of the peak that runs in an hour: least at four in the morning, most at four in the afternoon. */
function shape(hour: number): number {
  return 0.65 - 0.35 * Math.cos(((hour - 4) / hours) * 2 * Math.PI)
}

/** A day in which about so many pods are made. */
export function demands(pods: number): readonly Demand[] {
  const perApp = pods / madeOfOne() / apps
  return Array.from({ length: hours }, (_, hour) => ({
    replicas: Array.from({ length: apps }, () => Math.max(1, Math.round(perApp * shape(hour)))),
    rollouts: rolloutsOf(hour),
  }))
}

/** How many pods a day makes, by its demands. */
export function madeIn(day: readonly Demand[]): number {
  return day.reduce((sum, { replicas, rollouts }, hour) => {
    const before = day[hour - 1]?.replicas
    const grown = replicas.map((count, app) => Math.max(0, count - (before?.[app] ?? 0)))
    return sum + grown.reduce((all, count) => all + count, 0) + rolledOut(replicas, rollouts)
  }, 0)
}

export const isSpot = (app: number) => app % 3 === 0
export const nameOf = (app: number) => `app-${app}`
/** Millicores. */
export const requestOf = (app: number) => [100, 150, 200, 300][app % 4] ?? 200

/** How many pods are made where one runs at the peak. */
function madeOfOne(): number {
  let made = 0
  for (let hour = 0; hour < hours; hour++) {
    made += Math.max(0, shape(hour) - (hour === 0 ? 0 : shape(hour - 1)))
    if (hour > 0) made += (shape(hour) * rolloutsPerHour) / apps
  }
  return made
}

function rolloutsOf(hour: number): readonly number[] {
  if (hour === 0) return []
  return Array.from({ length: rolloutsPerHour }, (_, at) => (hour * rolloutsPerHour + at) % apps)
}

function rolledOut(replicas: readonly number[], rollouts: readonly number[]): number {
  return rollouts.reduce((sum, app) => sum + (replicas[app] ?? 0), 0)
}
