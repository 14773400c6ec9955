import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { schedule } from '../../core/scheduling/schedule.ts'
import type { SchedulingPlan } from '../../core/scheduling/snapshot.ts'
import { readScenario } from './scenario.ts'

/** What a round took. The snapshot starts with parsed JSON; solving ends with finished claims. */
interface RoundTimes {
  readonly pods: number
  readonly snapshotMs: number
  readonly solveMs: number
  readonly nodes: number
  readonly errors: number
  readonly sumCheapestPrice: number
  /** The most memory of the process so far. */
  readonly peakRSSMiB: number
}

/** Solves a scenario as often as asked for, each time from its JSON, and returns the last plan. */
export function solveRounds(json: unknown, rounds: number, report: (times: RoundTimes) => void): SchedulingPlan {
  for (let round = 1; ; round += 1) {
    const started = performance.now()
    const { snapshot, options } = readScenario(json)
    const read = performance.now()
    const plan = schedule(snapshot, options)
    const solved = performance.now()
    report({
      pods: snapshot.pods.length,
      snapshotMs: read - started,
      solveMs: solved - read,
      nodes: plan.newNodeClaims.length,
      errors: plan.unschedulable.length,
      sumCheapestPrice: plan.newNodeClaims.reduce((sum, { price }) => sum + price, 0),
      peakRSSMiB: peakRSSMiB(),
    })
    if (round >= rounds) return plan
  }
}

/** Linux counts what the parent had before it started this process as the child's own maximum, except in this file. */
function peakRSSMiB(): number {
  try {
    const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    if (kib !== undefined) return Number(kib) / 1024
  } catch {
    // Other systems have no such file.
  }
  return process.resourceUsage().maxRSS / 1024
}
