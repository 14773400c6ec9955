import type { ChaosPlan } from './plan.ts'

/** Whether a plan still goes wrong in the same way. */
type Fails = (plan: ChaosPlan) => Promise<boolean>

const mostRuns = 200

/** Returns the shortest form of a plan that still fails: fewer troubles, fewer workloads and NodePools, less time, one process. */
export async function shortest(plan: ChaosPlan, fails: Fails): Promise<ChaosPlan> {
  let runs = 0
  const tried: Fails = async (candidate) => runs++ < mostRuns && fails(candidate)
  let smallest = plan
  for (let before: ChaosPlan | undefined; before !== smallest; ) {
    before = smallest
    for (const list of ['timeline', 'workloads', 'pools'] as const) smallest = await withFewer(smallest, list, tried)
    smallest = await simpler(smallest, tried)
  }
  return smallest
}

/** Leaves out ever smaller parts of a list. One NodePool stays. */
async function withFewer(plan: ChaosPlan, list: 'timeline' | 'workloads' | 'pools', fails: Fails): Promise<ChaosPlan> {
  let smallest = plan
  for (let size = smallest[list].length; size >= 1; size = Math.floor(size / 2))
    for (let at = 0; at < smallest[list].length; ) {
      const rest = smallest[list].toSpliced(at, size)
      const candidate = { ...smallest, [list]: rest }
      if ((list !== 'pools' || rest.length > 0) && (await fails(candidate))) smallest = candidate
      else at += size
    }
  return smallest
}

async function simpler(plan: ChaosPlan, fails: Fails): Promise<ChaosPlan> {
  let smallest = plan
  const candidates: readonly ((plan: ChaosPlan) => ChaosPlan)[] = [
    halved,
    (one) => ({ ...one, replicas: 1 }),
    (one) => ({
      ...one,
      workloads: one.workloads.map((workload) => ({ ...workload, replicas: Math.min(workload.replicas, 1) })),
    }),
  ]
  for (const change of candidates)
    for (;;) {
      const candidate = change(smallest)
      if (JSON.stringify(candidate) === JSON.stringify(smallest) || !(await fails(candidate))) break
      smallest = candidate
    }
  return smallest
}

/** Half of the time: what came later is left out. */
function halved(plan: ChaosPlan): ChaosPlan {
  const minutes = Math.floor(plan.minutes / 2)
  return { ...plan, minutes, timeline: plan.timeline.filter(({ atMs }) => atMs < minutes * 60_000) }
}
