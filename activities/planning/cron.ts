import { Cron } from 'croner'
import type { NextCronHit } from '../../core/disruption/budgets.ts'

/** The next time that a budget's schedule fires, in UTC; undefined when it is not a schedule of five fields or a known macro. */
export const nextCronHit: NextCronHit = (schedule, after) => {
  try {
    return new Cron(schedule, { timezone: 'UTC', mode: '5-part' }).nextRun(new Date(after))?.getTime()
  } catch {
    return undefined
  }
}
