import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ArmDeps } from './arm-deps.ts'
import { ArmError, resourceNotFound } from './arm-error.ts'
import { type ArmRequest, pageOf, sameLocation } from './arm-request.ts'
import { allocationMessage } from './capacity-pools.ts'
import type { Attempt, Fault } from './faults.ts'
import { attemptOf } from './lifecycle.ts'
import { type Machine, type MachineBody, nicConfigurations } from './machines.ts'
import type { Operation } from './operations.ts'
import type { VmSize } from './sku-catalogue.ts'

const vmPath = '/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Compute/virtualMachines'
const operationPath = '/subscriptions/:subscription/providers/Microsoft.Compute/locations/:location/operations/:id'

type Refusal = Fault & { readonly kind: 'failSync' }

/**
 * Virtual machines and their long-running operations, which announce themselves in `Azure-AsyncOperation` and `Location`
 * (https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations).
 */
export function registerVirtualMachines(app: FastifyInstance, deps: ArmDeps): void {
  const { config, machines, lifecycle, operations, resources, faults, quotas, pools } = deps

  app.put(`${vmPath}/:name`, (request: ArmRequest<MachineBody>, reply) => {
    const { name = '' } = request.params
    checkBody(request.body)
    const existing = machines.get(name)
    if (existing !== undefined) return putAgain(request, reply, existing)
    const attempt = attemptOf(request.body)
    const size = checkReferences(request.body, deps)
    quotas.check(size, attempt.capacityType === 'spot')
    const failure = pools.admit(attempt, size)
    const refusal = faults.take('failSync', attempt)
    if (refusal !== undefined) throw wanted(refusal, attempt)
    const { machine, operation } = lifecycle.create({ name, body: request.body, size, failure })
    if (faults.take('resetAfterCommit', attempt) !== undefined) {
      reply.hijack()
      request.raw.socket.destroy()
      return reply
    }
    return announced(request, reply.code(201), operation).send(resources.vm(machine))
  })

  app.get(`${vmPath}/:name`, (request: ArmRequest) =>
    resources.vm(found(request), request.query['$expand'] === 'instanceView'),
  )

  app.get(vmPath, (request: ArmRequest) => pageOf(request, config, machines.sorted, (machine) => resources.vm(machine)))

  app.patch(`${vmPath}/:name`, (request: ArmRequest<Partial<MachineBody> | undefined>, reply) => {
    const machine = found(request)
    refuseIfDeleting(machine)
    const operation = lifecycle.update(machine, changeOf(request.body ?? {}))
    return announced(request, reply.code(200), operation).send(resources.vm(machine))
  })

  app.delete(`${vmPath}/:name`, (request: ArmRequest, reply) => {
    const machine = machines.get(request.params['name'] ?? '')
    if (machine === undefined) return reply.code(204).send()
    return announced(request, reply.code(202), lifecycle.delete(machine)).send()
  })

  app.get(operationPath, (request: ArmRequest, reply) => {
    const { id = '' } = request.params
    const operation = operations.get(id)
    if (operation === undefined) throw resourceNotFound('locations/operations', id, config.nodeResourceGroup)
    // The Location form: 202 until the end, then the operation's result: the VM, or nothing after its deletion.
    if (request.query['monitor'] === 'true') {
      if (operation.status === 'InProgress') return announced(request, reply.code(202), operation).send()
      const machine = operation.kind === 'delete' ? undefined : machines.get(operation.vm)
      return machine === undefined ? reply.code(200).send() : resources.vm(machine)
    }
    const { status, startTime, endTime, error } = operation
    if (status === 'InProgress') reply.header('retry-after', '1')
    return {
      name: id,
      startTime,
      ...(endTime === undefined ? {} : { endTime }),
      status,
      ...(error === undefined ? {} : { error }),
    }
  })

  /** PUT over a VM: the same again changes nothing, a VM that failed is tried again, and what is immutable is refused. */
  function putAgain(request: ArmRequest<MachineBody>, reply: FastifyReply, machine: Machine): FastifyReply {
    refuseIfDeleting(machine)
    const changed = immutable.find(([, value]) => value(machine.body) !== value(request.body))?.[0]
    if (changed === 'location')
      throw new ArmError(
        409,
        'InvalidResourceLocation',
        `The VM '${machine.name}' exists already in location '${machine.body.location}'.`,
      )
    if (changed !== undefined)
      throw new ArmError(409, 'PropertyChangeNotAllowed', `Changing property '${changed}' is not allowed.`)
    const operation =
      operations.inFlightOn(machine.vmId) ??
      (machine.state === 'Failed'
        ? lifecycle.createAgain(machine, request.body, pools.admit(attemptOf(machine.body), machine.size))
        : lifecycle.update(machine, changeOf(request.body)))
    return announced(request, reply.code(200), operation).send(resources.vm(machine))
  }

  function wanted({ status, code, message }: Refusal, { sku }: Attempt): ArmError {
    return new ArmError(status ?? 409, code, message ?? allocationMessage(code, sku, config.location))
  }

  function announced(request: ArmRequest<never> | ArmRequest, reply: FastifyReply, { id }: Operation): FastifyReply {
    const url = new URL(
      `/subscriptions/${config.subscriptionId}/providers/Microsoft.Compute/locations/${config.location}/operations/${id}`,
      `https://${request.host}`,
    )
    url.searchParams.set('api-version', (request as ArmRequest).query['api-version'] ?? '')
    reply.header('azure-asyncoperation', url.href)
    url.searchParams.set('monitor', 'true')
    return reply.header('location', url.href).header('retry-after', '1')
  }

  function found(request: ArmRequest<never> | ArmRequest): Machine {
    const { name = '' } = (request as ArmRequest).params
    const machine = machines.get(name)
    if (machine === undefined)
      throw resourceNotFound('Microsoft.Compute/virtualMachines', name, config.nodeResourceGroup)
    return machine
  }
}

/** Properties that no PUT may change, by the name that the refusal gives. */
const immutable: readonly (readonly [string, (body: MachineBody) => unknown])[] = [
  ['location', ({ location }) => location.replaceAll(' ', '').toLowerCase()],
  ['zones', ({ zones }) => (zones ?? []).join()],
  ['vmSize', ({ properties }) => properties.hardwareProfile.vmSize],
  ['priority', ({ properties }) => properties.priority ?? 'Regular'],
  ['osDisk.name', ({ properties }) => properties.storageProfile?.osDisk?.name],
  ['imageReference', ({ properties }) => JSON.stringify(properties.storageProfile?.imageReference)?.toLowerCase()],
  ['osProfile.adminUsername', ({ properties }) => properties.osProfile?.adminUsername],
  ['osProfile.computerName', ({ properties }) => properties.osProfile?.computerName],
  ['osProfile.customData', ({ properties }) => properties.osProfile?.customData],
]

function changeOf({ tags, identity }: Partial<MachineBody>): Pick<MachineBody, 'tags' | 'identity'> {
  return { ...(tags === undefined ? {} : { tags }), ...(identity === undefined ? {} : { identity }) }
}

function refuseIfDeleting({ name, state }: Machine): void {
  if (state === 'Deleting')
    throw new ArmError(
      409,
      'OperationNotAllowed',
      `VM '${name}' is marked for deletion; only its deletion can be asked for again.`,
    )
}

function checkBody(body: Partial<MachineBody> | undefined): void {
  if (body?.location === undefined)
    throw new ArmError(400, 'LocationRequired', 'The definition of a VM needs the property location.')
  if (typeof body.properties?.hardwareProfile?.vmSize !== 'string')
    throw new ArmError(400, 'InvalidParameter', 'Required parameter vmSize is missing (null).')
}

/** What a new VM refers to must be there: region, size, image, subnet, backend pools; and its disk's name must be free. */
function checkReferences(body: MachineBody, { config, machines, resources, catalogue, images }: ArmDeps): VmSize {
  const { hardwareProfile, storageProfile } = body.properties
  if (!sameLocation(body.location, config.location)) {
    throw new ArmError(
      400,
      'LocationNotAvailableForResourceType',
      `Location '${body.location}' is not available for resource type 'Microsoft.Compute/virtualMachines'. Available: '${config.location}'.`,
    )
  }
  const size = catalogue.size(hardwareProfile.vmSize)
  if (size === undefined)
    throw new ArmError(400, 'InvalidParameter', `The value ${hardwareProfile.vmSize} of parameter vmSize is invalid.`)
  const image = storageProfile?.imageReference?.communityGalleryImageId ?? storageProfile?.imageReference?.id
  if (image !== undefined && !images.has(image))
    throw new ArmError(
      404,
      'GalleryImageNotFound',
      `The gallery image ${image} is not available in ${config.location}.`,
    )
  const nics = nicConfigurations({ body })
  const known = new Set([config.subnetId.toLowerCase(), ...resources.poolIds().map((id) => id.toLowerCase())])
  const references = nics
    .flatMap((nic) => nic.properties?.ipConfigurations ?? [])
    .flatMap(({ properties }) => [properties?.subnet, ...(properties?.loadBalancerBackendAddressPools ?? [])])
  for (const reference of references) {
    if (reference === undefined || known.has(reference.id.toLowerCase())) continue
    throw new ArmError(
      400,
      'InvalidResourceReference',
      `Resource ${reference.id} referenced by resource ${resources.id('Microsoft.Network', 'networkInterfaces', nics[0]?.name ?? '')} was not found.`,
    )
  }
  const disk = storageProfile?.osDisk?.name?.toLowerCase()
  if (disk !== undefined && machines.parts('disks').get(disk) !== undefined) {
    throw new ArmError(
      409,
      'ConflictingUserInput',
      `Disk ${disk} exists already in resource group ${config.nodeResourceGroup}; only createOption Attach can use it.`,
    )
  }
  return size
}
