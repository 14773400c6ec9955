import type { FastifyInstance } from 'fastify'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError } from '../server/arm-error.ts'
import type { ArmRequest } from '../server/arm-request.ts'
import { QueryError, type Row, runQuery } from './graph-query.ts'

interface Query {
  readonly query?: string
  readonly subscriptions?: readonly string[]
  readonly options?: { readonly $skipToken?: string; readonly $top?: number; readonly resultFormat?: string }
}

const largestPage = 1000

/** Resource Graph over VMs, NICs and disks; how far it lags behind is a setting. */
export function registerResourceGraph(app: FastifyInstance, { config, graph }: ArmDeps): void {
  app.post('/providers/Microsoft.ResourceGraph/resources', (request: ArmRequest<Query>) => {
    const { query = '', subscriptions, options = {} } = request.body
    if (options.resultFormat !== undefined && options.resultFormat !== 'objectArray')
      throw new ArmError(400, 'BadRequest', `resultFormat "${options.resultFormat}" is not simulated; use objectArray`)
    const asked = subscriptions === undefined || subscriptions.includes(config.subscriptionId)
    const found = asked ? answer(query, graph.all) : []
    const skip = Number(options.$skipToken ?? 0)
    const size = Math.min(options.$top ?? largestPage, config.pageSize ?? largestPage, largestPage)
    const data = found.slice(skip, skip + size)
    return {
      totalRecords: found.length,
      count: data.length,
      resultTruncated: 'false',
      ...(skip + size < found.length ? { $skipToken: String(skip + size) } : {}),
      data,
      facets: [],
    }
  })
}

function answer(query: string, rows: readonly Row[]): readonly Row[] {
  try {
    return runQuery(query, rows)
  } catch (error) {
    if (error instanceof QueryError) throw new ArmError(400, 'InvalidQuery', `The query is not valid: ${error.message}`)
    throw error
  }
}
