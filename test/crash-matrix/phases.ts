import type { Stage } from './rows.ts'
import type { Step } from './steps.ts'

export const servers = ['temporal', 'kube-apiserver'] as const
export type Server = (typeof servers)[number]

interface PhaseMark {
  readonly stage: Stage
  /** The write that is kept back while the server is killed. */
  readonly step?: Step
}

export type Phase =
  | 'launching'
  | 'registering'
  | 'initializing'
  | 'ready'
  | 'draining'
  | 'terminating'
  | 'command waiting'

const agentPools = 'Microsoft.ContainerService/managedClusters/agentPools'

/** Returns how a claim is kept in each phase of its lifecycle; `isMachines`: its node is an AKS machine. */
export function phasesOf(isMachines: boolean): Readonly<Record<Phase, PhaseMark>> {
  const make = `PUT ${isMachines ? `${agentPools}/machines` : 'Microsoft.Compute/virtualMachines'}`
  const remove = isMachines ? `POST ${agentPools}/deleteMachines` : 'DELETE Microsoft.Compute/virtualMachines'
  return {
    launching: { stage: 'launch', step: { kind: make, changes: [] } },
    registering: { stage: 'launch', step: { kind: 'PATCH nodes', changes: ['labels'] } },
    initializing: { stage: 'launch', step: { kind: 'PATCH nodes', changes: ['label karpenter.sh/initialized'] } },
    ready: { stage: 'terminate' },
    draining: { stage: 'replace', step: { kind: 'POST pods/eviction', changes: [] } },
    terminating: { stage: 'terminate', step: { kind: remove, changes: [] } },
    'command waiting': { stage: 'replace', step: { kind: 'PATCH nodeclaims/status', changes: ['Initialized=True'] } },
  }
}
