import { readFile } from 'node:fs/promises'

/** What the kernel counts in; 100 on every Linux that Node runs on. */
const ticksPerSecond = 100

export interface Usage {
  readonly cpuSeconds: number
  readonly peakRssMiB: number
  readonly rssMiB: number
}

/** What a process has used since it started (Linux). A process that is gone has used nothing. */
async function usageOf(pid: number): Promise<Usage> {
  try {
    const [stat, status] = await Promise.all(['stat', 'status'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8')))
    // The name, in parentheses, may hold spaces. utime and stime are the fields 14 and 15.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
    const ticks = Number(fields[11]) + Number(fields[12])
    const mebibytes = (field: string) =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status ?? '')?.[1] ?? 0) / 1024
    return { cpuSeconds: ticks / ticksPerSecond, peakRssMiB: mebibytes('VmHWM'), rssMiB: mebibytes('VmRSS') }
  } catch {
    return { cpuSeconds: 0, peakRssMiB: 0, rssMiB: 0 }
  }
}

/** Usage of several processes, by name. */
export async function usages(pids: Readonly<Record<string, number>>): Promise<ReadonlyMap<string, Usage>> {
  const read = Object.entries(pids).map(async ([name, pid]) => [name, await usageOf(pid)] as const)
  return new Map(await Promise.all(read))
}

/** CPU seconds that the whole machine has spent since it started. */
export async function machineCpuSeconds(): Promise<number> {
  const [line = ''] = (await readFile('/proc/stat', 'utf8')).split('\n')
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line.trim().split(/\s+/).slice(1).map(Number)
  return (user + nice + system + irq + softirq) / ticksPerSecond
}

/** CPU seconds between two readings, by process, the hungriest first. */
export function cpuBetween(
  before: ReadonlyMap<string, Usage>,
  after: ReadonlyMap<string, Usage>,
): readonly (readonly [string, number])[] {
  return [...after]
    .map(([name, usage]) => [name, usage.cpuSeconds - (before.get(name)?.cpuSeconds ?? 0)] as const)
    .toSorted(([, a], [, b]) => b - a)
}
