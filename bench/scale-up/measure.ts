import { setTimeout } from 'node:timers/promises'
import { stringify } from 'yaml'
import { deployment } from '../../test/applied-objects.ts'
import { baseline, systemNode } from '../baseline.ts'
import { scale } from '../nodes/scale.ts'
import { Timeline } from '../nodes/timeline.ts'
import { cpuBetween, machineCpuSeconds, type Usage, usages } from '../usage.ts'
import type { Contender } from './contender.ts'
import { type Measured, watcher } from './measured.ts'

/**
 * Joiner's first process registers the conversion of the CRDs, after which the API server serves them anew and forgets watches. What a start costs is
 * the subject of `bench -- start`.
 */
const settleMs = 10_000

/** Measures a contender, and ends it with its servers. */
export async function measure(start: () => Promise<Contender>, pods: number): Promise<Measured> {
  const limitMs = 300_000 + pods * 2000
  const contender = await start()
  let timeline: Timeline | undefined
  try {
    await contender.operator.kubectl(['apply', '--server-side', '-f', '-'], stringify(deployment({ apart: true })))
    await systemNode(contender)
    timeline = await Timeline.start(contender.cluster)
    const baselineMs = await baseline(contender, timeline, pods, limitMs)
    await contender.begin()
    await setTimeout(settleMs)
    const up = await measureUp(contender, timeline, { pods, limitMs })
    const down = await measureDown(contender, timeline, limitMs)
    return { title: contender.title, controller: contender.controller, pods, baselineMs, ...up, ...down }
  } finally {
    await timeline?.stop()
    await contender.stop()
  }
}

async function measureUp(
  contender: Contender,
  timeline: Timeline,
  { pods, limitMs }: { readonly pods: number; readonly limitMs: number },
) {
  const [before, machineBefore] = [await allUsages(contender), await machineCpuSeconds()]
  const startMs = await scale(contender, pods)
  await timeline.until(`${pods} pods run`, () => timeline.now('pods', 'podRunning') === pods, limitMs)
  const [after, machineAfter] = [await allUsages(contender), await machineCpuSeconds()]
  const cpuUp = cpuBetween(before, after)
  const since = (ms: number | undefined) => (ms === undefined ? undefined : ms - startMs)
  const { lastVmAcceptedMs, plans } = await contender.told(startMs)
  const upMs = since(timeline.last('podRunning')) ?? 0
  return {
    upMs,
    stages: {
      'last pod created': since(timeline.last('podCreated')),
      'first NodeClaim': since(timeline.first('claimCreated')),
      'last NodeClaim': since(timeline.last('claimCreated')),
      'last VM accepted': since(lastVmAcceptedMs),
      'last Node created': since(timeline.last('nodeCreated')),
      'last Node usable': since(timeline.last('nodeUsable')),
      'last pod Running': upMs,
      // Its lateness is known only once it has come.
      'last NodeClaim registered': since(await lastRegistered(timeline, pods, limitMs)),
    },
    nodes: timeline.present('nodes'),
    replaced: timeline.count('podCreated') - pods,
    ...(plans === undefined ? {} : { plans }),
    cpuUp,
    strangersCpuUp: Math.max(machineAfter - machineBefore - cpuUp.reduce((sum, [, used]) => sum + used, 0), 0),
  }
}

async function lastRegistered(timeline: Timeline, pods: number, limitMs: number): Promise<number | undefined> {
  await timeline.until(
    'every NodeClaim is registered',
    () => timeline.now('nodeClaims', 'claimRegistered') >= pods,
    limitMs,
  )
  return timeline.last('claimRegistered')
}

async function measureDown(contender: Contender, timeline: Timeline, limitMs: number) {
  const before = await allUsages(contender)
  const startMs = await scale(contender, 0)
  const isEmpty = () => timeline.present('nodeClaims') === 0 && timeline.present('nodes') === 0
  const goneMs = await timeline.until('NodeClaims and Nodes are gone', isEmpty, limitMs)
  await contender.checkLeft()
  const after = await allUsages(contender)
  return {
    downMs: goneMs - startMs,
    downStages: {
      'first Node tainted': (timeline.first('nodeTainted') ?? startMs) - startMs,
      'last Node tainted': (timeline.last('nodeTainted') ?? startMs) - startMs,
    },
    cpuDown: cpuBetween(before, after),
    peakRssMiB: new Map([...after].map(([name, usage]) => [name, usage.peakRssMiB] as const)),
  }
}

/** Of all servers, of the controller, and of this process, which watches. */
function allUsages({ cluster }: Contender): Promise<ReadonlyMap<string, Usage>> {
  return usages({ ...cluster.supervisor.pids, [watcher]: process.pid })
}
