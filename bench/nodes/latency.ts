import { setTimeout as pause } from 'node:timers/promises'
import { standaloneClaim } from '../../test/applied-objects.ts'
import { claimsPath, World } from '../../test/world.ts'
import { circumstances, table } from '../report.ts'
import { percentile } from '../statistics.ts'
import { machineCpuSeconds, usages } from '../usage.ts'
import { putTimes, withoutArmLimits } from './lifecycle.ts'

/** What is asked for, in milliseconds. */
const goal = { medianMs: 50, p99Ms: 250 } as const

export interface LatencyOptions {
  readonly launches: number
  readonly perSecond: number
}

/**
 * From the request that creates a NodeClaim to the PUT of its VM, at a steady rate of launches: by this process's clock and the simulator's,
 * which are the machine's. VMs boot no kubelet, since nodes that join take more than two cores at such a rate.
 */
export async function latency({ launches, perSecond }: LatencyOptions): Promise<void> {
  const world = await World.start({ temporalInMemory: true })
  try {
    await world.startWithNodeClass(withoutArmLimits)
    await world.fault({ kind: 'neverJoins', count: launches + warmUp })
    await launch(world, 'warm', { launches: warmUp, perSecond })
    const [before, startMs] = [await cpu(world), Date.now()]
    const createdMs = await launch(world, 'measured', { launches, perSecond })
    const [after, tookMs] = [await cpu(world), Date.now() - startMs]
    const puts = await putTimes(world)
    const times = [...createdMs].map(([name, sentMs]) => (puts.get(name) ?? Number.NaN) - sentMs)
    console.log(
      report(times, {
        perSecond,
        own: (after.own - before.own) / (tookMs / 1000),
        strangers: (after.machine - after.own - before.machine + before.own) / (tookMs / 1000),
      }),
    )
  } finally {
    await world.stop()
  }
}

/** Launches that are not counted: what is compiled and connected once is no latency of a launch. */
const warmUp = 50

/** Creates claims at a steady rate, however long each takes. Returns when each was sent, once all VMs were asked for. */
async function launch(
  world: World,
  prefix: string,
  { launches, perSecond }: LatencyOptions,
): Promise<ReadonlyMap<string, number>> {
  const sentMs = new Map<string, number>()
  const startMs = Date.now()
  const requests: Promise<unknown>[] = []
  for (let index = 0; index < launches; index++) {
    await pause(Math.max(startMs + (index * 1000) / perSecond - Date.now(), 0))
    const name = `${prefix}-${index}`
    sentMs.set(name, Date.now())
    requests.push(world.operator.api('POST', claimsPath, standaloneClaim(name)))
  }
  await Promise.all(requests)
  await world.until(
    'all VMs are asked for',
    async () => {
      const puts = await putTimes(world)
      return [...sentMs.keys()].every((name) => puts.has(name))
    },
    120_000,
  )
  return sentMs
}

async function cpu(world: World): Promise<{ readonly own: number; readonly machine: number }> {
  const used = await usages({ ...world.cluster.supervisor.pids, 'this benchmark': process.pid })
  return {
    own: [...used.values()].reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
    machine: await machineCpuSeconds(),
  }
}

function report(
  times: readonly number[],
  { perSecond, own, strangers }: { readonly perSecond: number; readonly own: number; readonly strangers: number },
): string {
  const cell = (ms: number) => `${ms.toFixed(0)} ms`
  const cores = `${own.toFixed(1)}; ${Math.max(strangers, 0).toFixed(1)}`
  const rows = [
    ['measured', ...[50, 90, 99, 100].map((percent) => cell(percentile(times, percent))), cores],
    ['goal', `under ${cell(goal.medianMs)}`, '', `under ${cell(goal.p99Ms)}`, '', ''],
  ]
  const head = [
    `${times.length} launches, ${perSecond} a second`,
    'median',
    '90 %',
    '99 %',
    'slowest',
    'cores in use; by strangers',
  ]
  return `### NodeClaim created to VM PUT, ${circumstances()}\n\n${table(head, rows)}\n`
}
