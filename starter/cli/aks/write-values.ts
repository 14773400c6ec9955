import { writeFile } from 'node:fs/promises'
import { Document, isMap, isScalar, isSeq } from 'yaml'
import type { CloudName } from '../../../api/azure-cloud.ts'
import { present } from '../../document/words.ts'
import { commentOf, documentText, forKubectl } from '../../document/yaml-text.ts'
import { logIn } from '../../picture/azure-login.ts'
import {
  autoProvisioning,
  findCluster,
  groupOf,
  type ManagedCluster,
  workloadIdentityOff,
} from '../../picture/managed-cluster.ts'
import { type ClusterFacts, type JoinerIdentity, readFacts } from './facts.ts'

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
  return present(
    `Values of the chart for AKS cluster ${cluster.name} in resource group ${groupOf(cluster.id)} of subscription ${subscriptionId}.`,
    'Written by joiner admin aks values; the comment at each value says what it was read from. Azure does not know Temporal: add temporal.address.',
    zones.size !== 0 &&
      `Zones of its agent pools: ${[...zones].toSorted().join(', ')}. A NodePool names zones; the chart has no value for them.`,
  )
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
  const isShort = typeof value === 'string' && !value.includes('\n')
  if ((isScalar(node) && isShort) || (isSeq(node) && node.items.length === 0)) {
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

/** A value of the chart, and where it comes from. */
export interface ChartValue {
  readonly path: readonly string[]
  readonly value: string | readonly string[]
  /** The field of ARM that it is read from, or why it is not known. */
  readonly source: string
  /** What to do about a value that is not known. */
  readonly remedy?: string
  /** Whether the chart installs nothing without it. */
  readonly isNeeded?: boolean
}

/** An image in a registry, in the parts that the chart has values for. */
export interface ImageName {
  readonly repository: string
  /** Unset: the version of the chart. */
  readonly tag?: string
  /** Decides over the tag. */
  readonly digest?: string
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

/** Returns the values of the chart that follow from a cluster, in the order of the chart's own file. Those that are not known are empty. */
export function chartValues(input: ValuesInput): readonly ChartValue[] {
  const { facts, cloud, image } = input
  const { cluster, subscriptionId } = facts
  const { nodeResourceGroup = '' } = cluster.properties
  return [
    ...imageValues(image),
    ...accountValues(input),
    known('cluster.name', cluster.name, 'managedCluster name'),
    ...apiServerValues(facts),
    known('azure.cloud', cloud, 'ARM_CLOUD of the environment, or the public cloud'),
    known('azure.subscriptionId', subscriptionId, 'managedCluster id'),
    known('azure.location', cluster.location.replaceAll(' ', '').toLowerCase(), 'managedCluster location'),
    known('azure.clusterResourceGroup', groupOf(cluster.id), 'managedCluster id'),
    known('azure.nodeResourceGroup', nodeResourceGroup, 'managedCluster properties.nodeResourceGroup'),
    ...subnetValues(facts),
    ...kubeletValues(cluster),
    ...networkValues(cluster),
    ...loginValues(cluster),
    ...otherValues(cluster),
  ]
}

const known = (path: string, value: ChartValue['value'], source: string): ChartValue => ({
  path: path.split('.'),
  value,
  source,
})

/** A value without which the chart installs nothing, and which only a person can give. */
const needed = (path: string, source: string, remedy: string): ChartValue => ({
  ...known(path, '', source),
  remedy,
  isNeeded: true,
})

/** The image of Joiner's pods. Azure does not know which one that is. */
function imageValues(image: ImageName | undefined): readonly ChartValue[] {
  if (image !== undefined) return Object.entries(image).map(([name, value]) => known(`image.${name}`, value, '--image'))
  const remedy =
    'build and push it (docs/install-aks.md), and name it: joiner admin aks values --image REGISTRY/joiner:TAG'
  return [needed('image.repository', 'Azure does not know where the image of Joiner is', remedy)]
}

const defaultAccount = 'joiner-azure'

/** The ServiceAccount and the identity that it is federated with. */
function accountValues({ facts, identityName }: ValuesInput): readonly ChartValue[] {
  const { identity, cluster, subscriptionId } = facts
  const group = groupOf(cluster.id)
  const remedy = `joiner admin aks setup --cluster-name ${cluster.name} --resource-group ${group} --subscription ${subscriptionId} --identity ${identityName} --yes`
  const account = (name: string, source: string) => known('serviceAccount.name', name, source)
  const ofIdentity = (name: string, value: string, source: string) => known(`workloadIdentity.${name}`, value, source)
  if (identity === undefined) {
    const why = `there is no managed identity ${identityName} in resource group ${group}`
    return [account(defaultAccount, 'the default of the chart'), { ...ofIdentity('clientId', '', why), remedy }]
  }
  const federated = federatedAccount(identity, cluster)
  const none = `no federated credential of ${identity.name} is for the OIDC issuer of the cluster`
  const of = (field: string) => `userAssignedIdentity ${identity.name} properties.${field}`
  return [
    federated === undefined
      ? { ...account(defaultAccount, none), remedy }
      : account(federated.name, `federatedIdentityCredential ${federated.credential} properties.subject`),
    ofIdentity('clientId', identity.clientId, of('clientId')),
    ofIdentity('tenantId', identity.tenantId, of('tenantId')),
  ]
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
  const [endpoint, caBundle] = ['cluster.endpoint', 'cluster.caBundle'] as const
  if (apiServer.kind === 'found') {
    const { value, source } = apiServer
    return [
      known(endpoint, value.server, `${source}: server`),
      known(caBundle, value.authority, `${source}: certificate-authority-data`),
    ]
  }
  const { privateFQDN, fqdn } = cluster.properties
  const name = privateFQDN ?? fqdn
  const field = privateFQDN === undefined ? 'fqdn' : 'privateFQDN'
  return [
    name === undefined
      ? needed(
          endpoint,
          'managedCluster has neither properties.fqdn nor properties.privateFQDN',
          `az aks start --name ${cluster.name} --resource-group ${groupOf(cluster.id)}`,
        )
      : known(endpoint, `https://${name}:443`, `managedCluster properties.${field}`),
    known(caBundle, '', `nodes are given the CA that pods trust; the kubeconfig could not be read: ${apiServer.why}`),
  ]
}

/** The subnet of the nodes and the GUID of its network. */
function subnetValues({ network, cluster }: ClusterFacts): readonly ChartValue[] {
  if (network.kind === 'found') {
    const { subnetId, guid } = network.value
    return [
      known('azure.subnetId', subnetId, network.source),
      known('azure.vnetGuid', guid, 'virtualNetwork properties.resourceGuid'),
    ]
  }
  const { nodeResourceGroup = 'GROUP-OF-THE-NETWORK' } = cluster.properties
  const remedy = `set it to the id of the subnet for nodes: az network vnet subnet list --resource-group ${nodeResourceGroup} --vnet-name NETWORK --query "[].id" --output tsv`
  return [needed('azure.subnetId', network.why, remedy)]
}

/** The identity that nodes pull images with. */
function kubeletValues({ name, properties }: ManagedCluster): readonly ChartValue[] {
  const { resourceId, clientId = '' } = properties.identityProfile?.kubeletidentity ?? {}
  const field = 'managedCluster properties.identityProfile.kubeletidentity'
  const remedy = `nodes pull images without an identity; give the cluster one: az aks update --name ${name} --enable-managed-identity`
  const path = 'azure.nodeIdentities'
  return [
    resourceId === undefined
      ? { ...known(path, [], `${field} is not set`), remedy }
      : known(path, [resourceId], `${field}.resourceId`),
    known('azure.kubeletIdentityClientId', clientId, `${field}.clientId`),
  ]
}

/** Plugins that nodes of Joiner can have (reference/azure-provider.md 9.5). */
const plugins = ['azure', 'none']

/** How pods are connected, and the address of DNS. */
function networkValues({ name, properties }: ManagedCluster): readonly ChartValue[] {
  const { networkPlugin: plugin = '', ipFamilies = [], ...profile } = properties.networkProfile ?? {}
  const path = 'azure.networkPlugin'
  const of = (field: string) => `managedCluster properties.networkProfile.${field}`
  if (ipFamilies.includes('IPv6'))
    return [
      needed(
        path,
        `${of('ipFamilies')} is ${ipFamilies.join(', ')}; nodes of Joiner have IPv4 addresses only`,
        'use a cluster with --ip-families ipv4, or keep this one to its agent pools (docs/limits.md)',
      ),
    ]
  return [
    plugins.includes(plugin)
      ? known(path, plugin, of('networkPlugin'))
      : needed(
          path,
          `${of('networkPlugin')} is "${plugin}"; Joiner supports azure and none`,
          `az aks update --name ${name} --network-plugin azure --network-plugin-mode overlay --pod-cidr 192.168.0.0/16`,
        ),
    ...(['networkPluginMode', 'networkDataplane', 'networkPolicy'] as const).map((field) =>
      known(`azure.${field}`, profile[field] ?? '', of(field)),
    ),
    known('azure.dnsServiceIp', profile.dnsServiceIP ?? '', of('dnsServiceIP')),
  ]
}

/** The SSH key and the user of nodes. */
function loginValues({ properties }: ManagedCluster): readonly ChartValue[] {
  const { ssh, adminUsername } = properties.linuxProfile ?? {}
  const key = ssh?.publicKeys?.[0]?.keyData?.trim()
  const field = 'managedCluster properties.linuxProfile'
  const path = 'azure.sshPublicKey'
  const remedy =
    'make one, since Azure creates no Linux VM without it: ssh-keygen -t ed25519 -N "" -f joiner-nodes; then add --set-file azure.sshPublicKey=joiner-nodes.pub to helm'
  return present(
    key?.startsWith('ssh-') === true
      ? known(path, key, `${field}.ssh.publicKeys[0].keyData`)
      : needed(path, `${field}.ssh holds no public key`, remedy),
    adminUsername !== undefined && known('azure.linuxAdminUsername', adminUsername, `${field}.adminUsername`),
  )
}

/** What most clusters do not have: a disk encryption set, a proxy, CAs. */
function otherValues({ properties }: ManagedCluster): readonly ChartValue[] {
  const { diskEncryptionSetID, httpProxyConfig = {}, securityProfile } = properties
  const { httpProxy, httpsProxy, noProxy, trustedCa } = httpProxyConfig
  const authorities = (securityProfile?.customCATrustCertificates ?? []).map(pemOf).join('\n')
  const all: readonly (readonly [path: string, value: ChartValue['value'] | undefined, field: string])[] = [
    ['azure.diskEncryptionSetId', diskEncryptionSetID, 'diskEncryptionSetID'],
    ['azure.nodes.customCa', authorities, 'securityProfile.customCATrustCertificates'],
    ['azure.nodes.httpProxy', httpProxy, 'httpProxyConfig.httpProxy'],
    ['azure.nodes.httpsProxy', httpsProxy, 'httpProxyConfig.httpsProxy'],
    ['azure.nodes.noProxy', noProxy, 'httpProxyConfig.noProxy'],
    ['azure.nodes.proxyCa', trustedCa && pemOf(trustedCa), 'httpProxyConfig.trustedCa'],
  ]
  return all.flatMap(([path, value, field]) =>
    value === undefined || value.length === 0 ? [] : [known(path, value, `managedCluster properties.${field}`)],
  )
}

/** AKS holds certificates as PEM in base64. */
const pemOf = (text: string) => Buffer.from(text, 'base64').toString('utf8')
