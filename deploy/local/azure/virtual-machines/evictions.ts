import type { SimulatorConfig } from '../server/config.ts'
import { sampleEventMs, sampleMs } from '../server/durations.ts'
import type { Kubelets } from './kubelet.ts'
import type { Machine } from './machine.ts'
import type { Machines } from './machines.ts'

interface EvictionDeps {
  readonly config: SimulatorConfig
  readonly machines: Machines
  readonly kubelets: Kubelets
  readonly newId: () => string
}

/** Spot VMs that Azure takes back: drawn by a rate or at a time that is set, with a notice if there is one. Notice and times outlive a restart. */
export class Evictions {
  readonly #deps: EvictionDeps
  readonly #take: (machine: Machine) => void

  /** `take`: what becomes of the VM in the end. */
  constructor(deps: EvictionDeps, take: (machine: Machine) => void) {
    this.#deps = deps
    this.#take = take
  }

  /** Draws when a VM is taken back, if spot VMs are, and watches the clock. Called once it is made, and after a restart. */
  schedule(machine: Machine): void {
    if (machine.preemption !== undefined) return this.#wait(machine, machine.preemption.atMs)
    if (machine.evictAtMs === undefined) this.#draw(machine)
    const atMs = machine.evictAtMs
    if (atMs === undefined) return
    after(atMs - Date.now(), () => {
      if (this.#isThere(machine) && machine.evictAtMs === atMs && machine.preemption === undefined) this.evict(machine)
    })
  }

  /** The rate has changed: what was drawn is drawn again. */
  reschedule(): void {
    for (const machine of this.#deps.machines.all) {
      if (machine.state !== 'Succeeded' || machine.power !== 'running') continue
      if (machine.isEvictionDrawn === true) delete machine.evictAtMs
      if (machine.evictAtMs === undefined) this.schedule(machine)
    }
  }

  /** Gives notice, and takes the VM when that is over. A second notice changes nothing. */
  evict(machine: Machine): void {
    const { config, machines, kubelets, newId } = this.#deps
    if (machine.preemption !== undefined) return
    const noticeMs = sampleMs(config.evictions?.noticeMs, config.seed ?? 1, `notice/${machine.name.toLowerCase()}`)
    if (noticeMs === 0) return this.#take(machine)
    machine.preemption = { atMs: Date.now() + noticeMs, eventId: newId().toUpperCase() }
    machines.save(machine)
    void kubelets.report(machine, preemptionConditions(machine.preemption))
    this.#wait(machine, machine.preemption.atMs)
  }

  #wait(machine: Machine, atMs: number): void {
    after(atMs - Date.now(), () => {
      if (this.#isThere(machine)) this.#take(machine)
    })
  }

  #draw(machine: Machine): void {
    const { config, machines } = this.#deps
    const perHour = config.evictions?.perHour ?? 0
    if (perHour === 0 || machine.body.properties.priority !== 'Spot') return
    const inMs = sampleEventMs(perHour, config.seed ?? 1, `eviction/${machine.name.toLowerCase()}`)
    machine.evictAtMs = Date.now() + inMs
    machine.isEvictionDrawn = true
    machines.save(machine)
  }

  #isThere(machine: Machine): boolean {
    return (
      this.#deps.machines.get(machine.name) === machine && machine.state !== 'Deleting' && machine.power === 'running'
    )
  }
}

/**
 * Conditions that AKS' node problem detector sets when the VM's scheduled events announce a Preempt
 * (reference/azure-provider.md 8.4; https://learn.microsoft.com/azure/aks/node-problem-detector).
 */
function preemptionConditions({
  atMs,
  eventId,
}: NonNullable<Machine['preemption']>): readonly Record<string, string>[] {
  const now = new Date().toISOString()
  const notBefore = new Date(atMs).toUTCString()
  const message = `Preempt Scheduled: ${notBefore}. For more information, see https://aka.ms/aks/scheduledevents. EventId: ${eventId}`
  const condition = (type: string, reason: string) => ({
    type,
    status: 'True',
    reason,
    message,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  })
  return [condition('PreemptionScheduled', 'SpotEvictionIncoming'), condition('VMEventScheduled', 'PreemptScheduled')]
}

/** Longest time that a timer takes. */
const longestMs = 2 ** 31 - 1

function after(ms: number, work: () => void): void {
  setTimeout(work, Math.min(Math.max(0, ms), longestMs)).unref()
}
