import type { FastifyReply, FastifyRequest } from 'fastify'
import { ArmError } from '../server/arm-error.ts'
import type { SimulatorConfig } from '../server/config.ts'
import {
  type BucketName,
  type BucketUse,
  documentedLimits,
  policyName,
  type Refused,
  type Throttling,
} from './throttling.ts'

/** Takes a request's tokens; the answer says what is left. Errors: 429 with Retry-After, in the words of who refuses: ARM, Compute or Network. */
export function throttle(
  reply: FastifyReply,
  throttling: Throttling,
  config: Pick<SimulatorConfig, 'subscriptionId' | 'clientId'>,
): void {
  if (!throttling.isOn) return
  const { request } = reply
  const [path = ''] = request.url.split('?')
  const answer = throttling.take(bucketsOf(request.method, path), `${request.method} ${path.toLowerCase()}`)
  reply.headers(answer.headers)
  if (answer.kind === 'taken') return
  reply.header('retry-after', String(answer.retryAfterSeconds))
  throw refusal(answer, config)
}

/** The buckets that a request draws from: ARM's by its method, and its resource provider's by what it asks for. */
export function bucketsOf(method: string, path: string): readonly BucketUse[] {
  if (/^\/providers\/Microsoft\.ResourceGraph\//i.test(path)) return [{ name: 'resourceGraph' }]
  const arm: BucketUse = { name: method === 'GET' ? 'armReads' : method === 'DELETE' ? 'armDeletes' : 'armWrites' }
  if (/\/providers\/Microsoft\.Network\//i.test(path))
    return [arm, { name: method === 'GET' ? 'networkReads' : 'networkWrites' }]
  const operation = /\/Microsoft\.Compute\/locations\/[^/]+\/operations\/([^/]+)/i.exec(path)?.[1]
  if (operation !== undefined)
    return [arm, { name: 'getOperation' }, { name: 'getOperationPerOperation', of: operation }]
  const [, vm, below] = /\/Microsoft\.Compute\/virtualMachines(?:\/([^/]+)(\/.*)?)?$/i.exec(path) ?? [undefined]
  if (vm === undefined) return /\/virtualMachines$/i.test(path) ? [arm, { name: 'listVms' }] : [arm]
  return [arm, ...vmBuckets(method, vm.toLowerCase(), below !== undefined)]
}

/** Extensions and actions of a VM are updates of it. */
function vmBuckets(method: string, vm: string, isBelow: boolean): readonly BucketUse[] {
  if (method === 'GET') return [{ name: 'getVm' }]
  if (isBelow || method === 'PATCH') return [{ name: 'updateVm' }, { name: 'updatePerVm', of: vm }]
  return method === 'DELETE'
    ? [{ name: 'deleteVm' }, { name: 'deletePerVm', of: vm }]
    : [{ name: 'createVm' }, { name: 'createPerVm', of: vm }]
}

function refusal(
  { bucket, limit, retryAfterSeconds: seconds }: Refused,
  { subscriptionId, clientId }: Pick<SimulatorConfig, 'subscriptionId' | 'clientId'>,
): ArmError {
  const armKind = ({ armReads: 'read', armWrites: 'write', armDeletes: 'delete' } as Record<string, string>)[bucket]
  if (armKind !== undefined)
    return new ArmError(
      429,
      'SubscriptionRequestsThrottled',
      `Number of '${armKind}' requests for subscription '${subscriptionId}' actor '${clientId}' exceeded. Please try again after '${seconds}' seconds after additional tokens are available. Refer to https://aka.ms/arm-throttling for additional information.`,
    )
  if (bucket === 'resourceGraph')
    return new ArmError(
      429,
      'RateLimiting',
      'Client application has been throttled and should not attempt to repeat the request until an amount of time has elapsed.',
    )
  if (bucket === 'networkReads' || bucket === 'networkWrites')
    return new ArmError(
      429,
      'TooManyRequests',
      `The request is throttled: more than ${limit.tokens} ${bucket === 'networkReads' ? 'read' : 'write'} requests to Microsoft.Network within 5 minutes.`,
    )
  return new ArmError(
    429,
    'OperationNotAllowed',
    'The server rejected the request because too many requests have been received for this subscription.',
  ).with({ details: [detailOf(bucket, limit)] })
}

/** The refusal of a fault, which names the bucket of the request's resource provider, else ARM's, as if it were empty. */
export function throttledByFault({ method, url }: FastifyRequest): ArmError {
  const bucket = bucketsOf(method, url.split('?')[0] ?? '').findLast(({ of }) => of === undefined)?.name ?? 'armReads'
  return new ArmError(429, 'TooManyRequests', 'The request is being throttled.').with({
    details: [detailOf(bucket, documentedLimits[bucket])],
  })
}

/** By which clients learn the bucket. */
function detailOf(bucket: BucketName, { tokens }: Refused['limit']) {
  const message = { operationGroup: policyName(bucket), allowedRequestCount: tokens, measuredRequestCount: tokens + 1 }
  return { code: 'TooManyRequests', target: policyName(bucket), message: JSON.stringify(message) }
}
