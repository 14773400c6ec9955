import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { type ExplainedPlan, explainedPlan } from '../../../core/scheduling/schedule.ts'
import type { SchedulingSnapshot } from '../../../core/scheduling/snapshot.ts'
import type { Scenario } from './scenario.ts'

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

export interface Solved {
  readonly explained: ExplainedPlan
  readonly snapshot: SchedulingSnapshot
}

/** Solves a problem as often as asked for, each time from its JSON, and returns the last answer. */
export function solveRounds(read: () => Scenario, rounds: number, report: (times: RoundTimes) => void): Solved {
  for (let round = 1; ; round += 1) {
    const started = performance.now()
    const { snapshot, options } = read()
    const ready = performance.now()
    const explained = explainedPlan(snapshot, options)
    const solved = performance.now()
    const { plan } = explained
    report({
      pods: snapshot.pods.length,
      snapshotMs: ready - started,
      solveMs: solved - ready,
      nodes: plan.newNodeClaims.length,
      errors: plan.unschedulable.length,
      sumCheapestPrice: plan.newNodeClaims.reduce((sum, { price }) => sum + price, 0),
      peakRSSMiB: peakRSSMiB(),
    })
    if (round >= rounds) return { explained, snapshot }
  }
}

/** Linux counts what the parent had before it started this process as the child's own maximum, except in this file. */
export function peakRSSMiB(): number {
  try {
    const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    if (kib !== undefined) return Number(kib) / 1024
  } catch {
    // Other systems have no such file.
  }
  return process.resourceUsage().maxRSS / 1024
}
