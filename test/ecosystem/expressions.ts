import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { alertGroups, realDurations } from '../../deploy/alerts/alerts.ts'
import { boards } from '../../deploy/boards/boards.ts'

/** An expression of a panel or an alert, and whose it is. */
export interface Used {
  readonly owner: string
  readonly title: string
  readonly expr: string
  /** It selects one of the work queues of Karpenter's controllers, which Joiner does not have. */
  readonly ofQueueName: boolean
}

const expression = z.strictObject({ title: z.string(), expr: z.string(), queueName: z.literal(true).optional() })
const community = z.strictObject({ panels: z.array(expression), alerts: z.array(expression) })

/** What Grafana puts in for its variables. */
const grafanaVariables = { $__rate_interval: '30s', $nodepool: '.*' } as const

/** Returns the expressions of all panels: of the chart's boards, and those typical of boards of Karpenter users. */
export function panelExpressions(): readonly Used[] {
  const own = boards.flatMap(({ title, rows }) =>
    rows.flatMap(({ panels }) =>
      panels.flatMap((panel) =>
        Object.values(panel.queries).map((expr) => ({
          owner: title,
          title: panel.title,
          expr: withVariables(expr),
          ofQueueName: false,
        })),
      ),
    ),
  )
  return [...own, ...communityExpressions().panels.map((one) => ({ owner: 'community', ...one }))]
}

/** Returns the expressions of all alerts: the chart's, and those typical of rules of Karpenter users. */
export function alertExpressions(): readonly Used[] {
  const own = [...alertGroups].flatMap(([owner, alerts]) =>
    alerts.map(({ name, expr }) => ({ owner, title: name, expr: expr(realDurations), ofQueueName: false })),
  )
  return [...own, ...communityExpressions().alerts.map((one) => ({ owner: 'community', ...one }))]
}

function communityExpressions() {
  const { panels, alerts } = community.parse(
    parse(readFileSync(new URL('community-expressions.yaml', import.meta.url), 'utf8')),
  )
  const used = ({ title, expr, queueName }: z.infer<typeof expression>) => ({
    title,
    expr,
    ofQueueName: queueName === true,
  })
  return { panels: panels.map(used), alerts: alerts.map(used) }
}

function withVariables(expr: string): string {
  return Object.entries(grafanaVariables).reduce((text, [name, value]) => text.replaceAll(name, value), expr)
}
