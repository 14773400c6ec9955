import type { Life, LifeFacts } from '../../../core/history/life.ts'
import { birthText, deathText } from '../../../core/history/texts.ts'
import { counted } from '../../document/words.ts'
import type { TimelineStep } from '../contract.ts'

interface Mark {
  readonly phase: TimelineStep['phase']
  readonly atMs: number | undefined
  readonly text: string
}

/** The phases of a life, each from its start to that of the next one. */
export function timelineOf(life: Life): readonly TimelineStep[] {
  const { createdMs, registeredMs, readyMs, drainingMs, endedMs, drainedPods, went } = life
  const vm = life.vms.at(-1)
  const marks: readonly Mark[] = [
    { phase: 'Launching', atMs: createdMs, text: `created, ${birthText(life.came)}${launchText(life)}` },
    {
      phase: 'Registering',
      atMs: vm?.fromMs,
      text: `Azure accepted the VM: ${vm?.instanceType} ${vm?.capacityType} in ${vm?.zone || 'no zone'}`,
    },
    { phase: 'Initializing', atMs: registeredMs, text: `its Node ${life.node ?? ''} joined`.replace('  ', ' ') },
    { phase: 'Ready', atMs: readyMs, text: 'ready for pods' },
    {
      phase: 'Draining',
      atMs: drainingMs,
      text: `${went === undefined ? 'leaves' : deathText(went)}${drainedPods === undefined ? '' : `; ${counted(drainedPods, 'pod')} moved`}`,
    },
    { phase: 'Gone', atMs: endedMs, text: went === undefined ? 'ended' : deathText(went) },
  ]
  return stepsOf(marks, endedMs)
}

/** A life has marks in the order of time, but for clocks of several machines: what would end before it begins lasts no time. */
function stepsOf(marks: readonly Mark[], endedMs: number | undefined): readonly TimelineStep[] {
  const there = marks.flatMap(({ atMs, ...mark }) => (atMs === undefined ? [] : [{ ...mark, atMs }]))
  return there.map(({ phase, atMs, text }, at) => {
    const toMs = there[at + 1]?.atMs ?? endedMs
    return { phase, fromMs: atMs, text, ...(toMs === undefined ? {} : { toMs: Math.max(atMs, toMs) }) }
  })
}

function launchText({ attempts, refused, vms }: LifeFacts): string {
  const tries = attempts > 1 ? `; ${attempts} launch attempts` : ''
  const refusals = refused.map(
    ({ instanceType, zone, capacityType, reason }) =>
      `${instanceType} ${capacityType} in ${zone || 'no zone'} (${reason})`,
  )
  const lost = vms.length > 1 ? `; ${counted(vms.length - 1, 'VM')} failed before` : ''
  return `${tries}${refusals.length === 0 ? '' : `; Azure refused ${refusals.join(', ')}`}${lost}`
}

/** What a life has cost by `now`, in USD; undefined where a price is not known. */
export function costOf({ vms }: LifeFacts, now: number): number | undefined {
  let sum = 0
  for (const { pricePerHour, fromMs, toMs = now } of vms) {
    if (pricePerHour === undefined) return undefined
    sum += (pricePerHour * Math.max(0, toMs - fromMs)) / 3_600_000
  }
  return sum
}
