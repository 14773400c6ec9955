import type { Stage } from './rows.ts'
import type { Step } from './steps.ts'

export const servers = ['temporal', 'kube-apiserver'] as const
export type Server = (typeof servers)[number]

interface PhaseMark {
  readonly stage: Stage
  /** The write that is kept back while the server is killed. */
  readonly step?: Step
}

/** How a claim is kept in each phase of its lifecycle. */
export const phases = {
  launching: { stage: 'launch', step: { kind: 'PUT Microsoft.Compute/virtualMachines', changes: [] } },
  registering: { stage: 'launch', step: { kind: 'PATCH nodes', changes: ['labels'] } },
  initializing: { stage: 'launch', step: { kind: 'PATCH nodes', changes: ['label karpenter.sh/initialized'] } },
  ready: { stage: 'terminate' },
  draining: { stage: 'replace', step: { kind: 'POST pods/eviction', changes: [] } },
  terminating: { stage: 'terminate', step: { kind: 'DELETE Microsoft.Compute/virtualMachines', changes: [] } },
  'command waiting': { stage: 'replace', step: { kind: 'PATCH nodeclaims/status', changes: ['Initialized=True'] } },
} satisfies Readonly<Record<string, PhaseMark>> as Readonly<Record<PhaseName, PhaseMark>>

type PhaseName = 'launching' | 'registering' | 'initializing' | 'ready' | 'draining' | 'terminating' | 'command waiting'
export type Phase = PhaseName
