import { nextTurn } from '../virtual-clock.ts'
import type { FastWorld } from './fast-world.ts'
import { areImportsUnderWay } from './imports.ts'

let current: FastWorld | undefined

/** From now on time passes in this world while a scenario waits; undefined: in none. */
export function letTimePassIn(world: FastWorld | undefined): void {
  current = world
}

let real = 0

/** Waits for what takes real time, such as a thread or a file, while no virtual time passes. */
export async function inNoTime<T>(work: () => Promise<T>): Promise<T> {
  real += 1
  try {
    return await work()
  } finally {
    real -= 1
  }
}

let loading = 0

/** Does what loads code when it needs it, as commands do: while it loads, no virtual time passes. */
export async function loadingInNoTime<T>(work: () => Promise<T>): Promise<T> {
  loading += 1
  try {
    return await work()
  } finally {
    loading -= 1
  }
}

/** Most virtual time that one test may take, unless it says otherwise. */
const usuallyMs = 48 * 3_600_000

/**
 * Does something while time passes in the world that there is. Each moment begins when all that followed from the one before has come to rest, so the same
 * work takes the same course, for at most `longestMs` of virtual time. Errors: those of the work; a workflow task that failed; nothing is due any more.
 */
export async function passing<T>(work: () => T | Promise<T>, longestMs = usuallyMs): Promise<T> {
  let outcome: PromiseSettledResult<T> | undefined
  void Promise.allSettled([Promise.resolve().then(work)]).then(([settled]) => {
    outcome = settled
  })
  let endMs: number | undefined
  for (;;) {
    await nextTurn()
    if (outcome?.status === 'fulfilled') return outcome.value
    if (outcome?.status === 'rejected') throw outcome.reason
    if (current === undefined || real > 0 || (loading > 0 && areImportsUnderWay())) continue
    const { clock } = current.time
    endMs ??= clock.now() + longestMs
    current.throwFailures()
    if (!clock.step(endMs)) throw new Error(`the scenario does not end, and nothing more is due within ${longestMs} ms`)
  }
}
