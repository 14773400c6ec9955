import { readFileSync } from 'node:fs'
import type { HeldRole } from '../../deploy/local/azure/access/roles.ts'
import { azureIds, clusterName } from '../../deploy/local/cluster.ts'
import type { World } from '../world.ts'

interface RoleFile {
  readonly Name: string
  readonly Actions: readonly string[]
}

function shipped(file: string): RoleFile {
  return JSON.parse(readFileSync(new URL(`../../deploy/azure/${file}`, import.meta.url), 'utf8')) as RoleFile
}

const subscription = `/subscriptions/${azureIds.subscriptionId}`

/** The custom roles as they are shipped, each where `joiner admin aks setup` assigns it. */
export const shippedRoles: readonly HeldRole[] = [
  held('joiner-role.json', `${subscription}/resourceGroups/${azureIds.nodeResourceGroup}`),
  held('joiner-subscription-role.json', subscription),
]

/** The custom role for AKS machines, where docs/from-nap.md assigns it. */
export const machinesRole: HeldRole = held(
  'joiner-machines-role.json',
  `${subscription}/resourceGroups/${clusterName}-group/providers/Microsoft.ContainerService/managedClusters/${clusterName}`,
)

/** The custom role for a capacity reservation group, where docs/capacity-reservations.md assigns it. */
export const reservationsRole = (group: string): HeldRole => held('joiner-reservations-role.json', group)

function held(file: string, scope: string): HeldRole {
  const { Name: name, Actions: actions } = shipped(file)
  return { name, actions, scope }
}

/** Every action that the shipped roles hold. */
export const shippedActions: readonly string[] = shippedRoles.flatMap(({ actions }) => actions)

/** The actions of ARM that a principal took since the last clearing, refused ones included. */
export async function actionsTaken(world: World, objectId: string): Promise<readonly string[]> {
  const all = await world.operator.simulator<Readonly<Record<string, Readonly<Record<string, number>>>>>(
    'GET',
    '/calls/actions',
  )
  return Object.keys(all[objectId] ?? {}).toSorted()
}
