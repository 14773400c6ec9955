import type { Logger } from 'pino'
import type { LateList } from '../answers/late-list.ts'
import { VmList } from '../arm/vm-list.ts'
import type { AwaitMachineDeps } from './await-machine.ts'
import type { LaunchDeps } from './launch-machine.ts'
import { MachineBatches } from './machine-batches.ts'
import { type AksMachine, listMachines, type MachinesApiDeps } from './machines-api.ts'

/** AKS names no limit for lists of machines; a list is one page of any pool's size. */
const pace = { fastestMs: 1000, slowestMs: 5000, pagesPerSecond: 1 }

/** Returns what launches of AKS machines share in a process. */
export function machineDeps(
  deps: MachinesApiDeps & { readonly log: Logger },
  standing: LateList,
): Pick<LaunchDeps, 'machineBatches'> & Pick<AwaitMachineDeps, 'machines'> {
  const machineBatches = new MachineBatches(deps)
  const pool = deps.config.makesMachines?.pool
  if (pool === undefined) return { machineBatches }
  async function* list() {
    yield await listMachines(deps, { pool: pool ?? '' })
  }
  return { machineBatches, machines: new VmList<AksMachine>(list, standing, pace) }
}
