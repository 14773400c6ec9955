import type { FastifyInstance, FastifyReply } from 'fastify'
import { refusalOf } from '../admin/refusal-words.ts'
import { etagOf } from '../drawn.ts'
import { referredAddresses, withReferredNics } from '../network/nic-requests.ts'
import { ofSubscription } from '../parts.ts'
import { announce } from '../server/announce.ts'
import { securityProfileOf } from '../server/api-versions.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError, resourceNotFound } from '../server/arm-error.ts'
import { type ArmRequest, pageOf, pathOf } from '../server/arm-request.ts'
import type { SimulatorConfig } from '../server/config.ts'
import type { Operation } from '../server/operations.ts'
import { attemptOf } from './attempt.ts'
import { instanceView } from './instance-view.ts'
import type { Machine, MachineBody } from './machine.ts'
import { checkBody, checkReferences, freeAddresses } from './vm-references.ts'
import { checkTags } from './vm-tags.ts'

const vmPath = '/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Compute/virtualMachines'
const operationPath = '/subscriptions/:subscription/providers/Microsoft.Compute/locations/:location/operations/:id'

/**
 * Virtual machines and their long-running operations, which announce themselves in `Azure-AsyncOperation` and `Location`
 * (https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations).
 */
export function registerVirtualMachines(app: FastifyInstance, deps: ArmDeps): void {
  const { config, machines, lifecycle, operations, resources } = deps
  const found = (request: ArmRequest) => foundIn(deps, request.params['name'])

  app.put(`${vmPath}/:name`, (request: ArmRequest<MachineBody>, reply) => putMachine(deps, request, reply))

  app.get(`${vmPath}/:name`, (request: ArmRequest) =>
    resources.vm(found(request), request.query['$expand'] === 'instanceView'),
  )

  app.get(`${vmPath}/:name/instanceView`, (request: ArmRequest) => instanceView(found(request)))

  // All are in the node resource group.
  for (const path of [vmPath, ofSubscription(vmPath)])
    app.get(path, (request: ArmRequest) =>
      pageOf(request, config, { all: machines.sorted, show: (machine) => resources.vm(machine) }),
    )

  app.patch(`${vmPath}/:name`, (request: ArmRequest<Partial<MachineBody> | undefined>, reply) =>
    patchMachine(deps, request, reply),
  )

  app.delete(`${vmPath}/:name`, (request: ArmRequest, reply) => {
    const machine = machines.get(request.params['name'] ?? '')
    if (machine === undefined) return reply.code(204).send()
    return announce(reply.code(202), lifecycle.delete(machine), config).send()
  })

  app.post(`${vmPath}/:name/restart`, (request: ArmRequest, reply) => {
    const machine = found(request)
    refuseIfDeleting(machine)
    if (machine.power !== 'running')
      throw new ArmError(409, 'OperationNotAllowed', `VM '${machine.name}' is not running, so it cannot be restarted.`)
    return announce(reply.code(202), operations.inFlightOn(machine.vmId) ?? lifecycle.restart(machine), config).send()
  })

  app.get(operationPath, (request: ArmRequest, reply) => {
    const { id = '' } = request.params
    const operation = operations.get(id)
    if (operation === undefined) throw resourceNotFound('locations/operations', id, config.nodeResourceGroup)
    // The Location form: 202 until the end, then the operation's result: the VM, or nothing after its deletion.
    if (request.query['monitor'] === 'true') {
      if (operation.status === 'InProgress') return announce(reply.code(202), operation, config).send()
      return resultOf(deps, operation) ?? reply.code(200).send()
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
}

/** Makes a VM. What Azure refuses comes in its order: the body, what is there already, references, the place for it, and faults that were asked for. */
function putMachine(deps: ArmDeps, request: ArmRequest<MachineBody>, reply: FastifyReply): FastifyReply {
  const { config, machines, lifecycle, resources, faults, quotas, pools, capacityGroups } = deps
  const { name = '' } = request.params
  checkBody(request.body)
  const body = withReferredNics(withSecurityProfile(request, config), name, deps)
  const existing = machines.get(name)
  if (existing !== undefined && request.headers['if-none-match'] === '*')
    throw new ArmError(412, 'PreconditionFailed', `The VM '${name}' exists already.`)
  if (existing !== undefined)
    return announce(reply.code(200), putAgain(deps, existing, body), config).send(resources.vm(existing))
  const attempt = attemptOf(body)
  const size = checkReferences(body, deps)
  const { imageReference } = body.properties.storageProfile ?? {}
  deps.galleryToken.check(imageReference?.id, request.headers['x-ms-authorization-auxiliary'])
  const isPlaced = capacityGroups.holdsPlaceFor(body)
  if (!isPlaced) quotas.check(size, attempt.capacityType === 'spot')
  const failure = isPlaced ? undefined : pools.admit(attempt, size)
  const refusal = faults.take('failSync', attempt)
  if (refusal !== undefined) throw refusalOf(refusal, { method: 'PUT', path: pathOf(request), attempt }, config)
  const addresses = referredAddresses(request.body, deps) ?? freeAddresses(body, deps)
  const { machine, operation } = lifecycle.create({ name, body, size, addresses, failure })
  if (faults.take('resetAfterCommit', attempt) !== undefined) {
    reply.hijack()
    request.raw.socket.destroy()
    return reply
  }
  return announce(reply.code(201), operation, config).send(resources.vm(machine))
}

/** PUT over a VM: the same again changes nothing, a VM that failed is tried again, and what is immutable is refused. */
function putAgain({ lifecycle, operations, pools }: ArmDeps, machine: Machine, body: MachineBody): Operation {
  refuseIfDeleting(machine)
  const changed = immutable.find(([, value]) => value(machine.body) !== value(body))?.[0]
  if (changed === 'location')
    throw new ArmError(
      409,
      'InvalidResourceLocation',
      `The VM '${machine.name}' exists already in location '${machine.body.location}'.`,
    )
  if (changed !== undefined)
    throw new ArmError(409, 'PropertyChangeNotAllowed', `Changing property '${changed}' is not allowed.`)
  return (
    operations.inFlightOn(machine.vmId) ??
    (machine.state === 'Failed'
      ? lifecycle.createAgain(machine, body, pools.admit(attemptOf(machine.body), machine.size))
      : lifecycle.update(machine, changeOf(body)))
  )
}

function patchMachine(
  deps: ArmDeps,
  request: ArmRequest<Partial<MachineBody> | undefined>,
  reply: FastifyReply,
): FastifyReply {
  const { config, lifecycle, resources } = deps
  const machine = foundIn(deps, request.params['name'])
  refuseIfDeleting(machine)
  const ifMatch = request.headers['if-match'] ?? '*'
  if (ifMatch !== '*' && ifMatch !== etagOf(machine))
    throw new ArmError(412, 'PreconditionFailed', `The VM '${machine.name}' was changed since it was read.`)
  const { identity, ...change } = request.body ?? {}
  checkTags(change.tags)
  if (change.properties?.capacityReservation !== undefined) leaveGroup(deps, machine, change.properties)
  const operation = lifecycle.update(
    machine,
    changeOf(
      identity === undefined ? change : { ...change, identity: withIdentities(machine.body.identity, identity) },
    ),
  )
  return announce(reply.code(200), operation, config).send(resources.vm(machine))
}

/** The only change of a group that Azure allows without a deallocation: to none. */
function leaveGroup(
  { capacityGroups }: ArmDeps,
  machine: Machine,
  { capacityReservation: wanted }: Partial<MachineBody['properties']>,
): void {
  if (typeof wanted?.capacityReservationGroup?.id === 'string')
    throw new ArmError(409, 'OperationNotAllowed', `VM '${machine.name}' can join no capacity reservation group.`)
  capacityGroups.checkLeaves(machine)
  const { capacityReservation: _left, ...properties } = machine.body.properties
  machine.body = { ...machine.body, properties }
}

/** What an operation made; undefined when that is gone. */
function resultOf(
  { machines, resources }: ArmDeps,
  { kind, vm, extension: name = '' }: Operation,
): Record<string, unknown> | undefined {
  const machine = machines.get(vm)
  if (machine === undefined || kind === 'delete') return undefined
  if (kind !== 'extension') return resources.vm(machine)
  const extension = machine.extensions?.[name.toLowerCase()]
  return extension === undefined ? undefined : resources.extension(machine, extension)
}

function foundIn({ machines, config }: ArmDeps, name = ''): Machine {
  const machine = machines.get(name)
  if (machine === undefined) throw resourceNotFound('Microsoft.Compute/virtualMachines', name, config.nodeResourceGroup)
  return machine
}

function withSecurityProfile({ body, query }: ArmRequest<MachineBody>, config: SimulatorConfig): MachineBody {
  const securityProfile = securityProfileOf(body, query['api-version'] ?? '', config)
  return securityProfile === undefined ? body : { ...body, properties: { ...body.properties, securityProfile } }
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

interface Identity {
  readonly type?: string
  readonly userAssignedIdentities?: Readonly<Record<string, unknown>>
}

/** PATCH adds the identities it names and removes those it names as null; PUT replaces them. */
function withIdentities(before: unknown, change: unknown): Identity {
  const [own, asked] = [(before ?? {}) as Identity, (change ?? {}) as Identity]
  const all = Object.entries({ ...own.userAssignedIdentities, ...asked.userAssignedIdentities })
  return { ...own, ...asked, userAssignedIdentities: Object.fromEntries(all.filter(([, value]) => value !== null)) }
}

function refuseIfDeleting({ name, state }: Machine): void {
  if (state === 'Deleting')
    throw new ArmError(
      409,
      'OperationNotAllowed',
      `VM '${name}' is marked for deletion; only its deletion can be asked for again.`,
    )
}
