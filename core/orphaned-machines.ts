/** An AKS machine with the tags of this cluster. */
export interface FoundMachine {
  /** Pool and name, such as `aksmanagedap/general-abcde`. */
  readonly name: string
  /** Resource id. */
  readonly id: string
  /** The NodeClaim that it was made for. */
  readonly claimName: string
  readonly createdAtMs?: number
  readonly isBeingDeleted: boolean
  /** Whether its VM runs a Node that is Ready: pods may run there. Unset: it is not known to. */
  readonly hasReadyNode?: boolean
}

/** All NodeClaims of the cluster, those that Joiner leaves alone included. */
export interface ClaimsOfMachines {
  readonly names: ReadonlySet<string>
  /** Resource ids of machines that NodeClaims name, in lower case. */
  readonly machines: ReadonlySet<string>
}

/** As with VMs that Karpenter made: time for a launch, and for clocks that differ. */
const youngMs = 20 * 60_000

/** With more orphans than this, and fewer machines with a claim than without, the claims were probably lost together, or read in the wrong place. */
const mostLost = 10

/** Machines that are garbage. `withheld`: why nothing is deleted for now, with the remedy. */
export interface OrphanedMachines {
  readonly machines: readonly FoundMachine[]
  readonly withheld?: string
}

/**
 * Returns machines that no NodeClaim stands for. They must be found before the claims are read, since a claim always exists before its machine. A
 * machine whose age is not known is none, nor is one whose Node is Ready, and in doubt there is none (docs/architecture.md "Invariants"): turning node auto-provisioning off may take
 * its CRDs along, and with them all claims of machines that run pods.
 */
export function orphanedMachines(
  machines: readonly FoundMachine[],
  claims: ClaimsOfMachines,
  now: number,
): OrphanedMachines {
  const hasClaim = ({ id, claimName }: FoundMachine) =>
    claims.names.has(claimName) || claims.machines.has(id.toLowerCase())
  const orphans = machines.filter(
    (machine) =>
      !machine.isBeingDeleted &&
      machine.createdAtMs !== undefined &&
      now - machine.createdAtMs > youngMs &&
      !hasClaim(machine),
  )
  const areLost = orphans.length > mostLost && machines.filter(hasClaim).length < orphans.length
  const kept = areLost ? orphans : orphans.filter(({ hasReadyNode }) => hasReadyNode === true)
  if (kept.length === 0) return { machines: orphans }
  const why = areLost
    ? 'so many NodeClaims were probably lost together'
    : 'their Nodes are Ready, and pods may run there'
  return {
    machines: areLost ? [] : orphans.filter((machine) => !kept.includes(machine)),
    withheld: `${kept.length} of ${machines.length} AKS machines with this cluster's tags have no NodeClaim (${kept[0]?.name} for instance); they are left alone, since ${why}. If the machines are not needed, drain their Nodes and delete them: az aks nodepool delete-machines; else check CLUSTER_NAME and the API server that Joiner uses`,
  }
}
