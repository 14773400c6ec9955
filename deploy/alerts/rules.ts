import { stringify } from 'yaml'
import { type Durations, realDurations } from './alert.ts'
import { alertGroups } from './alerts.ts'

/** Stands in the chart's file for where runbooks are, which the chart's values name. */
const runbooksPlaceholder = 'RUNBOOKS'

/** Returns the rules as Prometheus and PrometheusRule have them: `groups` at the top. */
export function rulesText(durations: Durations = realDurations): string {
  const groups = [...alertGroups].map(([name, alerts]) => ({
    name,
    rules: alerts.map(({ name: alert, expr, forMinutes, severity, summary }) => ({
      alert,
      expr: expr(durations),
      ...(forMinutes === 0 ? {} : { for: durations.range(forMinutes) }),
      labels: { severity },
      annotations: { summary, runbook_url: `${runbooksPlaceholder}#${alert.toLowerCase()}` },
    })),
  }))
  return stringify({ groups }, { lineWidth: 0 })
}
