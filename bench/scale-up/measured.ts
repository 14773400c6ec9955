// What a scale-up measures, and how it is told.
import { seconds, table } from '../report.ts'

/** This process, which watches, among those whose CPU is counted. */
export const watcher = 'this benchmark'

/** CPU seconds by process. */
type Cpu = readonly (readonly [string, number])[]

export interface Measured {
  readonly title: string
  /** Name of the controller's process. */
  readonly controller: string
  readonly pods: number
  readonly nodes: number
  readonly baselineMs: number
  readonly upMs: number
  readonly downMs: number
  /** Milliseconds after the scale request, in the order in which they are reached. Undefined: this contender has no such stage. */
  readonly stages: Readonly<Record<string, number | undefined>>
  /** The same of the way down. */
  readonly downStages: Readonly<Record<string, number>>
  /** Absent: it does not say. */
  readonly plans?: { readonly count: number; readonly solveMs: number }
  /** Pods that were deleted before all ran, and made again by their ReplicaSet. */
  readonly replaced: number
  /** The hungriest first. */
  readonly cpuUp: Cpu
  readonly cpuDown: Cpu
  /** CPU seconds of the scale-up spent by whatever else runs on the machine; if it is much, the figures are worth little. */
  readonly strangersCpuUp: number
  /** By process, over its whole life. */
  readonly peakRssMiB: ReadonlyMap<string, number>
}

interface Row {
  readonly name: string
  readonly cell: (measured: Measured) => string
  /** What is compared; absent: nothing to compare. */
  readonly value?: (measured: Measured) => number | undefined
}

/** A table with a column for each run. */
export function measuredTable(results: readonly Measured[]): string {
  const head = results.map((result) => `${result.title}: ${sizeOf(result)}`)
  const rows = rowsOf(results).map(({ name, cell }) => [name, ...results.map(cell)])
  return table(['', ...head], rows)
}

/** A table of runs of one size: the peer's, then each other's with its ratio to the peer. */
export function comparedTable(peer: Measured, others: readonly Measured[]): string {
  const head = [sizeOf(peer), peer.title, ...others.flatMap(({ title }) => [title, 'ratio'])]
  const rows = rowsOf([peer, ...others]).map(({ name, cell, value }) => [
    name,
    cell(peer),
    ...others.flatMap((other) => [cell(other), ratio(value?.(other), value?.(peer))]),
  ])
  return table(head, rows)
}

function rowsOf(results: readonly Measured[]): readonly Row[] {
  const stages = Object.keys(results[0]?.stages ?? {})
  const downStages = Object.keys(results[0]?.downStages ?? {})
  return [
    { ...figure('**scale request to last pod Running**', seconds, ({ upMs }) => upMs), cell: bold(({ upMs }) => upMs) },
    figure('baseline: same pods, nodes already there', seconds, ({ baselineMs }) => baselineMs),
    figure('its share (the difference)', seconds, ({ upMs, baselineMs }) => upMs - baselineMs),
    ...stages.map((stage) => figure(`... ${stage}`, seconds, (measured) => measured.stages[stage])),
    {
      name: '... plans, time in the planner',
      cell: ({ plans }) => (plans ? `${plans.count}, ${seconds(plans.solveMs)}` : ''),
    },
    { name: '... nodes when all pods ran', cell: ({ nodes }) => String(nodes) },
    { name: '... pods deleted and made again meanwhile', cell: ({ replaced }) => String(replaced) },
    {
      ...figure('**scale to 0 until no node is left**', seconds, ({ downMs }) => downMs),
      cell: bold(({ downMs }) => downMs),
    },
    ...downStages.map((stage) => figure(`... ${stage}`, seconds, (measured) => measured.downStages[stage])),
    figure("the controller's CPU, up", cpuText, ({ cpuUp, controller }) => used(cpuUp, controller)),
    figure("the controller's CPU, down", cpuText, ({ cpuDown, controller }) => used(cpuDown, controller)),
    figure("the controller's peak RSS", mebibytes, (measured) => rss(measured, [measured.controller])),
    figure('peak RSS with Temporal', mebibytes, (measured) => rss(measured, [measured.controller, 'temporal'])),
    figure('CPU of controller and servers, up', cpuText, ({ cpuUp }) => total(cpuUp)),
    ...serversOf(results, 'cpuUp').map((name) => figure(`... ${name}`, cpuText, ({ cpuUp }) => used(cpuUp, name))),
    figure('CPU of controller and servers, down', cpuText, ({ cpuDown }) => total(cpuDown)),
    ...serversOf(results, 'cpuDown').map((name) =>
      figure(`... ${name}, down`, cpuText, ({ cpuDown }) => used(cpuDown, name)),
    ),
    { name: 'cores in use, up', cell: ({ cpuUp, upMs }) => cores(sum(cpuUp), upMs) },
    { name: 'cores in use by strangers, up', cell: ({ strangersCpuUp, upMs }) => cores(strangersCpuUp, upMs) },
  ]
}

function figure(name: string, text: (value: number) => string, value: NonNullable<Row['value']>): Row {
  const cell = (measured: Measured) => {
    const found = value(measured)
    return found === undefined ? '' : text(found)
  }
  return { name, cell, value }
}

const bold = (ms: (measured: Measured) => number) => (measured: Measured) => `**${seconds(ms(measured))}**`

function sizeOf({ pods }: Measured): string {
  return `${pods} pods, ${pods} nodes`
}

function ratio(value: number | undefined, base: number | undefined): string {
  return value === undefined || base === undefined || base <= 0 ? '' : (value / base).toFixed(2)
}

/** Undefined: there is no such process. */
function used(cpu: Cpu, process: string): number | undefined {
  return cpu.find(([name]) => name === process)?.[1]
}

/** Who took CPU to speak of on one way, without controllers and the one that watches. */
function serversOf(results: readonly Measured[], way: 'cpuUp' | 'cpuDown'): readonly string[] {
  const names = results.flatMap(({ [way]: cpu, controller }) =>
    cpu.filter(([name, seconds]) => name !== controller && seconds >= 0.05).map(([name]) => name),
  )
  return [...new Set(names)].filter((name) => name !== watcher)
}

const sum = (cpu: Cpu) => cpu.reduce((all, [, seconds]) => all + seconds, 0)

/** Of all but the one that watches. */
const total = (cpu: Cpu) => sum(cpu) - (used(cpu, watcher) ?? 0)

const rss = ({ peakRssMiB }: Measured, names: readonly string[]) =>
  names.reduce((all, name) => all + (peakRssMiB.get(name) ?? 0), 0)

const cpuText = (value: number) => `${value.toFixed(1)} s`
const mebibytes = (value: number) => `${value.toFixed(0)} MiB`
const cores = (cpuSeconds: number, ms: number) => (cpuSeconds / (ms / 1000)).toFixed(1)
