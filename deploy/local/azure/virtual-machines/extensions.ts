import type { FastifyInstance, FastifyReply } from 'fastify'
import { announce } from '../server/announce.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError, resourceNotFound } from '../server/arm-error.ts'
import { type ArmRequest, pathOf } from '../server/arm-request.ts'
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
    const before = extensionOf(request, machine)
    const extension: Extension = {
      ...before,
      ...(request.body.tags === undefined ? {} : { tags: request.body.tags }),
      state: 'Updating',
    }
    return announce(reply.code(200), lifecycle.changeExtension(machine, extension), config).send(
      resources.extension(machine, extension),
    )
  })

  app.get(path, (request: ArmRequest) => {
    const machine = machineOf(request, 'read')
    return {
      value: Object.values(machine.extensions ?? {}).map((extension) => resources.extension(machine, extension)),
    }
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

  function machineOf(request: ArmRequest<never> | ArmRequest, verb: string): Machine {
    const machine = deps.machines.get((request as ArmRequest).params['vm'] ?? '')
    if (machine !== undefined) return machine
    const parent = pathOf(request).replace(/\/extensions.*$/i, '')
    throw new ArmError(
      404,
      'ParentResourceNotFound',
      `Failed to perform '${verb}' on resource(s) of type 'virtualMachines/extensions', because the parent resource '${parent}' could not be found.`,
    )
  }

  function extensionOf(request: ArmRequest<never> | ArmRequest, machine: Machine): Extension {
    const name = (request as ArmRequest).params['name'] ?? ''
    const found = machine.extensions?.[name.toLowerCase()]
    if (found !== undefined) return found
    throw resourceNotFound(
      'Microsoft.Compute/virtualMachines/extensions',
      `${machine.name}/${name}`,
      config.nodeResourceGroup,
    )
  }
}
