// The custom roles of `api/rights/azure-roles.ts`, as files for the Azure CLI and as a table of docs/azure-access.md.
import {
  type AzureRole,
  machinesRole,
  nodesRole,
  reservationsRole,
  subscriptionRole,
} from '../api/rights/azure-roles.ts'
import { alignedTable } from './marked-table.ts'

/** What stands for the subscription in the files. */
const subscription = 'SUBSCRIPTION-ID'

/** Returns the files by their names below this folder, in the form that `az role definition create` reads. */
export function roleFiles(): ReadonlyMap<string, string> {
  return new Map([
    ['azure/joiner-role.json', roleFile(nodesRole)],
    ['azure/joiner-machines-role.json', roleFile(machinesRole)],
    ['azure/joiner-reservations-role.json', roleFile(reservationsRole)],
    ['azure/joiner-subscription-role.json', roleFile(subscriptionRole)],
  ])
}

function roleFile({ title, description, actions }: AzureRole): string {
  const role = {
    Name: `${title} (${subscription})`,
    IsCustom: true,
    Description: description,
    Actions: Object.keys(actions),
    NotActions: [],
    AssignableScopes: [`/subscriptions/${subscription}`],
  }
  return `${JSON.stringify(role, null, 2)}\n`
}

/** Returns the table of docs/azure-access.md. */
export function roleTable(): string {
  const rows = [nodesRole, subscriptionRole, machinesRole, reservationsRole].flatMap(({ title, actions }) =>
    Object.entries(actions).map(([action, why]) => [title, `\`${action}\``, why]),
  )
  return alignedTable(['Role', 'Action', 'Why'], rows)
}
