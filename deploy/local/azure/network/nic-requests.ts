import type { FastifyInstance } from 'fastify'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError } from '../server/arm-error.ts'
import type { ArmRequest } from '../server/arm-request.ts'
import {
  type Leftover,
  type MachineBody,
  type NetworkInterfaceConfiguration,
  nicConfigurations,
} from '../virtual-machines/machine.ts'
import { checkNicReferences } from '../virtual-machines/vm-references.ts'
import type { Address } from './addresses.ts'

type NicBody = Pick<NetworkInterfaceConfiguration, 'tags' | 'properties'> | undefined

interface NicReference {
  readonly id: string
  readonly properties?: { readonly primary?: boolean; readonly deleteOption?: string }
}

/** PUT of a NIC by itself, to which a VM may refer later, as Karpenter for Azure makes them. One that hangs on a VM stays as it is. */
export function registerNicPut(app: FastifyInstance, path: string, deps: ArmDeps): void {
  const { config, machines, network, resources } = deps
  app.put(`${path}/:name`, (request: ArmRequest<NicBody>, reply) => {
    const { name = '' } = request.params
    const before = machines.parts('networkInterfaces').get(name)
    if (before?.kind === 'attached') return resources.part('networkInterfaces', before)
    const { tags = {}, properties = {} } = request.body ?? {}
    checkNicReferences([{ name, properties }], deps)
    if (before !== undefined) machines.discard('networkInterfaces', name)
    const configurations = properties.ipConfigurations ?? []
    const subnet = network.setup.subnet(configurations[0]?.properties?.subnet?.id ?? '')
    const addresses = subnet === undefined ? [] : machines.addresses.free(subnet, configurations.length)
    const id = resources.id('Microsoft.Network', 'networkInterfaces', name)
    const resource = {
      id,
      name,
      type: 'Microsoft.Network/networkInterfaces',
      location: config.location,
      etag: `W/"${deps.newId()}"`,
      tags,
      properties: {
        ...properties,
        provisioningState: 'Succeeded',
        ipConfigurations: configurations.map((one, at) => ({
          id: `${id}/ipConfigurations/${one.name}`,
          name: one.name,
          properties: {
            privateIPAddressVersion: 'IPv4',
            ...one.properties,
            privateIPAddress: addresses[at]?.ip,
            privateIPAllocationMethod: 'Dynamic',
            provisioningState: 'Succeeded',
          },
        })),
      },
    }
    machines.saveLeftover({ type: 'networkInterfaces', name, resource, addresses })
    return reply.code(before === undefined ? 201 : 200).send(resource)
  })
}

/**
 * Returns the body of a VM with the NICs that it refers to, as if they came with it. Errors: 404 for one that is not there, 400 for one of another VM.
 */
export function withReferredNics(body: MachineBody, vm: string, deps: ArmDeps): MachineBody {
  const references = referencesOf(body)
  if (references === undefined) return body
  const networkInterfaceConfigurations = references.map((reference) => configurationOf(reference, vm, deps))
  return { ...body, properties: { ...body.properties, networkProfile: { networkInterfaceConfigurations } } }
}

/** Returns the addresses that a VM's NICs hold already; undefined for a VM whose NICs come with it. */
export function referredAddresses(body: MachineBody, { machines }: ArmDeps): readonly Address[] | undefined {
  return referencesOf(body)?.flatMap(({ id }) => {
    const part = machines.parts('networkInterfaces').get(nameOf(id))
    return part?.kind === 'leftover' ? (part.leftover.addresses ?? []) : []
  })
}

function configurationOf(reference: NicReference, vm: string, { machines }: ArmDeps): NetworkInterfaceConfiguration {
  const { id, properties: { primary = true, deleteOption = 'Detach' } = {} } = reference
  const name = nameOf(id)
  const part = machines.parts('networkInterfaces').get(name)
  if (part === undefined) throw new ArmError(404, 'NotFound', `Resource ${id} not found.`)
  if (part.kind === 'attached') {
    const own = nicConfigurations(part.machine).find((nic) => nic.name === name)
    if (part.machine.name.toLowerCase() === vm.toLowerCase() && own !== undefined) return own
    throw new ArmError(400, 'NicInUse', `Network Interface ${id} is used by existing resource ${part.machine.name}.`)
  }
  const { tags, properties } = part.leftover.resource as Leftover['resource'] & NonNullable<NicBody>
  return { name, ...(tags === undefined ? {} : { tags }), properties: { ...properties, primary, deleteOption } }
}

function referencesOf({ properties }: MachineBody): readonly NicReference[] | undefined {
  return (properties.networkProfile as { readonly networkInterfaces?: readonly NicReference[] } | undefined)
    ?.networkInterfaces
}

const nameOf = (id: string) => id.slice(id.lastIndexOf('/') + 1)
