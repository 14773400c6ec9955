import { isAksMachine, parseAksMachineId } from '../../../core/node-claim/aks-machine.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import { listMachines, type MachinesApiDeps } from './machines-api.ts'

/** What AKS would do about machines, by their id in lower case. */
export type DriftActions = ReadonlyMap<string, string>

/** Reads what AKS would do about the machines of NodeClaims (reference/azure-provider.md 8.1). Of a pool that cannot be listed nothing is known. */
export async function machineDriftActions(deps: MachinesApiDeps & Pick<Parts, 'cache' | 'log'>): Promise<DriftActions> {
  const ids = [...deps.cache.nodeClaims.values()].filter(isAksMachine).map(({ metadata }) => idText(metadata))
  const pools = new Set(ids.flatMap((id) => parseAksMachineId(id)?.pool ?? []))
  const actions = new Map<string, string>()
  for (const pool of pools)
    try {
      for (const { id, properties } of await listMachines(deps, { pool }))
        actions.set(id.toLowerCase(), properties?.status?.driftAction ?? 'Synced')
    } catch (error) {
      deps.log.warn({ pool, why: scrubbedMessage(error) }, 'failed to read whether AKS machines have drifted')
    }
  return actions
}

/** Returns what AKS would do about a NodeClaim's machine; undefined where that is not known. */
export function driftActionOf(actions: DriftActions, { metadata }: NodeClaim): string | undefined {
  return actions.get(idText(metadata))
}

const idText = (metadata: NodeClaim['metadata']) => metadata.annotations[annotations.aksMachine]?.toLowerCase() ?? ''
