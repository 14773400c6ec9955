import { explainedPlan } from '../../core/scheduling/schedule.ts'
import type { SchedulingPlan } from '../../core/scheduling/snapshot.ts'

/** Returns the plan of a pass, without its explanations. */
export const schedule = (...pass: Parameters<typeof explainedPlan>): SchedulingPlan => explainedPlan(...pass).plan
