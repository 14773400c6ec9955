// The accounts of an installation in a local cluster, and their rights beside the chart's.
import { stringify } from 'yaml'

export const namespace = 'joiner'

/** The Deployments of the chart, by the name of their ServiceAccount: the roles that each has. */
export const deployments = {
  joiner: 'core,bridge',
  'joiner-azure': 'azure',
  'joiner-planner': 'planner',
  'joiner-conversion': 'conversion',
} as const
export type Account = keyof typeof deployments
export const accounts = Object.keys(deployments) as Account[]

/** Account of a process with all roles, of which the chart knows nothing: it has the rights of all of them together. */
export const unitedAccount = 'joiner-united'
/** Account of a person with the command line, who is bound to what the chart has for such people. */
export const operatorAccount = 'an-operator'
export const everyAccount = [unitedAccount, operatorAccount, ...accounts] as const

/** Policies of the chart that forbid something to accounts, extended so that they forbid it to the united one as well. */
export function forbiddenToUnited(manifests: string): string {
  const user = (account: string) => `'system:serviceaccount:${namespace}:${account}'`
  return accounts
    .slice(1)
    .reduce(
      (text, account) => text.replaceAll(`in [${user(account)}]`, `in [${user(account)}, ${user(unitedAccount)}]`),
      manifests,
    )
    .replaceAll(`in [${accounts.map(user).join(', ')}]`, `in [${[...accounts, unitedAccount].map(user).join(', ')}]`)
}

/** What the chart keeps from the other processes: an identity at Azure, and, where nothing but the API server is talked to, Temporal. */
export function isWithheld(variable: string, account: Account): boolean {
  if (account === 'joiner-azure') return false
  return variable.startsWith('AZURE_') ? variable !== 'AZURE_NODE_RESOURCE_GROUP' : isOfTemporal(variable, account)
}

function isOfTemporal(variable: string, account: Account): boolean {
  return account === 'joiner-conversion' && variable.startsWith('TEMPORAL_')
}

/** Accounts that the chart does not have: one with all its roles, and one with what it has for people. */
export function localRights(): string {
  const roles = Object.values(deployments).flatMap((each) => each.split(','))
  const united = { kind: 'ServiceAccount', name: unitedAccount, namespace }
  const operator = { kind: 'ServiceAccount', name: operatorAccount, namespace }
  return [
    ...[united, operator].map(({ kind, ...metadata }) => ({ apiVersion: 'v1', kind, metadata })),
    ...roles.flatMap((role) => bindings(`joiner-${role}`, united)),
    binding(united, { kind: 'Role', name: 'joiner-azure-kube-system', namespace: 'kube-system' }),
    ...bindings('joiner-operator', operator),
  ]
    .map((object) => stringify(object))
    .join('---\n')
}

function bindings(name: string, subject: { readonly name: string }): readonly object[] {
  return [binding(subject, { kind: 'ClusterRole', name }), binding(subject, { kind: 'Role', name, namespace })]
}

interface BoundRole {
  readonly kind: 'Role' | 'ClusterRole'
  readonly name: string
  /** Of a Role. */
  readonly namespace?: string
}

function binding(subject: { readonly name: string }, { kind, name, ...place }: BoundRole): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: `${kind}Binding`,
    metadata: { name: `${subject.name}-${name}`, ...place },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
    subjects: [subject],
  }
}
