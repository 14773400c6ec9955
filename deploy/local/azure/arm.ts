import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { imageVersions, sizes, skuJson, usageItems } from './catalogue.ts'
import type { SimulatorConfig } from './config.ts'
import type { Faults } from './faults.ts'
import type { AccessTokens } from './identity.ts'
import { attemptOf, type MachineLifecycle, type Operation } from './lifecycle.ts'
import type { MachineBody, Machines } from './machines.ts'
import { Resources } from './resources.ts'

export interface ArmDeps {
  readonly config: SimulatorConfig
  readonly machines: Machines
  readonly lifecycle: MachineLifecycle
  readonly faults: Faults
  readonly tokens: AccessTokens
  /** Calls by operation, for tests that count ARM's load. */
  readonly calls: Map<string, number>
  /** Every request that changes a VM, in order. */
  readonly journal: JournalEntry[]
}

/** A request that asks for a change, refused ones included. */
export interface JournalEntry {
  readonly atMs: number
  readonly method: string
  /** Name of the VM. */
  readonly name: string
}

const pageSize = 100
const vmPath = '/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Compute/virtualMachines'
const networkPath = '/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Network'

type VmRequest = FastifyRequest<{ Params: { name: string }; Querystring: Record<string, string>; Body: MachineBody }>

/** Azure Resource Manager, as far as Joiner's SDK clients see it. Paths are matched without regard to case. */
export function registerArm(app: FastifyInstance, deps: ArmDeps): void {
  const { config, machines, lifecycle, faults, tokens, calls, journal } = deps
  const resources = new Resources(config)
  app.addHook('onRequest', async (request, reply) => {
    if (!/^\/(subscriptions|providers)\//i.test(request.url)) return
    const operation = operationOf(request)
    calls.set(operation, (calls.get(operation) ?? 0) + 1)
    const changed = /\/virtualMachines\/([^/?]+)/i.exec(request.url)?.[1]
    if (changed !== undefined && request.method !== 'GET')
      journal.push({ atMs: Date.now(), method: request.method, name: changed })
    reply.header('x-ms-request-id', randomUUID())
    if (!tokens.isValid(request.headers.authorization))
      return armError(reply, 401, 'AuthenticationFailed', 'The access token is missing, invalid or expired.')
    const throttle = faults.take('throttle')
    if (throttle !== undefined) {
      reply.header('retry-after', String(throttle.retryAfterSeconds))
      return armError(reply, 429, 'TooManyRequests', 'The request is being throttled.')
    }
  })

  app.put(`${vmPath}/:name`, (request: VmRequest, reply) => putVm(request, reply))
  app.get(`${vmPath}/:name`, (request: VmRequest, reply) => {
    const machine = machines.get(request.params.name)
    return machine === undefined
      ? notFound(reply, request.params.name)
      : resources.vm(machine, request.query['$expand'] === 'instanceView')
  })
  app.get(vmPath, (request: VmRequest) =>
    page(
      request,
      machines.all.map((machine) => resources.vm(machine)),
    ),
  )
  app.patch(`${vmPath}/:name`, (request: VmRequest, reply) => {
    const machine = machines.get(request.params.name)
    if (machine === undefined) return notFound(reply, request.params.name)
    Object.assign(machine.body, { tags: request.body.tags })
    machines.save(machine)
    return resources.vm(machine)
  })
  app.delete(`${vmPath}/:name`, (request: VmRequest, reply) => {
    const machine = machines.get(request.params.name)
    if (machine === undefined) return reply.code(204).send()
    return accepted(request, reply.code(202), lifecycle.delete(machine)).send()
  })
  app.get(
    '/subscriptions/:subscription/providers/Microsoft.Compute/locations/:location/operations/:id',
    (request: FastifyRequest<{ Params: { id: string } }>) => {
      const operation = lifecycle.operations.get(request.params.id)
      // Operations are forgotten in a restart; what they were about is told by the resource.
      return {
        name: request.params.id,
        status: operation?.status ?? 'Succeeded',
        ...(operation?.error === undefined ? {} : { error: operation.error }),
      }
    },
  )
  app.get('/subscriptions/:subscription/providers/Microsoft.Compute/skus', (request: VmRequest) => {
    const asked = /location eq '([^']*)'/i.exec(request.query['$filter'] ?? '')?.[1] ?? config.location
    const offered = asked.toLowerCase() === config.location ? [...sizes.values()] : []
    return { value: offered.map((size) => skuJson(size, config)) }
  })
  app.get('/subscriptions/:subscription/providers/Microsoft.Compute/locations/:location/usages', () => ({
    value: usageItems(usedVCpus()),
  }))
  app.get(
    '/subscriptions/:subscription/providers/Microsoft.Compute/locations/:location/communityGalleries/:gallery/images/:image/versions',
    (request: FastifyRequest<{ Params: { gallery: string; image: string } }>) => ({
      value: (imageVersions.get(request.params.image) ?? []).map(({ name, publishedDate }) => ({
        name,
        location: config.location,
        properties: { publishedDate, excludeFromLatest: false },
        identifier: {
          uniqueId: `/CommunityGalleries/${request.params.gallery}/Images/${request.params.image}/Versions/${name}`,
        },
      })),
    }),
  )
  app.get(`${networkPath}/networkInterfaces`, (request: VmRequest) =>
    page(
      request,
      machines.all.flatMap((machine) => [...resources.nics(machine)]),
    ),
  )
  app.get(`${networkPath}/networkSecurityGroups`, () => ({ value: [resources.networkSecurityGroup()] }))
  app.get(`${networkPath}/loadBalancers`, () => ({ value: [resources.loadBalancer()] }))
  app.get('/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Compute/disks', () => ({
    value: machines.all.flatMap((machine) => [...resources.disks(machine)]),
  }))
  app.get(`${networkPath}/virtualNetworks/:vnet/subnets/:name`, (request, reply) => {
    const asked = request.url.split('?')[0]?.toLowerCase()
    return asked === config.subnetId.toLowerCase()
      ? resources.subnet()
      : armError(reply, 404, 'NotFound', `Resource ${asked} not found.`)
  })
  app.setNotFoundHandler((request, reply) =>
    armError(reply, 404, 'ResourceNotFound', `The simulator has no ${request.method} ${request.url.split('?')[0]}.`),
  )

  async function putVm(request: VmRequest, reply: FastifyReply): Promise<unknown> {
    const { name } = request.params
    const existing = machines.get(name)
    const attempt = attemptOf(request.body)
    const latency = faults.take('latency', attempt)
    if (latency !== undefined) await new Promise((resolve) => setTimeout(resolve, latency.ms))
    if (existing !== undefined) {
      if (existing.body.properties.hardwareProfile.vmSize !== attempt.sku)
        return armError(reply, 409, 'PropertyChangeNotAllowed', `Changing property 'vmSize' is not allowed.`)
      return reply.code(200).send(resources.vm(existing))
    }
    if (!sizes.has(attempt.sku))
      return armError(reply, 400, 'InvalidParameter', `The value ${attempt.sku} of parameter vmSize is invalid.`)
    const refusal = faults.take('failSync', attempt)
    if (refusal !== undefined)
      return armError(
        reply,
        refusal.status ?? 409,
        refusal.code,
        refusal.message ?? `Allocation failed: ${refusal.code}`,
      )
    const { machine, operation } = lifecycle.create(name, request.body)
    if (faults.take('resetAfterCommit', attempt) !== undefined) {
      reply.hijack()
      request.raw.socket.destroy()
      return reply
    }
    return accepted(request, reply.code(201), operation).send(resources.vm(machine))
  }

  function accepted(request: FastifyRequest, reply: FastifyReply, operation: Operation): FastifyReply {
    const url = `https://${request.host}/subscriptions/${config.subscriptionId}/providers/Microsoft.Compute/locations/${config.location}/operations/${operation.id}?api-version=2026-04-01`
    return reply.header('azure-asyncoperation', url).header('location', url).header('retry-after', '1')
  }

  function usedVCpus(): ReadonlyMap<string, number> {
    const used = new Map<string, number>()
    for (const machine of machines.all) {
      const size = sizes.get(machine.body.properties.hardwareProfile.vmSize)
      if (size !== undefined) used.set(size.family.family, (used.get(size.family.family) ?? 0) + size.vCpus)
    }
    return used
  }
}

function page(request: VmRequest, all: readonly Record<string, unknown>[]): Record<string, unknown> {
  const from = Number(request.query['$skiptoken'] ?? 0)
  const value = all.slice(from, from + pageSize)
  if (from + pageSize >= all.length) return { value }
  const next = new URL(request.url, `https://${request.host}`)
  next.searchParams.set('$skiptoken', String(from + pageSize))
  return { value, nextLink: next.href }
}

function notFound(reply: FastifyReply, name: string): FastifyReply {
  return armError(
    reply,
    404,
    'ResourceNotFound',
    `The Resource 'Microsoft.Compute/virtualMachines/${name}' was not found.`,
  )
}

function armError(reply: FastifyReply, status: number, code: string, message: string): FastifyReply {
  return reply.code(status).send({ error: { code, message } })
}

/** `PUT virtualMachines`, `GET skus`: the method and the last type in the path. */
function operationOf(request: FastifyRequest): string {
  const path = request.url.split('?')[0] ?? ''
  const types =
    /(virtualMachines|skus|usages|networkInterfaces|networkSecurityGroups|loadBalancers|subnets|versions|operations|disks)/gi
  return `${request.method} ${[...path.matchAll(types)].at(-1)?.[0] ?? path}`
}
