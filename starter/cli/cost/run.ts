import { readCost } from '../../cost/read-cost.ts'
import { note, print } from '../../document/print.ts'
import { withCluster } from '../access/cluster.ts'
import { withTemporal } from '../operate/temporal-access.ts'
import type { CostOptions } from './options.ts'
import { costCsv, costDocument, costJson } from './text.ts'

const readMs = 60_000

/** Prints what nodes cost. Returns the exit code. */
export function showCost({ groupBy: by, since, output, ...where }: CostOptions): Promise<number> {
  return withTemporal(where, ({ client, connection, cluster }) =>
    withCluster(where, async (kubernetes) => {
      const now = Date.now()
      const cost = await connection.withDeadline(now + readMs, () =>
        readCost({ client, kubernetes, namespace: where.joinerNamespace, cluster }, { sinceMs: since, nowMs: now }),
      )
      if (output === 'csv') note(...cost.notes)
      await print(output, {
        json: costJson(cost, by),
        document: () => costDocument(cost, by, cluster),
        csv: () => costCsv(cost, by),
      })
      return 0
    }),
  )
}
