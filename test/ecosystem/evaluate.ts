import { alertExpressions, panelExpressions } from './expressions.ts'
import type { Prometheus } from './prometheus.ts'
import type { Recorder } from './report.ts'

/**
 * Evaluates every expression of panels and alerts over what was scraped. A panel has to have data, and each selector of an alert series: otherwise it
 * can never fire. Only names of Karpenter's own work queues may be missing.
 */
export async function evaluate(prometheus: Prometheus, { say, record }: Recorder): Promise<void> {
  const panels = panelExpressions()
  say(`${panels.length} expressions of panels`)
  for (const { owner, title, expr, ofQueueName } of panels) {
    const found = await prometheus.seriesOf(expr).catch((error: unknown) => String(error))
    const isOk = typeof found === 'number' && found > 0
    const outcome = isOk ? `${found} series` : `NO DATA ${typeof found === 'string' ? found : ''}: ${expr}`
    record({ part: 'boards', what: `panel of ${owner}: ${title}`, outcome, isOk: isOk || ofQueueName })
  }
  const alerts = alertExpressions()
  say(`${alerts.length} expressions of alerts`)
  for (const { owner, title, expr, ofQueueName } of alerts) {
    const missing = await prometheus.missingSelectors(expr).catch((error: unknown) => [String(error)])
    const isOk = missing.length === 0
    const outcome = isOk ? 'can fire' : `CANNOT FIRE without ${missing.join(' and ')}`
    record({ part: 'boards', what: `alert of ${owner}: ${title}`, outcome, isOk: isOk || ofQueueName })
  }
}
