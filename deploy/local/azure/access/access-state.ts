import type { Journal, Table } from '../server/journal.ts'
import type { HeldRole } from './roles.ts'

/** A user-assigned managed identity. */
export interface Identity {
  readonly id: string
  readonly name: string
  readonly location: string
  readonly tags?: Readonly<Record<string, string>>
  readonly principalId: string
  readonly clientId: string
}

/** Whose tokens an identity trusts. */
export interface FederatedCredential {
  readonly id: string
  readonly name: string
  /** Id of the identity. */
  readonly identity: string
  readonly issuer: string
  readonly subject: string
  readonly audiences: readonly string[]
}

export interface RoleDefinition {
  /** A GUID. */
  readonly name: string
  readonly roleName: string
  readonly description: string
  readonly actions: readonly string[]
  readonly notActions: readonly string[]
  readonly assignableScopes: readonly string[]
}

export interface RoleAssignment {
  readonly id: string
  readonly name: string
  readonly scope: string
  readonly roleDefinitionId: string
  readonly principalId: string
  readonly principalType: string
}

/** Somebody who uses ARM with a login of their own, such as that of the Azure CLI. */
export interface Person {
  readonly name: string
  readonly objectId: string
  readonly roles: readonly HeldRole[]
}

/** Who there is, and who may do what: kept on disk, and by id. */
export class AccessState {
  readonly identities: Table<Identity>
  readonly federatedCredentials: Table<FederatedCredential>
  readonly roleDefinitions: Table<RoleDefinition>
  readonly roleAssignments: Table<RoleAssignment>
  readonly people: Table<Person>

  constructor(journal: Journal) {
    this.identities = journal.table('identities')
    this.federatedCredentials = journal.table('federatedCredentials')
    this.roleDefinitions = journal.table('roleDefinitions')
    this.roleAssignments = journal.table('roleAssignments')
    this.people = journal.table('people')
  }

  identityOfClient(clientId: string): Identity | undefined {
    return this.identities.all.find((identity) => identity.clientId === clientId)
  }

  credentialsOf({ id }: Pick<Identity, 'id'>): readonly FederatedCredential[] {
    return this.federatedCredentials.all.filter(({ identity }) => identity.toLowerCase() === id.toLowerCase())
  }
}
