import type { FastifyInstance } from 'fastify'
import { isSameText } from '../../../../core/values/texts.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError, resourceNotFound } from '../server/arm-error.ts'
import { type ArmRequest, page, sameLocation } from '../server/arm-request.ts'
import type { Machine } from '../virtual-machines/machine.ts'
import { type CapacityGroup, isFor, type SimulatedReservation } from './capacity-groups.ts'

const groupsPath =
  '/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Compute/capacityReservationGroups'
const path = `${groupsPath}/:name`
const reservationsPath = `${path}/capacityReservations`

interface GroupBody {
  readonly location?: string
  readonly zones?: readonly string[]
  readonly tags?: Readonly<Record<string, string>>
}

interface ReservationBody extends GroupBody {
  readonly sku?: { readonly name?: string; readonly capacity?: number }
}

/** Capacity reservation groups and their reservations: PUT, PATCH of a capacity, GET with the instance view, lists, DELETE. */
export function registerCapacityGroups(app: FastifyInstance, deps: ArmDeps): void {
  const { config, capacityGroups } = deps

  app.put(path, (request: ArmRequest<GroupBody | undefined>, reply) => {
    const { group: resourceGroup = '', name = '' } = request.params
    checkLocation(deps, request.body?.location)
    const id = idOf(deps, request)
    const before = capacityGroups.find(id)
    const { zones = [], tags } = request.body ?? {}
    capacityGroups.save({
      id: before?.id ?? id,
      resourceGroup,
      name,
      location: config.location,
      zones,
      ...(tags === undefined ? {} : { tags }),
      reservations: before?.reservations ?? [],
    })
    return reply.code(before === undefined ? 201 : 200).send(shown(deps, found(deps, request)))
  })

  app.get(path, (request: ArmRequest) => {
    const group = found(deps, request)
    return request.query['$expand']?.toLowerCase() === 'instanceview' ? shownWhole(deps, group) : shown(deps, group)
  })

  app.get(groupsPath, (request: ArmRequest) => {
    const { group = '' } = request.params
    const own = capacityGroups.all.filter((one) => one.resourceGroup.toLowerCase() === group.toLowerCase())
    return page(
      request,
      config,
      own.map((one) => shown(deps, one)),
    )
  })

  app.delete(path, (request: ArmRequest, reply) =>
    reply.code(capacityGroups.remove(idOf(deps, request)) ? 200 : 204).send(),
  )

  registerReservations(app, deps)
}

function registerReservations(app: FastifyInstance, deps: ArmDeps): void {
  const { config, capacityGroups } = deps

  app.put(`${reservationsPath}/:reservation`, (request: ArmRequest<ReservationBody | undefined>, reply) => {
    const group = found(deps, request)
    const { reservation: name = '' } = request.params
    const body = request.body ?? {}
    checkLocation(deps, body.location)
    const before = group.reservations.find((one) => isSameText(one.name, name))
    const made = reservationOf(name, body)
    checkReservation(deps, group, { before, made })
    put(deps, group, made)
    return reply.code(before === undefined ? 201 : 200).send(shownReservation(deps, found(deps, request), made))
  })

  app.patch(`${reservationsPath}/:reservation`, (request: ArmRequest<ReservationBody | undefined>) => {
    const group = found(deps, request)
    const before = foundReservation(request, group)
    const changed = { ...before, capacity: request.body?.sku?.capacity ?? before.capacity }
    put(deps, group, changed)
    return shownReservation(deps, found(deps, request), changed)
  })

  app.get(`${reservationsPath}/:reservation`, (request: ArmRequest) => {
    const group = found(deps, request)
    return shownReservation(deps, group, foundReservation(request, group))
  })

  app.get(reservationsPath, (request: ArmRequest) => {
    const group = found(deps, request)
    return page(
      request,
      config,
      group.reservations.map((one) => shownReservation(deps, group, one)),
    )
  })

  app.delete(`${reservationsPath}/:reservation`, (request: ArmRequest, reply) => {
    const group = found(deps, request)
    const gone = group.reservations.find((one) => isSameText(one.name, request.params['reservation'] ?? ''))
    if (gone === undefined) return reply.code(204).send()
    if (capacityGroups.associatedWith(group, gone).length > 0)
      throw new ArmError(409, 'OperationNotAllowed', `Capacity reservation '${gone.name}' has associated VMs.`)
    capacityGroups.save({ ...group, reservations: group.reservations.filter((one) => one !== gone) })
    return reply.code(200).send()
  })
}

/** Errors: what Azure refuses of a reservation that is to be in a group. */
function checkReservation(
  { catalogue }: ArmDeps,
  group: CapacityGroup,
  { before, made }: { readonly before: SimulatedReservation | undefined; readonly made: SimulatedReservation },
): void {
  if (catalogue.size(made.sku) === undefined)
    throw new ArmError(400, 'InvalidParameter', `The value ${made.sku} of parameter sku.name is invalid.`)
  const isPlaced = made.zone === '0' ? group.zones.length === 0 : group.zones.includes(made.zone)
  if (!isPlaced) throw new ArmError(400, 'BadRequest', `Zone '${made.zone}' is none of group '${group.name}'.`)
  if (before !== undefined && !isFor(before, made))
    throw new ArmError(409, 'PropertyChangeNotAllowed', 'Size and zone of a capacity reservation cannot be changed.')
  if (group.reservations.some((one) => !isSameText(one.name, made.name) && isFor(one, made)))
    throw new ArmError(409, 'OperationNotAllowed', 'The group has a capacity reservation for this size and zone.')
}

function put({ capacityGroups }: ArmDeps, group: CapacityGroup, made: SimulatedReservation): void {
  const others = group.reservations.filter((one) => !isSameText(one.name, made.name))
  capacityGroups.save({ ...group, reservations: [...others, made] })
}

function checkLocation({ config }: ArmDeps, location: string | undefined): void {
  if (location === undefined || !sameLocation(location, config.location))
    throw new ArmError(
      400,
      'LocationNotAvailableForResourceType',
      `Location '${location}' is not '${config.location}'.`,
    )
}

function idOf({ config }: ArmDeps, { params }: Pick<ArmRequest, 'params'>): string {
  const { group = '', name = '' } = params
  return `/subscriptions/${config.subscriptionId}/resourceGroups/${group}/providers/Microsoft.Compute/capacityReservationGroups/${name}`
}

function found(deps: ArmDeps, request: Pick<ArmRequest, 'params'>): CapacityGroup {
  const { group = '', name = '' } = request.params
  const one = deps.capacityGroups.find(idOf(deps, request))
  if (one === undefined) throw resourceNotFound('Microsoft.Compute/capacityReservationGroups', name, group)
  return one
}

function foundReservation({ params }: Pick<ArmRequest, 'params'>, group: CapacityGroup): SimulatedReservation {
  const { reservation: name = '' } = params
  const one = group.reservations.find((other) => isSameText(other.name, name))
  if (one === undefined)
    throw resourceNotFound(
      'Microsoft.Compute/capacityReservationGroups/capacityReservations',
      `${group.name}/${name}`,
      group.resourceGroup,
    )
  return one
}

function references({ resources }: ArmDeps, machines: readonly Machine[]) {
  return machines.map(({ name }) => ({ id: resources.id('Microsoft.Compute', 'virtualMachines', name) }))
}

function shown(deps: ArmDeps, group: CapacityGroup) {
  const { id, name, location, zones, tags, reservations } = group
  return {
    id,
    name,
    type: 'Microsoft.Compute/capacityReservationGroups',
    location,
    ...(zones.length === 0 ? {} : { zones }),
    ...(tags === undefined ? {} : { tags }),
    properties: {
      // Azure writes the names in capitals here.
      capacityReservations: reservations.map((one) => ({ id: `${id}/capacityReservations/${one.name.toUpperCase()}` })),
      virtualMachinesAssociated: references(deps, deps.capacityGroups.associated(group)),
    },
  }
}

/** With the instance view. */
function shownWhole(deps: ArmDeps, group: CapacityGroup) {
  const { properties, ...rest } = shown(deps, group)
  const capacityReservations = group.reservations.map((one) => ({
    name: one.name,
    utilizationInfo: {
      currentCapacity: one.capacity,
      virtualMachinesAllocated: references(deps, deps.capacityGroups.allocated(group, one)),
    },
    statuses: [{ code: 'ProvisioningState/succeeded', level: 'Info' }],
  }))
  return { ...rest, properties: { ...properties, instanceView: { capacityReservations } } }
}

function shownReservation(deps: ArmDeps, group: CapacityGroup, one: SimulatedReservation) {
  return {
    id: `${group.id}/capacityReservations/${one.name}`,
    name: one.name,
    type: 'Microsoft.Compute/capacityReservationGroups/capacityReservations',
    location: group.location,
    ...(one.zone === '0' ? {} : { zones: [one.zone] }),
    ...(one.tags === undefined ? {} : { tags: one.tags }),
    sku: { name: one.sku, capacity: one.capacity },
    properties: {
      provisioningState: 'Succeeded',
      virtualMachinesAssociated: references(deps, deps.capacityGroups.associatedWith(group, one)),
    },
  }
}

function reservationOf(name: string, { sku, zones = [], tags }: ReservationBody): SimulatedReservation {
  const { name: size = '', capacity } = sku ?? {}
  if (!Number.isInteger(capacity) || (capacity ?? -1) < 0 || zones.length > 1)
    throw new ArmError(400, 'BadRequest', 'A capacity reservation needs sku.capacity from 0 on, and at most one zone.')
  return { name, sku: size, capacity: capacity ?? 0, zone: zones[0] ?? '0', ...(tags === undefined ? {} : { tags }) }
}
