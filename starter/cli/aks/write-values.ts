import { writeFile } from 'node:fs/promises'
import { Document, isMap, isScalar, isSeq } from 'yaml'
import type { CloudName } from '../../../api/azure-cloud.ts'
import { commentOf, documentText, forKubectl } from '../../document/yaml-text.ts'
import { logIn } from '../../picture/azure-login.ts'
import {
  autoProvisioning,
  findCluster,
  groupOf,
  type ManagedCluster,
  workloadIdentityOff,
} from '../../picture/managed-cluster.ts'
import type { JoinerIdentity } from './facts.ts'
import { type ClusterFacts, readFacts } from './facts.ts'
import { type ChartValue, type ImageName, imageValues } from './image-values.ts'
import { identityValues, loginValues, networkValues, otherValues, subnetValues } from './node-values.ts'

export interface ValuesOptions {
  readonly clusterName: string
  readonly resourceGroup?: string
  readonly subscription?: string
  readonly identity?: string
  readonly image?: ImageName
  readonly outputFile?: string
}

const limitMs = 120_000

/** Writes a values file of the chart for a cluster. Returns the exit status: 1 where the chart would miss a value. Errors: ReportedError. */
export async function writeValues(options: ValuesOptions): Promise<number> {
  const signal = AbortSignal.timeout(limitMs)
  const { arm, cloud, subscriptionId } = await logIn(options.subscription, process.env, signal)
  const { resourceGroup, clusterName: name, outputFile } = options
  const cluster = await findCluster(arm, { subscriptionId, name, resourceGroup }, signal)
  const identityName = options.identity ?? `joiner-${cluster.name}`
  const wanted = { subscriptionId, cluster, identity: identityName, withApiServer: true }
  const facts = await readFacts(arm, wanted, signal)
  const values = chartValues({ facts, cloud: cloud.name, identityName, image: options.image })
  const text = valuesText(values, head(facts))
  if (outputFile === undefined) process.stdout.write(text)
  else await writeFile(outputFile, text)
  for (const { path, source, remedy } of values)
    if (remedy !== undefined) console.error(`${path.join('.')}: ${source}; ${remedy}`)
  for (const problem of [autoProvisioning(cluster, subscriptionId), workloadIdentityOff(cluster, subscriptionId)])
    if (problem !== undefined) console.error(`${problem.what}: ${problem.command}`)
  return values.some(({ isNeeded, value }) => isNeeded === true && value.length === 0) ? 1 : 0
}

function head({ cluster, subscriptionId }: ClusterFacts): readonly string[] {
  const zones = new Set((cluster.properties.agentPoolProfiles ?? []).flatMap((pool) => pool.availabilityZones ?? []))
  return [
    `Values of the chart for AKS cluster ${cluster.name} in resource group ${groupOf(cluster.id)} of subscription ${subscriptionId}.`,
    'Written by joiner admin aks values; the comment at each value says what it was read from. Azure does not know Temporal: add temporal.address.',
    ...(zones.size === 0
      ? []
      : [
          `Zones of its agent pools: ${[...zones].toSorted().join(', ')}. A NodePool names zones; the chart has no value for them.`,
        ]),
  ]
}

/** Returns a values file of the chart, with the source of each value in a comment. `head`: comment lines before all values. */
export function valuesText(values: readonly ChartValue[], head: readonly string[]): string {
  const document = new Document({}, forKubectl)
  for (const one of values) {
    document.setIn(one.path, document.createNode(one.value))
    comment(document, one)
  }
  document.commentBefore = commentOf(...head)
  return documentText(document)
}

/** Beside a value of one line, and above what takes more. */
function comment(document: Document, { path, value, source, remedy }: ChartValue): void {
  const text = commentOf(remedy === undefined ? source : `${source}; ${remedy}`)
  const node = document.getIn(path, true)
  if (isScalar(node) && typeof value === 'string' && !value.includes('\n')) {
    node.comment = text
    return
  }
  if (isSeq(node) && node.items.length === 0) {
    node.comment = text
    return
  }
  const parent = document.getIn(path.slice(0, -1), true)
  const pair = isMap(parent)
    ? parent.items.find(({ key }) => (isScalar(key) ? key.value : key) === path.at(-1))
    : undefined
  if (pair === undefined) throw new Error(`there is no key ${path.join('.')} to comment on`)
  const key = document.createNode(path.at(-1))
  key.commentBefore = text
  pair.key = key
}

/** What values are made of. */
interface ValuesInput {
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
