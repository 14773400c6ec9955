import { readCost } from '../../cost/read-cost.ts'
import { withCluster } from '../access/cluster.ts'
import { withTemporal } from '../operate/temporal-access.ts'
import { print } from '../shared/output.ts'
import type { CostOptions } from './options.ts'
import { costCsv, costJson, costText } from './text.ts'

const readMs = 60_000

/** Prints what nodes cost. Returns the exit code. */
export function showCost({ by, since, output, ...where }: CostOptions): Promise<number> {
  return withTemporal(where, ({ client, connection, cluster }) =>
    withCluster(where, async (kubernetes) => {
      const now = Date.now()
      const cost = await connection.withDeadline(now + readMs, () =>
        readCost({ client, kubernetes, namespace: where.namespace, cluster }, { sinceMs: since, nowMs: now }),
      )
      if (output === 'csv') {
        for (const note of cost.notes) console.error(note)
        process.stdout.write(`${costCsv(cost, by)}\n`)
      } else await print(output, costJson(cost, by), () => costText(cost, by, cluster))
      return 0
    }),
  )
}
