import type { Warning } from './policy.ts'

const ofReason = '(!has(b.reasons) || reason in b.reasons)'
/** A budget that begins each day and lasts a day always holds. */
const isAlways =
  "(!has(b.schedule) || (has(b.duration) && b.schedule.matches('^(@daily|@midnight|[0-9]+ [0-9]+ [*] [*] [*])$') && b.duration.matches('^(2[4-9]|[3-9][0-9]|[1-9][0-9]{2,})h')))"

/** Reasons whose budgets all have a schedule, outside of which nothing limits them. */
export const unlimitedReasons = `has(object.spec.disruption) && has(object.spec.disruption.budgets) ? ['Drifted', 'Empty', 'Underutilized'].filter(reason, object.spec.disruption.budgets.exists(b, ${ofReason}) && !object.spec.disruption.budgets.exists(b, ${isAlways} && ${ofReason})) : []`

export const unlimitedWarning: Warning = {
  because: 'unlimited',
  holds: 'variables.unlimitedReasons.size() == 0',
  message:
    "'spec.disruption.budgets: each entry for ' + variables.unlimitedReasons.join(', ') + ' has a schedule, so outside of the schedules any number of nodes may be disrupted at once; add an entry without a schedule, such as nodes: \"10%\"'",
}
