import { totalmem } from 'node:os'
import { Gauge, type Registry, register } from 'prom-client'

interface ObservedProcess {
  readonly roles: readonly string[]
  /** Reasons why it cannot do its work now; empty when it can. */
  readonly notReady: () => readonly string[]
  /** Whether Temporal can be used. */
  readonly isTemporalReachable: () => boolean
  /** Leases that the process may hold, and whether it does. */
  readonly leases: () => Iterable<readonly [name: string, isHeld: boolean]>
}

/** Publishes whether a process can work, whether it leads, and how much memory it may use; computed on each scrape. */
export function observeProcess(
  { roles, notReady, isTemporalReachable, leases }: ObservedProcess,
  registry: Registry = register,
): void {
  const observe = (name: string, about: { help: string; labelNames?: string[] }, collect: (gauge: Gauge) => void) =>
    new Gauge({
      name,
      ...about,
      registers: [registry],
      collect() {
        collect(this)
      },
    })
  observe(
    'joiner_process_ready',
    { help: 'Whether a process is ready, by each of its roles: what /readyz answers.', labelNames: ['role'] },
    (gauge) => {
      const isReady = Number(notReady().length === 0)
      for (const role of roles) gauge.set({ role }, isReady)
    },
  )
  observe('joiner_temporal_reachable', { help: 'Whether this process can use Temporal.' }, (gauge) =>
    gauge.set(Number(isTemporalReachable())),
  )
  observe(
    'leader_election_master_status',
    { help: 'Whether this process holds a Lease, by the name of the Lease.', labelNames: ['name'] },
    (gauge) => {
      for (const [name, isHeld] of leases()) gauge.set({ name }, Number(isHeld))
    },
  )
  observe(
    'joiner_process_memory_limit_bytes',
    { help: 'Memory that this process may use: the limit of its container, or what the machine has.' },
    (gauge) => gauge.set(memoryLimit()),
  )
}

/** Returns the container's limit in bytes; a process without one has the machine's memory. */
function memoryLimit(): number {
  const limit = process.constrainedMemory()
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}
