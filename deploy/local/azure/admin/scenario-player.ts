import type { ArmDeps } from '../server/arm-deps.ts'
import { attemptOf } from '../virtual-machines/attempt.ts'
import type { Machine } from '../virtual-machines/machine.ts'
import { changeSettings } from './change-settings.ts'
import type { Scenario, ScenarioStep, VmAction } from './scenario.ts'

/** Plays one scenario at a time: each step at its time from the start. */
export class ScenarioPlayer {
  readonly #deps: ArmDeps
  #timers: NodeJS.Timeout[] = []
  #steps: { readonly step: ScenarioStep; done: boolean }[] = []

  constructor(deps: ArmDeps) {
    this.#deps = deps
  }

  /** Starts a scenario in place of one that may still be going on. Steps at time zero happen at once. */
  play({ steps }: Scenario): void {
    this.stop()
    this.#steps = steps.map((step) => ({ step, done: false }))
    for (const entry of this.#steps) {
      const happen = () => {
        entry.done = true
        this.#happen(entry.step)
      }
      if (entry.step.atMs === 0) happen()
      else this.#timers.push(setTimeout(happen, entry.step.atMs).unref())
    }
  }

  /** Steps that have not happened never will; what happened stays. */
  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers = []
    this.#steps = []
  }

  /** Line, time and whether it has happened, of each step. */
  get steps(): readonly { readonly line: number; readonly atMs: number; readonly done: boolean }[] {
    return this.#steps.map(({ step: { line, atMs }, done }) => ({ line, atMs, done }))
  }

  #happen({ atMs, line, clearFaults, settings, faults, vms, publish }: ScenarioStep): void {
    console.log(`scenario: step in line ${line}, at ${atMs / 1000} s`)
    if (clearFaults === true) this.#deps.faults.clear()
    if (settings !== undefined) changeSettings(this.#deps, settings)
    for (const fault of faults ?? []) this.#deps.faults.add(fault)
    if (publish !== undefined) this.#deps.images.publish(publish)
    for (const action of vms ?? []) for (const machine of this.#matching(action)) this.#act(machine, action.do)
  }

  #matching({ match, count, share, do: what }: VmAction): readonly Machine[] {
    const found = this.#deps.machines.all.filter((machine) => {
      const attempt = attemptOf(machine.body)
      return (
        machine.state !== 'Deleting' &&
        (what !== 'evict' || attempt.capacityType === 'spot') &&
        (match?.name === undefined || match.name === machine.name) &&
        (match?.sku === undefined || match.sku === attempt.sku) &&
        (match?.zone === undefined || match.zone === attempt.zone) &&
        (match?.capacityType === undefined || match.capacityType === attempt.capacityType)
      )
    })
    return found.slice(0, Math.min(count ?? found.length, Math.round(found.length * (share ?? 1))))
  }

  #act(machine: Machine, what: VmAction['do']): void {
    const { lifecycle } = this.#deps
    if (what === 'evict') lifecycle.evict(machine)
    else if (what === 'delete') lifecycle.delete(machine)
    else lifecycle.power(machine, what === 'stop' ? 'stopped' : 'frozen')
  }
}
