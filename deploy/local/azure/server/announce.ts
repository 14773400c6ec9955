import type { FastifyReply } from 'fastify'
import type { ArmRequest } from './arm-request.ts'
import type { SimulatorConfig } from './config.ts'

/** Reports where a long-running operation can be watched, by both of ARM's headers. */
export function announce(
  reply: FastifyReply,
  { id, provider = 'Microsoft.Compute' }: { readonly id: string; readonly provider?: string },
  { subscriptionId, location }: Pick<SimulatorConfig, 'subscriptionId' | 'location'>,
): FastifyReply {
  const request = reply.request as ArmRequest
  const url = new URL(
    `/subscriptions/${subscriptionId}/providers/${provider}/locations/${location}/operations/${id}`,
    `https://${request.host}`,
  )
  url.searchParams.set('api-version', request.query['api-version'] ?? '')
  reply.header('azure-asyncoperation', url.href)
  url.searchParams.set('monitor', 'true')
  return reply.header('location', url.href).header('retry-after', '1')
}
