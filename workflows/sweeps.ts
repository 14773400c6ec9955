import { setHandler } from '@temporalio/workflow'
import { statusPasses, sweeps, vmUpdates } from './activities.ts'
import { pokeSignal } from './messages.ts'

/** Deletes resources that no lifecycle owns. Any find is an alarm. Started by a Schedule. */
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
 * Applies the tags and identities of node classes to their VMs. Started by a Schedule. Also started at once when a node class changes or a process
 * with another configuration takes over.
 */
export function inPlaceUpdates(): Promise<void> {
  return untilUnchanged(() =>
    vmUpdates().updateInPlace.executeWithOptions({ summary: 'tags and identities of VMs and NICs' }, []),
  )
}

/** Reads instance types, usages and prices again. Started by a Schedule. */
export async function catalogRefresh(): Promise<void> {
  await sweeps().refreshCatalogue.executeWithOptions({ summary: 'SKUs, usages, prices' }, [])
}

/** A change during a pass, which the pass may have missed, makes it run again. */
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
