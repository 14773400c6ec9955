import { setHandler } from '@temporalio/workflow'
import { planRefusal } from '../core/disruption/plan-requests.ts'
import { plans } from './activities.ts'
import { planUpdate } from './messages.ts'

/** Begins to take what an operator asks of disruption by hand. */
export function listenForPlans(): void {
  setHandler(planUpdate, (request) => plans().planDisruption.executeWithOptions({ summary: 'plan' }, [request ?? {}]), {
    description:
      'Say what would be done now, and do nothing: {"nodePools": [...], "nodes": [...], "reasons": [...], "budget": most nodes of each pool, "now": true not to wait for consolidateAfter, "by": "..."}, all optional. Answers with the id of the plan.',
    validator: (request) => refuse(planRefusal(request)),
  })
}

function refuse(why: string | undefined): void {
  if (why !== undefined) throw new Error(why)
}
