import type { FastifyInstance, FastifyReply } from 'fastify'
import { announce } from '../server/announce.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError, resourceNotFound } from '../server/arm-error.ts'
import type { ArmRequest } from '../server/arm-request.ts'
import { attemptOf } from './attempt.ts'
import type { Extension, Machine } from './machine.ts'

const path =
  '/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Compute/virtualMachines/:vm/extensions'

interface Body {
  readonly tags?: Record<string, string>
  readonly properties?: Readonly<Record<string, unknown>>
}

/** Extensions of VMs. They install nothing; what becomes of one is a matter of faults. */
export function registerExtensions(app: FastifyInstance, deps: ArmDeps): void {
  const { config, lifecycle, resources, faults } = deps
  const machineOf = ({ params, url }: Pick<ArmRequest, 'params' | 'url'>, verb: string) =>
    deps.machines.get(params['vm'] ?? '') ?? parentNotFound(url, verb)
  const extensionOf = ({ params: { name = '' } }: Pick<ArmRequest, 'params'>, machine: Machine) =>
    machine.extensions?.[name.toLowerCase()] ?? notFound(`${machine.name}/${name}`, config)

  app.put(`${path}/:name`, (request: ArmRequest<Body>, reply) => {
    const machine = machineOf(request, 'write')
    const name = request.params['name'] ?? ''
    const before = machine.extensions?.[name.toLowerCase()]
    const fault = faults.take('failExtension', attemptOf(machine.body))
    const { tags, properties = {} } = request.body
    const { protectedSettings: _secret, ...shown } = properties
    const extension: Extension = {
      name,
      ...(tags === undefined ? {} : { tags }),
      properties: shown,
      state: before === undefined ? 'Creating' : 'Updating',
      ...(fault === undefined ? {} : { failure: { code: fault.code, message: fault.message ?? fault.code } }),
    }
    const operation = lifecycle.changeExtension(machine, extension)
    return announce(reply.code(before === undefined ? 201 : 200), operation, config).send(
      resources.extension(machine, extension),
    )
  })

  app.patch(`${path}/:name`, (request: ArmRequest<Body>, reply) => {
    const machine = machineOf(request, 'write')
    const { tags } = request.body
    const extension: Extension = {
      ...extensionOf(request, machine),
      ...(tags === undefined ? {} : { tags }),
      state: 'Updating',
    }
    return announce(reply.code(200), lifecycle.changeExtension(machine, extension), config).send(
      resources.extension(machine, extension),
    )
  })

  app.get(path, (request: ArmRequest) => {
    const machine = machineOf(request, 'read')
    return { value: Object.values(machine.extensions ?? {}).map((one) => resources.extension(machine, one)) }
  })

  app.get(`${path}/:name`, (request: ArmRequest) => {
    const machine = machineOf(request, 'read')
    return resources.extension(machine, extensionOf(request, machine))
  })

  app.delete(`${path}/:name`, (request: ArmRequest, reply): FastifyReply => {
    const machine = machineOf(request, 'delete')
    const extension = machine.extensions?.[(request.params['name'] ?? '').toLowerCase()]
    if (extension === undefined) return reply.code(204).send()
    const operation = lifecycle.changeExtension(machine, { ...extension, state: 'Deleting' })
    return announce(reply.code(202), operation, config).send()
  })
}

function parentNotFound(url: string, verb: string): never {
  const parent = url.replace(/\/extensions.*$/i, '')
  throw new ArmError(
    404,
    'ParentResourceNotFound',
    `Failed to perform '${verb}' on resource(s) of type 'virtualMachines/extensions', because the parent resource '${parent}' could not be found.`,
  )
}

function notFound(name: string, { nodeResourceGroup }: ArmDeps['config']): never {
  throw resourceNotFound('Microsoft.Compute/virtualMachines/extensions', name, nodeResourceGroup)
}
