import { readdirSync, readFileSync } from 'node:fs'

/** The kernel counts processor time in hundredths of a second. */
const ticksInSecond = 100

interface Process {
  readonly parent: number
  /** Its own processor time and that of its children that have ended, in s. */
  readonly seconds: number
}

/** Processor time in s of this process and of all that it has started and not lost. Undefined where there is no `/proc`. */
export function cpuSecondsOfTree(): number | undefined {
  const all = processes()
  if (!all.has(process.pid)) return undefined
  const isOurs = (pid: number): boolean => {
    if (pid === process.pid) return true
    const parent = all.get(pid)?.parent ?? 0
    return parent > 1 && isOurs(parent)
  }
  return [...all].reduce((sum, [pid, { seconds }]) => (isOurs(pid) ? sum + seconds : sum), 0)
}

function processes(): ReadonlyMap<number, Process> {
  const found = new Map<number, Process>()
  for (const name of directory('/proc')) {
    const one = /^\d+$/.test(name) ? processOf(name) : undefined
    if (one !== undefined) found.set(Number(name), one)
  }
  return found
}

function directory(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

/** Undefined: it has ended. */
function processOf(pid: string): Process | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the command is in brackets and may contain blanks. Behind it: state, parent, and from the 12th on the times.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return { parent: Number(fields[1]), seconds: ticks / ticksInSecond }
  } catch {
    return undefined
  }
}
