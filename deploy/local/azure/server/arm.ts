import { PassThrough } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authorize, authorizeLinked } from '../access/authorization.ts'
import { registerManagedClusters } from '../access/managed-clusters.ts'
import { registerManagedIdentities } from '../access/managed-identities.ts'
import { setSender } from '../access/principals.ts'
import { registerRoles } from '../access/role-requests.ts'
import { registerSubscription } from '../access/subscription.ts'
import { type Attempt, createOperation } from '../admin/faults.ts'
import { refusalOf } from '../admin/refusal-words.ts'
import { registerAgentPools } from '../agent-pools/agent-pool-requests.ts'
import { violationsOf } from '../boot/violations.ts'
import { registerCompute } from '../compute.ts'
import { registerDiskEncryptionSets } from '../disks/disk-encryption-sets.ts'
import { registerNetwork } from '../network/network.ts'
import { registerCapacityGroups } from '../reservations/capacity-group-requests.ts'
import { registerResourceGraph } from '../resource-graph/resource-graph.ts'
import { throttle, throttledByFault } from '../throttling/throttled-request.ts'
import { attemptOf } from '../virtual-machines/attempt.ts'
import { registerBootDiagnostics } from '../virtual-machines/boot-diagnostics.ts'
import { registerExtensions } from '../virtual-machines/extensions.ts'
import type { MachineBody } from '../virtual-machines/machine.ts'
import { registerVirtualMachines } from '../virtual-machines/virtual-machines.ts'
import type { ArmDeps, JournalEntry } from './arm-deps.ts'
import { registerArmErrors } from './arm-error.ts'
import { type ArmRequest, callOf, checkRequest, isOutsideNodeGroup, operationOf, pathOf } from './arm-request.ts'

/** Azure Resource Manager, as far as Joiner's SDK clients see it. Paths are matched without regard to case. */
export function registerArm(app: FastifyInstance, deps: ArmDeps): void {
  registerArmErrors(app)
  registerHooks(app, deps)
  registerVirtualMachines(app, deps)
  registerCompute(app, deps)
  registerExtensions(app, deps)
  registerBootDiagnostics(app, deps)
  registerDiskEncryptionSets(app, deps)
  registerCapacityGroups(app, deps)
  registerNetwork(app, deps)
  deps.galleryToken.register(app)
  registerResourceGraph(app, deps)
  registerSubscription(app, deps)
  registerManagedClusters(app, deps)
  registerAgentPools(app, deps)
  registerManagedIdentities(app, deps)
  registerRoles(app, deps)
}

/** What happens to every request before and after its resource provider has it: it is counted, identified, let in or refused, and disturbed. */
function registerHooks(app: FastifyInstance, deps: ArmDeps): void {
  const { config, calls, journal } = deps
  const journalled = new WeakMap<FastifyRequest, JournalEntry>()
  app.addHook('onRequest', async (request: FastifyRequest, reply) => {
    if (!isArm(request)) return
    const vm = /\/virtualMachines\/([^/?]+)/i.exec(request.url)?.[1]
    calls.add(callOf(request), vm)
    if (vm !== undefined && request.method !== 'GET') {
      const entry: JournalEntry = { atMs: Date.now(), method: request.method, name: vm }
      journal.push(entry)
      journalled.set(request, entry)
    }
    reply.headers(identityOf(request, deps.newId()))
    authenticate(deps, request, reply)
    throttle(reply, deps.throttling, config)
    checkRequest(request as ArmRequest, config, deps.network.setup)
    authorize(request as ArmRequest, deps)
  })
  app.addHook('onSend', async (request, reply) => {
    const entry = journalled.get(request)
    if (entry !== undefined) entry.answer = { atMs: Date.now(), status: reply.statusCode }
  })
  app.addHook('onSend', async (request, reply, payload) => {
    if (!isArm(request) || typeof payload !== 'string') return payload
    if (deps.faults.take('stallBody', attemptIn(request.body), operationOf(request)) === undefined) return payload
    reply.removeHeader('content-length')
    const stalled = new PassThrough()
    stalled.write(payload.slice(0, payload.length / 2))
    return stalled
  })
  app.addHook('preHandler', async (request: FastifyRequest, reply) => {
    if (!isArm(request)) return
    inspect(deps, request)
    authorizeLinked(request, deps)
    await disturb(deps, request, reply)
    if (!isList(request)) return
    const isEmptied = () => deps.faults.take('emptyList', undefined, operationOf(request)) !== undefined
    if (isOutsideNodeGroup(request as ArmRequest, config) || isEmptied()) return reply.send({ value: [] })
  })
}

/** Looks at the custom data of every PUT, those included that are refused. */
function inspect({ violations }: ArmDeps, { method, url, body }: FastifyRequest): void {
  const vm = /\/virtualMachines\/([^/?]+)(?:\?|$)/i.exec(url)?.[1]
  const customData = (body as Partial<MachineBody> | undefined)?.properties?.osProfile?.customData
  if (method !== 'PUT' || vm === undefined || typeof customData !== 'string') return
  violations.push(...violationsOf(customData).map((path) => ({ vm, path })))
}

function authenticate({ tokens, config }: ArmDeps, request: FastifyRequest, reply: FastifyReply): void {
  try {
    setSender(request, tokens.check(request.headers.authorization, `https://${request.host}`))
  } catch (error) {
    const authority = `https://${request.host}/${config.tenantId}`
    reply.header('www-authenticate', `Bearer authorization_uri="${authority}", error="invalid_token"`)
    throw error
  }
}

/** The faults that hit requests before anybody looks into them. A refused create is the VM's business: repeated PUTs pass it by. */
async function disturb({ faults, config }: ArmDeps, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const operation = operationOf(request)
  const attempt = attemptIn(request.body)
  const latency = faults.take('latency', attempt, operation)
  if (latency !== undefined) await new Promise((resolve) => setTimeout(resolve, latency.ms))
  const throttled = faults.take('throttle', attempt, operation)
  if (throttled !== undefined) {
    reply.header('retry-after', String(throttled.retryAfterSeconds))
    throw throttledByFault(request)
  }
  const refusal = operation === createOperation ? undefined : faults.take('failSync', attempt, operation)
  if (refusal !== undefined)
    throw refusalOf(refusal, { method: request.method, path: pathOf(request), attempt }, config)
}

/** Whether a request is for all resources of a type and not for one. */
const isList = ({ method, url }: FastifyRequest) =>
  method === 'GET' && /\/(virtualMachines|networkInterfaces|disks)(\?|$)/i.test(url)

const isArm = ({ url }: FastifyRequest) => /^\/(subscriptions|providers)(\/|\?|$)/i.test(url)

function attemptIn(body: unknown): Attempt | undefined {
  const vm = body as Partial<MachineBody> | undefined | null
  return vm?.properties?.hardwareProfile === undefined ? undefined : attemptOf(vm as MachineBody)
}

/** What support and clients' logs identify a request by. */
function identityOf({ headers }: FastifyRequest, id: string): Readonly<Record<string, string>> {
  const correlation = headers['x-ms-correlation-request-id']
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')
  return {
    'x-ms-request-id': id,
    'x-ms-correlation-request-id': typeof correlation === 'string' ? correlation : id,
    'x-ms-routing-request-id': `SIMULATED:${time}:${id}`,
  }
}
