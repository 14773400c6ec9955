// Kills what a supervisor leaves behind. It reads process ids from its standard input, which is a pipe from the supervisor:
// when the supervisor ends for whatever reason, kill -9 included, the pipe closes, and every process still listed is killed.
import { createInterface } from 'node:readline'

const pids = new Set<number>()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

for await (const line of createInterface({ input: process.stdin })) {
  const [word, text] = line.split(' ')
  const pid = Number(text)
  if (word === 'add') pids.add(pid)
  if (word === 'remove') pids.delete(pid)
}
for (const pid of pids) {
  try {
    // Each child leads its own process group, so what it started goes with it.
    process.kill(-pid, 'SIGKILL')
  } catch {}
}
