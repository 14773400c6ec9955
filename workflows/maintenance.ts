import { ActivityFailure, ApplicationFailure, isCancellation } from '@temporalio/workflow'
import type { MaintenanceReport } from '../activities/azure/contract.ts'
import type { Adoption, AdoptionOutcome, AskedAdoption } from '../core/adoption.ts'
import type { PodCounts } from '../core/machines-in-use.ts'
import { adoptions, idleNodes, maintaining } from './activities.ts'

/**
 * One look at everything that keeps up the cluster beside the lifecycles of its nodes. Started by a Schedule. The role azure may not read pods, so the
 * role core is asked about Ready Nodes of VMs without a NodeClaim; then garbage collection deletes those that run none, and reports the others. Those
 * that are to get their NodeClaims again get them from the role planner. `asked`: an operator wants that now. Fails when a part has failed, after all of
 * this; an operator gets the report all the same.
 */
export async function maintenance(asked?: AskedAdoption): Promise<MaintenanceReport> {
  const { report, failure } = await allParts()
  const { undecided = [] } = report.garbage ?? {}
  const decided: Partial<MaintenanceReport> = undecided.length > 0 ? await decide(undecided, asked) : {}
  const { adopt: machines = [] } = decided.garbage ?? {}
  const adopted = machines.length === 0 ? {} : { adopted: await adopt(machines) }
  if (failure !== undefined && asked === undefined) throw failure
  return { ...report, ...decided, ...adopted }
}

async function decide(nodes: readonly string[], asked: AskedAdoption | undefined): Promise<MaintenanceReport> {
  const counts = await podCounts(nodes)
  const summary = 'VMs without a claim whose pods were counted'
  return maintaining().maintain.executeWithOptions({ summary }, [{ counts, ...(asked && { asked }) }])
}

function adopt(machines: readonly Adoption[]): Promise<readonly AdoptionOutcome[]> {
  return adoptions().adoptMachines.executeWithOptions({ summary: 'NodeClaims of VMs that lost them' }, [{ machines }])
}

async function allParts(): Promise<{ readonly report: MaintenanceReport; readonly failure?: unknown }> {
  try {
    const summary = 'garbage; status of node classes; tags and identities of VMs'
    return { report: await maintaining().maintain.executeWithOptions({ summary }, []) }
  } catch (failure) {
    // Of a pass that came to its end the failure holds the report.
    const cause = failure instanceof ActivityFailure ? failure.cause : undefined
    const report = cause instanceof ApplicationFailure ? cause.details?.[0] : undefined
    if (report == null) throw failure
    return { report: report as MaintenanceReport, failure }
  }
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
