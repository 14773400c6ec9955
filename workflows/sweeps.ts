import { isCancellation, setHandler } from '@temporalio/workflow'
import type { GarbageReport } from '../activities/azure/contract.ts'
import type { PodCounts } from '../core/machines-in-use.ts'
import { idleNodes, statusPasses, sweeps, vmUpdates } from './activities.ts'
import { pokeSignal } from './messages.ts'

/**
 * Deletes resources that no lifecycle owns. Any find is an alarm. Started by a Schedule. The role azure may not read pods, so the role core is asked
 * about Ready Nodes of VMs without a NodeClaim, and a second pass deletes those that run none and reports the others.
 */
export async function garbageCollection(): Promise<void> {
  const { undecided = [] } = await collect()
  if (undecided.length > 0) await collect(await podCounts(undecided))
}

function collect(...counts: readonly [] | readonly [PodCounts]): Promise<GarbageReport> {
  return sweeps().collectGarbage.executeWithOptions({ summary: 'VMs, NICs, tokens without a claim' }, [...counts])
}

/** Without an answer no Node is known to be free of pods. */
async function podCounts(nodes: readonly string[]): Promise<PodCounts> {
  try {
    return await idleNodes().taintIdleNodes.executeWithOptions({ summary: 'pods on Nodes without a claim' }, [
      { nodes },
    ])
  } catch (error) {
    if (isCancellation(error)) throw error
    return { atMs: 0, pods: {} }
  }
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
