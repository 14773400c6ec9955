import { ActivityFailure, ApplicationFailure, isCancellation } from '@temporalio/workflow'
import type { MaintenanceReport } from '../activities/azure/contract.ts'
import type { PodCounts } from '../core/machines-in-use.ts'
import { idleNodes, maintaining } from './activities.ts'

/**
 * One look at everything that keeps up the cluster beside the lifecycles of its nodes. Started by a Schedule. The role azure may not read pods, so the
 * role core is asked about Ready Nodes of VMs without a NodeClaim; then garbage collection deletes those that run none, and reports the others. Fails
 * when a part has failed, after all of this.
 */
export async function maintenance(): Promise<MaintenanceReport> {
  const { report, failure } = await allParts()
  const { undecided = [] } = report.garbage ?? {}
  const decided = undecided.length > 0 ? await decide(undecided) : {}
  if (failure !== undefined) throw failure
  return { ...report, ...decided }
}

async function decide(nodes: readonly string[]): Promise<MaintenanceReport> {
  const counts = await podCounts(nodes)
  const summary = 'VMs without a claim whose pods were counted'
  return maintaining().maintain.executeWithOptions({ summary }, [{ counts }])
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
