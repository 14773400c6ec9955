import type { DisruptionPlan, PlannedReplacement } from '../../../core/disruption/plan/plan.ts'
import { planDocument } from '../../cli/operate/plan-text.ts'
import { linesOf } from '../../document/text.ts'
import { hoursOfMonth } from '../../document/words.ts'
import type { PlanPreview } from '../contract.ts'

/** A plan as the page shows it. */
export function planPreview(plan: DisruptionPlan): PlanPreview {
  const { id, commands, cost } = plan
  return {
    id,
    text: [...linesOf(planDocument(plan))],
    commands: commands.map(({ method, reason, candidates, replacements, savings }) => ({
      method,
      reason,
      removes: candidates.map(({ node }) => node),
      creates: replacements.map(replacementText),
      pods: candidates.reduce((sum, { pods }) => sum + pods.length, 0),
      savings: savings * hoursOfMonth,
    })),
    before: cost.cluster.before * hoursOfMonth,
    after: cost.cluster.after * hoursOfMonth,
  }
}

/** `Standard_D4s_v5 or 3 others, spot, westus2-1`. */
function replacementText({ instanceTypes, otherTypes, capacityTypes, zones }: PlannedReplacement): string {
  const [cheapest = 'any size', ...rest] = instanceTypes
  const others = rest.length + otherTypes
  const size = others === 0 ? cheapest : `${cheapest} or ${others} ${others === 1 ? 'other' : 'others'}`
  return [size, capacityTypes.join(' or '), zones.join(' or ')].filter((part) => part !== '').join(', ')
}
