import { executeChild, ParentClosePolicy, uuid4 } from '@temporalio/workflow'
import { disruptionPassId } from '../core/task-queues.ts'
import type { DisruptionLoopInput } from './disruption-loop.ts'
import { disruptionPass, type PassRequest, type PassResult } from './disruption-pass.ts'

const summaries = { consolidate: 'consolidate now', apply: 'apply a plan', plan: 'plan' } as const

/** Runs a pass that an operator asks for as a workflow of its own, and returns its result. Errors: the child's. */
export function askedPass(
  { cluster, withoutAttributes }: Pick<DisruptionLoopInput, 'cluster' | 'withoutAttributes'>,
  asked: PassRequest,
): Promise<PassResult> {
  const { by } = asked.request
  return executeChild(disruptionPass, {
    workflowId: disruptionPassId(cluster, uuid4().slice(0, 8)),
    parentClosePolicy: ParentClosePolicy.ABANDON,
    args: [{ cluster, asked, ...(withoutAttributes && { withoutAttributes }) }],
    staticSummary: `${summaries[asked.kind]}${by == null ? '' : `, by ${by}`}`.slice(0, 200),
  })
}
