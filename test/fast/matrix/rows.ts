import { expect } from 'vitest'
import type { StopPoint } from '../network.ts'
import { type LifeOptions, live } from './life.ts'

/** Requests that change nothing, whose loss can only delay. */
const reads =
  /^(get|list|listPages|GET|version|serverDate) |^(version|serverDate)|^temporal (describe|get|list|query|count)/
/** Leases that are renewed all the time: a loss of one is a change of the leader, which has a suite of its own. */
const renewals = /^mergePatch \S*leases\/joiner-(bridge|planner|maintenance)$/

/** Whether a request changes something whose loss is a state of its own. */
export const isWrite = (request: string) => !reads.test(request) && !renewals.test(request)

/** How much later than without a kill a life may end: a process is back after 3 s, and takes what its predecessor had in hand within 10. */
const mostLateMs = 15_000

/** The writes of an untroubled life, by their numbers among all requests, and when it ends. */
async function untroubled(
  options: LifeOptions,
): Promise<{ readonly writes: ReadonlyMap<number, string>; readonly endMs: number }> {
  const { requests, wrong, endMs } = await live(options)
  expect(wrong).toEqual([])
  const numbered = requests.map((request, at) => [at + 1, request] as const)
  return { writes: new Map(numbered.filter(([, request]) => isWrite(request))), endMs }
}

/**
 * Lives a node's life once for each of its writes, in which the process that sends it ends there, and another begins. Returns the rows that went wrong or
 * took too long, with what was wrong, and how many there were.
 */
export async function killAtEachWrite(
  point: StopPoint,
  options: LifeOptions = {},
): Promise<{ readonly rows: number; readonly wrong: readonly string[] }> {
  const { writes, endMs } = await untroubled(options)
  const wrong: string[] = []
  for (const [request, name] of writes) {
    const problems = await live({ ...options, kill: { request, point } }).then(
      (life) => [...life.wrong, ...(life.endMs > endMs + mostLateMs ? [`${(life.endMs - endMs) / 1000} s late`] : [])],
      (error: Error) => [error.message],
    )
    if (problems.length > 0) wrong.push(`${point} ${request} ${name}: ${problems.join('; ')}`)
  }
  return { rows: writes.size, wrong }
}
