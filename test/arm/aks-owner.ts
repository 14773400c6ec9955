// Somebody who sets Joiner up for an AKS cluster of the simulated Azure: with the Azure CLI and `joiner admin aks`.
import type { ManagedClusterSettings } from '../../deploy/local/azure/access/cluster-settings.ts'
import { azureIds, clusterName } from '../../deploy/local/cluster.ts'
import { type Ran, runHere } from '../readers/command-line.ts'
import { StandInAz } from './stand-in-az.ts'

/** What the simulated Azure knows of identities and roles. */
export interface Access {
  readonly identities: readonly { readonly name: string; readonly clientId: string; readonly principalId: string }[]
  readonly federatedCredentials: readonly { readonly issuer: string; readonly subject: string }[]
  readonly roleDefinitions: readonly { readonly roleName: string; readonly actions: readonly string[] }[]
  readonly roleAssignments: readonly { readonly scope: string; readonly principalId: string }[]
}

/** A simulator, and who issues the tokens that its identities trust. */
export interface Azure {
  readonly endpoint: string
  readonly issuer: string
  readonly admin: <T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown) => Promise<T>
}

const subscription = `/subscriptions/${azureIds.subscriptionId}`
export const network = `${subscription}/resourceGroups/networks/providers/Microsoft.Network/virtualNetworks/own`
export const encryptionSet = `${subscription}/resourceGroups/keys/providers/Microsoft.Compute/diskEncryptionSets/disks`

/** The options that name the cluster. */
export const here = ['--cluster-name', clusterName, '--resource-group', 'clusters'] as const

export class AksOwner {
  readonly azure: Azure
  readonly az: StandInAz

  private constructor(azure: Azure, az: StandInAz) {
    this.azure = azure
    this.az = az
  }

  static async arrive(azure: Azure): Promise<AksOwner> {
    return new AksOwner(azure, await StandInAz.install())
  }

  leave(): Promise<void> {
    return this.az.remove()
  }

  /** One cluster, in a network of its owner's and with keys of its owner's; the owner is logged in. */
  async begin(): Promise<void> {
    const own = { name: 'own', resourceGroup: 'networks', resourceGuid: '00000000-0000-4000-8000-0000000000ee' }
    const made = { name: 'aks-vnet-12345678', subnets: [{ name: 'aks-subnet', prefix: '10.224.0.0/16' }] }
    await this.azure.admin('POST', '/settings', {
      network: { virtualNetworks: [{ ...own, subnets: [{ name: 'nodes', prefix: '10.1.0.0/20' }] }, made] },
      diskEncryptionSets: [encryptionSet],
    })
    await this.clusters(this.cluster())
    await this.logIn('Owner')
  }

  cluster(): ManagedClusterSettings {
    return {
      name: clusterName,
      resourceGroup: 'clusters',
      properties: {
        oidcIssuerProfile: { enabled: true, issuerUrl: this.azure.issuer },
        diskEncryptionSetID: encryptionSet,
        agentPoolProfiles: [{ name: 'system', mode: 'System', vnetSubnetID: `${network}/subnets/nodes` }],
      },
    }
  }

  clusters(...managedClusters: readonly ManagedClusterSettings[]): Promise<void> {
    return this.azure.admin('POST', '/settings', { managedClusters })
  }

  access(): Promise<Access> {
    return this.azure.admin('GET', '/access')
  }

  /** Somebody with these roles on the subscription logs in. */
  async logIn(...roles: readonly string[]): Promise<void> {
    await this.az.logIn(await this.azure.admin('POST', '/people', { name: `${roles.join()}@example.com`, roles }))
  }

  /** Runs `joiner admin aks` with the login of the CLI. */
  aks(...args: readonly string[]): Promise<Ran> {
    const env = { PATH: `${this.az.folder}:/usr/bin:/bin`, JOINER_ARM_ENDPOINT: this.azure.endpoint }
    return runHere(env, 'admin', 'aks', ...args)
  }
}
