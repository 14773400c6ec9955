import type { FastifyInstance } from 'fastify'
import type { ArmDeps } from './server/arm-deps.ts'
import { ArmError, resourceNotFound } from './server/arm-error.ts'
import { type ArmRequest, pageOf } from './server/arm-request.ts'
import type { Leftover, Part, PartType } from './virtual-machines/machine.ts'
import type { Machines } from './virtual-machines/machines.ts'

type LeftoverPart = Part & { readonly kind: 'leftover' }

const providers = { networkInterfaces: 'Microsoft.Network', disks: 'Microsoft.Compute' } as const

/** GET, list, PATCH of tags and DELETE of the NICs or disks that VMs came with. All are in the node resource group, and so in the list of the subscription. */
export function registerParts(
  app: FastifyInstance,
  { path, type }: { readonly path: string; readonly type: PartType },
  deps: ArmDeps,
): void {
  const { config, machines, resources } = deps
  const show = (part: Part) => resources.part(type, part)
  for (const list of [path, ofSubscription(path)])
    app.get(list, (request: ArmRequest) => pageOf(request, config, { all: machines.parts(type), show }))
  app.get(`${path}/:name`, (request: ArmRequest) => show(foundPart(request, type, deps)))
  app.patch(`${path}/:name`, (request: ArmRequest<{ readonly tags?: Record<string, string> } | undefined>) => {
    if (request.body?.tags !== undefined) tagPart(foundPart(request, type, deps), request.body.tags, machines)
    return show(foundPart(request, type, deps))
  })
  app.delete(`${path}/:name`, (request: ArmRequest, reply) => {
    const { name = '' } = request.params
    return reply.code(deletePart(type, name, machines) ? 200 : 204).send()
  })
}

/** The path of a list of a resource group, without the group. */
export function ofSubscription(path: string): string {
  return path.replace('/resourceGroups/:group', '')
}

/** A NIC or disk that a request names. Errors: 404. */
function foundPart<T>(request: ArmRequest<T>, type: PartType, { config, machines }: ArmDeps): Part {
  const { name = '' } = request.params
  const part = machines.parts(type).get(name)
  if (part === undefined) throw resourceNotFound(`${providers[type]}/${type}`, name, config.nodeResourceGroup)
  return part
}

/** Replaces the tags of a NIC or disk, as PATCH with tags does. */
function tagPart(part: Part, tags: Readonly<Record<string, string>>, machines: Machines): void {
  if (part.kind === 'attached') {
    part.machine.partTags = { ...part.machine.partTags, [part.name]: tags }
    machines.save(part.machine)
  } else machines.saveLeftover({ ...part.leftover, resource: { ...part.leftover.resource, tags } })
}

/** Deletes a NIC or disk that hangs on no VM; false if there was none. Errors: one that hangs on a VM is refused. */
function deletePart(type: PartType, name: string, machines: Machines): boolean {
  const part = machines.parts(type).get(name)
  if (part?.kind === 'attached') throw inUse(type, name, part.machine.name)
  if ((part?.leftover.reserved?.untilMs ?? 0) > Date.now()) throw reservedError((part as LeftoverPart).leftover)
  return machines.discard(type, name)
}

/** Azure keeps a NIC for the VM that it could not make. */
export function reservedError({ reserved }: Leftover): ArmError {
  const seconds = Math.ceil(((reserved?.untilMs ?? 0) - Date.now()) / 1000)
  return new ArmError(
    400,
    'NicReservedForAnotherVm',
    `Nic(s) in request is reserved for another Virtual Machine for ${seconds} seconds. Please provide another nic(s) or retry after ${seconds} seconds. Reserved VM: ${reserved?.vm}`,
  )
}

function inUse(type: PartType, name: string, vm: string): ArmError {
  return type === 'disks'
    ? new ArmError(409, 'OperationNotAllowed', `Disk ${name} is attached to VM ${vm}.`)
    : new ArmError(400, 'NicInUse', `Network interface ${name} is used by the VM ${vm} and cannot be deleted.`)
}
