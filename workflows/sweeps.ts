import { sweeps } from './activities.ts'

/** Deletes what no lifecycle owns: an alarm, should it find anything. Started by a Schedule. */
export async function garbageCollection(): Promise<void> {
  await sweeps().collectGarbage.executeWithOptions({ summary: 'VMs, NICs, tokens without a claim' }, [])
}

/** Brings AKSNodeClass and NodePool status up to date. Started by a Schedule, and at once when a spec changes. */
export async function nodeClassStatus(): Promise<void> {
  await sweeps().refreshNodeClasses.executeWithOptions({ summary: 'versions, images, subnets, readiness' }, [])
}

/** Reads instance types, usages and prices anew. Started by a Schedule. */
export async function catalogRefresh(): Promise<void> {
  await sweeps().refreshCatalogue.executeWithOptions({ summary: 'SKUs, usages, prices' }, [])
}
