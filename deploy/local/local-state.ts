// What runs on this machine, for `local status` and `local down`: a file in a folder, as long as its process lives.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { defaultStateDir } from './cluster.ts'
import type { LocalCluster } from './local-cluster.ts'

/** A cluster that runs, as other processes see it. */
export interface LocalState {
  readonly pid: number
  readonly kubeconfig: string
  readonly temporalUi: string
  readonly temporalEnv: Readonly<Record<string, string>>
  readonly processes: Readonly<Record<string, number>>
}

/** Command that starts a cluster; its processes have it in their command line. */
export type Starter = 'local' | 'demo'

const stateFile = (folder: string) => join(folder, 'state.json')

/** Folder of the state of a demo that runs. Its cluster is in a folder of its own, which goes with it. */
export function demoFolder(): string {
  return join(dirname(defaultStateDir()), 'demo')
}

/** Returns the state of the cluster of a folder; undefined when none runs. */
export function readState(folder: string, starter: Starter = 'local'): LocalState | undefined {
  if (!existsSync(stateFile(folder))) return undefined
  const state = stateIn(readFileSync(stateFile(folder), 'utf8'))
  return state !== undefined && isRunning(state.pid, starter) ? state : undefined
}

/** Records the cluster of this process. */
export function writeState(folder: string, cluster: LocalCluster): LocalState {
  const state = {
    pid: process.pid,
    kubeconfig: cluster.adminKubeconfig,
    temporalUi: cluster.temporalUi,
    temporalEnv: cluster.temporalEnv,
    processes: cluster.supervisor.pids,
  }
  mkdirSync(folder, { recursive: true })
  writeFileSync(stateFile(folder), JSON.stringify(state, null, 2))
  return state
}

/** Removes the state of a cluster that ends. */
export function removeState(folder: string): void {
  rmSync(stateFile(folder), { force: true })
}

/** The state that a file holds. Undefined: none, as of half a file. */
function stateIn(text: string): LocalState | undefined {
  try {
    const state = JSON.parse(text) as LocalState | null
    return Number.isInteger(state?.pid) ? (state ?? undefined) : undefined
  } catch {
    return undefined
  }
}

/** Returns whether a process id still is the command that wrote the state, and not somebody who got the number later. */
export function isRunning(pid: number, starter: Starter = 'local'): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(starter)
  } catch {
    return false
  }
}
