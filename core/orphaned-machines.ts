import type { LostVm } from './adoption.ts'
import type { FoundVm } from './garbage.ts'
import { dividedByUse, type MachineUse, type PodCounts } from './machines-in-use.ts'

/** An AKS machine with the tags of this cluster. */
export interface FoundMachine
  extends Pick<FoundVm, 'claimName' | 'isBeingDeleted' | 'nodes'>,
    Pick<LostVm, 'instanceType' | 'capacityType'> {
  /** Pool and name, such as `aksmanagedap/general-abcde`. */
  readonly name: string
  /** Resource id. */
  readonly id: string
  /** Epoch ms: when AKS made it, or when it was first seen. */
  readonly createdAtMs: number
  /** What its NodeClaim can be made again from; unset where Joiner does not make machines like it. */
  readonly lost?: Omit<LostVm, 'sinceMs'>
}

/** All NodeClaims of the cluster, those that Joiner leaves alone included. */
export interface ClaimsOfMachines {
  readonly names: ReadonlySet<string>
  /** Resource ids of machines that NodeClaims name, in lower case. */
  readonly machines: ReadonlySet<string>
}

/** As with VMs that Karpenter made: time for a launch, and for clocks that differ. */
const youngMs = 20 * 60_000

/** With more orphans than this that no Node names, and fewer machines with a claim, claims and Nodes were probably read in the wrong place. */
const mostLost = 10

/** Machines that are garbage, and those that pods keep. `withheld`: why some are left alone for another reason, with the remedy. */
export interface OrphanedMachines {
  readonly machines: readonly FoundMachine[]
  readonly inUse: readonly (FoundMachine & { readonly use: MachineUse })[]
  readonly withheld?: string
}

/**
 * Returns machines that no NodeClaim stands for. They must be found before the claims are read, since a claim always exists before its machine. One
 * that runs pods is none: turning node auto-provisioning off may take its CRDs along, and with them all claims of machines that run pods. `counts` is
 * unset before the role core was asked.
 */
export function orphanedMachines(
  machines: readonly FoundMachine[],
  claims: ClaimsOfMachines,
  { counts, now }: { readonly counts?: PodCounts | undefined; readonly now: number },
): OrphanedMachines {
  const hasClaim = ({ id, claimName }: FoundMachine) =>
    claims.names.has(claimName) || claims.machines.has(id.toLowerCase())
  const orphans = machines.filter(
    (machine) => !machine.isBeingDeleted && now - machine.createdAtMs > youngMs && !hasClaim(machine),
  )
  const { unused, inUse } = dividedByUse(orphans, counts, now)
  const nodeless = unused.filter(({ nodes = [] }) => nodes.length === 0)
  if (nodeless.length <= mostLost || machines.filter(hasClaim).length >= nodeless.length)
    return { machines: unused, inUse }
  return {
    machines: unused.filter((machine) => !nodeless.includes(machine)),
    inUse,
    withheld: `${nodeless.length} of ${machines.length} AKS machines with this cluster's tags have neither a NodeClaim nor a Node (${nodeless[0]?.name} for instance); they are left alone, since so many NodeClaims were probably lost together. If the machines are not needed, delete them: az aks nodepool delete-machines; else check CLUSTER_NAME and the API server that Joiner uses`,
  }
}
