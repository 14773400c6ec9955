import { setHandler } from '@temporalio/workflow'
import { statusPasses, sweeps, vmUpdates } from './activities.ts'
import { pokeSignal } from './messages.ts'

/** Deletes what no lifecycle owns: an alarm, should it find anything. Started by a Schedule. */
export async function garbageCollection(): Promise<void> {
  await sweeps().collectGarbage.executeWithOptions({ summary: 'VMs, NICs, tokens without a claim' }, [])
}

/** Brings AKSNodeClass and NodePool status up to date. Started by a Schedule, and at once when a spec changes. */
export function nodeClassStatus(): Promise<void> {
  return untilUnchanged(() =>
    statusPasses().refreshNodeClasses.executeWithOptions({ summary: 'versions, images, subnets, readiness' }, []),
  )
}

/**
 * Brings tags and identities of VMs up to what their node classes ask for. Started by a Schedule, and at once when a node class changes or a
 * process of another configuration takes over.
 */
export function inPlaceUpdates(): Promise<void> {
  return untilUnchanged(() =>
    vmUpdates().updateInPlace.executeWithOptions({ summary: 'tags and identities of VMs and NICs' }, []),
  )
}

/** Reads instance types, usages and prices anew. Started by a Schedule. */
export async function catalogRefresh(): Promise<void> {
  await sweeps().refreshCatalogue.executeWithOptions({ summary: 'SKUs, usages, prices' }, [])
}

/** A change that comes while the pass runs, and may have been missed by it, makes it run again. */
async function untilUnchanged(pass: () => Promise<unknown>): Promise<void> {
  let changed = true
  setHandler(pokeSignal, () => {
    changed = true
  })
  while (changed) {
    changed = false
    await pass()
  }
}
