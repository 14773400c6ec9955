import type { FastifyRequest } from 'fastify'
import { entryOf } from '../../../../core/values/records.ts'

/** What a request does to another resource than the one in its path. */
interface LinkedAction {
  readonly action: string
  /** Id of the other resource. */
  readonly id: string
}

/** What it takes to refer to a resource of a type. A subnet and a backend pool are below another resource. */
const actionsByType: Readonly<Record<string, string>> = {
  subnets: 'Microsoft.Network/virtualNetworks/subnets/join/action',
  networksecuritygroups: 'Microsoft.Network/networkSecurityGroups/join/action',
  backendaddresspools: 'Microsoft.Network/loadBalancers/backendAddressPools/join/action',
  userassignedidentities: 'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action',
  capacityreservationgroups: 'Microsoft.Compute/capacityReservationGroups/deploy/action',
  diskencryptionsets: 'Microsoft.Compute/diskEncryptionSets/read',
}

/** Returns the actions on other resources that a PUT or PATCH of a VM takes, by the ids in its body. */
export function linkedActions({ method, url, body }: FastifyRequest): readonly LinkedAction[] {
  if (!['PUT', 'PATCH'].includes(method) || !/\/virtualMachines\/[^/?]+(\?|$)/i.test(url)) return []
  const ids = new Set<string>()
  collect(body, ids)
  return [...ids].flatMap((id) => {
    const type = id.split('/').at(-2) ?? ''
    const action = entryOf(actionsByType, type.toLowerCase())
    return action === undefined ? [] : [{ action, id }]
  })
}

/** Ids are values, and keys where identities are named. */
function collect(value: unknown, ids: Set<string>): void {
  if (typeof value === 'string') {
    if (value.startsWith('/subscriptions/')) ids.add(value)
  } else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) {
      collect(key, ids)
      collect(inner, ids)
    }
}
