import { expect } from 'vitest'
import type { StopPoint } from '../network.ts'
import { type LifeOptions, live } from './life.ts'

/** Requests that change nothing, whose loss can only delay. */
const reads =
  /^(get|list|listPages|GET|version|serverDate) |^(version|serverDate)|^temporal (describe|get|list|query|count)/
/** Leases that are renewed all the time: a loss of one is a change of the leader, which has a suite of its own. */
const renewals = /^mergePatch \S*leases\/joiner-(bridge|planner|maintenance)$/

/** The writes of an untroubled life, by their numbers among all requests. */
async function writesOf(options: LifeOptions): Promise<ReadonlyMap<number, string>> {
  const { requests, wrong } = await live(options)
  expect(wrong).toEqual([])
  const numbered = requests.map((request, at) => [at + 1, request] as const)
  return new Map(numbered.filter(([, request]) => !reads.test(request) && !renewals.test(request)))
}

/**
 * Lives a node's life once for each of its writes, in which the process that sends it ends there, and another begins. Returns the rows that went wrong,
 * with what was wrong, and how many there were.
 */
export async function killAtEachWrite(
  point: StopPoint,
  options: LifeOptions = {},
): Promise<{ readonly rows: number; readonly wrong: readonly string[] }> {
  const writes = await writesOf(options)
  const wrong: string[] = []
  for (const [request, name] of writes) {
    const problems = await live({ ...options, kill: { request, point } }).then(
      (life) => life.wrong,
      (error: Error) => [error.message],
    )
    if (problems.length > 0) wrong.push(`${point} ${request} ${name}: ${problems.join('; ')}`)
  }
  return { rows: writes.size, wrong }
}
