import type { CloudName } from '../../../api/azure-cloud.ts'
import type { ChartValue } from './chart-value.ts'
import type { ManagedCluster } from './cluster.ts'
import { groupOf } from './cluster.ts'
import type { ClusterFacts } from './facts.ts'
import { type ImageName, imageValues } from './image-values.ts'
import type { JoinerIdentity } from './joiner-identity.ts'
import { identityValues, loginValues, networkValues, otherValues, subnetValues } from './node-values.ts'

/** What values are made of. */
export interface ValuesInput {
  readonly facts: ClusterFacts
  readonly cloud: CloudName
  /** Name of the identity that was looked for. */
  readonly identityName: string
  /** Unset when the image is not known. */
  readonly image?: ImageName | undefined
}

const defaultAccount = 'joiner-azure'

/** Returns the values of the chart that follow from a cluster, in the order of the chart's own file. Those that are not known are empty. */
export function chartValues(input: ValuesInput): readonly ChartValue[] {
  const { facts, cloud } = input
  const { cluster, subscriptionId } = facts
  const azure = (name: string, value: string, source: string): ChartValue => ({ path: ['azure', name], value, source })
  return [
    ...imageValues(input.image),
    ...accountValues(input),
    { path: ['cluster', 'name'], value: cluster.name, source: 'managedCluster name' },
    ...apiServerValues(facts),
    azure('cloud', cloud, 'ARM_CLOUD of the environment, or the public cloud'),
    azure('subscriptionId', subscriptionId, 'managedCluster id'),
    azure('location', cluster.location.replaceAll(' ', '').toLowerCase(), 'managedCluster location'),
    azure('clusterResourceGroup', groupOf(cluster.id), 'managedCluster id'),
    azure(
      'nodeResourceGroup',
      cluster.properties.nodeResourceGroup ?? '',
      'managedCluster properties.nodeResourceGroup',
    ),
    ...subnetValues(facts),
    ...identityValues(cluster),
    ...networkValues(cluster),
    ...loginValues(cluster),
    ...otherValues(cluster),
  ]
}

/** The ServiceAccount and the identity that it is federated with. */
function accountValues({ facts, identityName }: ValuesInput): readonly ChartValue[] {
  const { identity, cluster } = facts
  const setup = setupCommand(facts, identityName)
  const name = ['serviceAccount', 'name']
  if (identity === undefined) {
    const why = `there is no managed identity ${identityName} in resource group ${groupOf(cluster.id)}`
    return [
      { path: name, value: defaultAccount, source: 'the default of the chart' },
      { path: ['workloadIdentity', 'clientId'], value: '', source: why, remedy: setup },
    ]
  }
  const account = federatedAccount(identity, cluster)
  const of = (field: string) => `userAssignedIdentity ${identity.name} properties.${field}`
  return [
    account === undefined
      ? {
          path: name,
          value: defaultAccount,
          source: `no federated credential of ${identity.name} is for the OIDC issuer of the cluster`,
          remedy: setup,
        }
      : {
          path: name,
          value: account.name,
          source: `federatedIdentityCredential ${account.credential} properties.subject`,
        },
    { path: ['workloadIdentity', 'clientId'], value: identity.clientId, source: of('clientId') },
    { path: ['workloadIdentity', 'tenantId'], value: identity.tenantId, source: of('tenantId') },
  ]
}

function setupCommand({ cluster, subscriptionId }: ClusterFacts, identityName: string): string {
  return `joiner admin aks setup --cluster-name ${cluster.name} --resource-group ${groupOf(cluster.id)} --subscription ${subscriptionId} --identity ${identityName} --yes`
}

/** The ServiceAccount of the cluster that an identity trusts; undefined when it trusts none, or several. */
function federatedAccount({ credentials }: JoinerIdentity, { properties }: ManagedCluster) {
  const issuer = properties.oidcIssuerProfile?.issuerUrl
  const accounts = credentials
    .filter((credential) => credential.issuer === issuer)
    .flatMap(({ name: credential, subject }) => {
      const name = /^system:serviceaccount:[^:]+:([^:]+)$/.exec(subject)?.[1]
      return name === undefined ? [] : [{ name, credential }]
    })
  return accounts.length === 1 ? accounts[0] : undefined
}

function apiServerValues({ apiServer, cluster }: ClusterFacts): readonly ChartValue[] {
  const [endpoint, caBundle] = [
    ['cluster', 'endpoint'],
    ['cluster', 'caBundle'],
  ] as const
  if (apiServer.kind === 'found') {
    const { server, authority } = apiServer.value
    return [
      { path: endpoint, value: server, source: `${apiServer.source}: server` },
      { path: caBundle, value: authority, source: `${apiServer.source}: certificate-authority-data` },
    ]
  }
  const { privateFQDN, fqdn } = cluster.properties
  const name = privateFQDN ?? fqdn
  const field = `managedCluster properties.${privateFQDN === undefined ? 'fqdn' : 'privateFQDN'}`
  return [
    name === undefined
      ? {
          path: endpoint,
          value: '',
          source: 'managedCluster has neither properties.fqdn nor properties.privateFQDN',
          remedy: `az aks start --name ${cluster.name} --resource-group ${groupOf(cluster.id)}`,
          isNeeded: true,
        }
      : { path: endpoint, value: `https://${name}:443`, source: field },
    {
      path: caBundle,
      value: '',
      source: `nodes are given the CA that pods trust; the kubeconfig could not be read: ${apiServer.why}`,
    },
  ]
}
