// Values of the chart about nodes, from a cluster and its network.

import type { ManagedCluster } from '../../picture/managed-cluster.ts'
import type { ClusterFacts } from './facts.ts'
import type { ChartValue } from './image-values.ts'

/** Returns the subnet of the nodes and the GUID of its network. */
export function subnetValues({ network, cluster }: ClusterFacts): readonly ChartValue[] {
  const subnetId = ['azure', 'subnetId']
  if (network.kind === 'missing')
    return [
      {
        path: subnetId,
        value: '',
        source: network.why,
        remedy: `set it to the id of the subnet for nodes: az network vnet subnet list --resource-group ${cluster.properties.nodeResourceGroup ?? 'GROUP-OF-THE-NETWORK'} --vnet-name NETWORK --query "[].id" --output tsv`,
        isNeeded: true,
      },
    ]
  const { subnetId: value, guid } = network.value
  return [
    { path: subnetId, value, source: network.source },
    { path: ['azure', 'vnetGuid'], value: guid, source: 'virtualNetwork properties.resourceGuid' },
  ]
}

/** Returns the identity that nodes pull images with. */
export function identityValues({ name, properties }: ManagedCluster): readonly ChartValue[] {
  const { resourceId, clientId } = properties.identityProfile?.kubeletidentity ?? {}
  const field = 'managedCluster properties.identityProfile.kubeletidentity'
  const remedy = `nodes pull images without an identity; give the cluster one: az aks update --name ${name} --enable-managed-identity`
  return [
    {
      path: ['azure', 'nodeIdentities'],
      value: resourceId === undefined ? [] : [resourceId],
      source: resourceId === undefined ? `${field} is not set` : `${field}.resourceId`,
      ...(resourceId === undefined ? { remedy } : {}),
    },
    { path: ['azure', 'kubeletIdentityClientId'], value: clientId ?? '', source: `${field}.clientId` },
  ]
}

/** Plugins that nodes of Joiner can have (reference/azure-provider.md 9.5). */
const plugins = ['azure', 'none']

/** Returns how pods are connected, and the address of DNS. */
export function networkValues({ name, properties }: ManagedCluster): readonly ChartValue[] {
  const {
    networkPlugin = '',
    networkPluginMode,
    networkDataplane,
    networkPolicy,
    dnsServiceIP,
    ipFamilies = [],
  } = properties.networkProfile ?? {}
  const of = (field: string) => `managedCluster properties.networkProfile.${field}`
  const isKnown = plugins.includes(networkPlugin)
  if (ipFamilies.includes('IPv6'))
    return [
      {
        path: ['azure', 'networkPlugin'],
        value: '',
        source: `${of('ipFamilies')} is ${ipFamilies.join(', ')}; nodes of Joiner have IPv4 addresses only`,
        remedy: 'use a cluster with --ip-families ipv4, or keep this one to its agent pools (docs/limits.md)',
        isNeeded: true,
      },
    ]
  const plugin: ChartValue = {
    path: ['azure', 'networkPlugin'],
    value: isKnown ? networkPlugin : '',
    source: isKnown
      ? of('networkPlugin')
      : `${of('networkPlugin')} is "${networkPlugin}"; Joiner supports azure and none`,
    ...(isKnown
      ? {}
      : {
          remedy: `az aks update --name ${name} --network-plugin azure --network-plugin-mode overlay --pod-cidr 192.168.0.0/16`,
          isNeeded: true,
        }),
  }
  const text = (path: string, value: string | undefined, field: string): ChartValue => ({
    path: ['azure', path],
    value: value ?? '',
    source: of(field),
  })
  return [
    plugin,
    text('networkPluginMode', networkPluginMode, 'networkPluginMode'),
    text('networkDataplane', networkDataplane, 'networkDataplane'),
    text('networkPolicy', networkPolicy, 'networkPolicy'),
    text('dnsServiceIp', dnsServiceIP, 'dnsServiceIP'),
  ]
}

/** Returns the SSH key and the user of nodes. */
export function loginValues({ properties }: ManagedCluster): readonly ChartValue[] {
  const { ssh, adminUsername } = properties.linuxProfile ?? {}
  const key = ssh?.publicKeys?.[0]?.keyData?.trim()
  const field = 'managedCluster properties.linuxProfile'
  const path = ['azure', 'sshPublicKey']
  return [
    key?.startsWith('ssh-') === true
      ? { path, value: key, source: `${field}.ssh.publicKeys[0].keyData` }
      : {
          path,
          value: '',
          source: `${field}.ssh holds no public key`,
          remedy:
            'make one, since Azure creates no Linux VM without it: ssh-keygen -t ed25519 -N "" -f joiner-nodes; then add --set-file azure.sshPublicKey=joiner-nodes.pub to helm',
          isNeeded: true,
        },
    ...(adminUsername === undefined
      ? []
      : [{ path: ['azure', 'linuxAdminUsername'], value: adminUsername, source: `${field}.adminUsername` }]),
  ]
}

/** Returns what most clusters do not have: a disk encryption set, a proxy, CAs. */
export function otherValues({ properties }: ManagedCluster): readonly ChartValue[] {
  const { diskEncryptionSetID, httpProxyConfig = {}, securityProfile } = properties
  const { httpProxy, httpsProxy, noProxy, trustedCa } = httpProxyConfig
  const authorities = (securityProfile?.customCATrustCertificates ?? []).map(pemOf).join('\n')
  const all: readonly (readonly [readonly string[], string | readonly string[] | undefined, string])[] = [
    [['azure', 'diskEncryptionSetId'], diskEncryptionSetID, 'diskEncryptionSetID'],
    [['azure', 'nodes', 'customCa'], authorities, 'securityProfile.customCATrustCertificates'],
    [['azure', 'nodes', 'httpProxy'], httpProxy, 'httpProxyConfig.httpProxy'],
    [['azure', 'nodes', 'httpsProxy'], httpsProxy, 'httpProxyConfig.httpsProxy'],
    [['azure', 'nodes', 'noProxy'], noProxy, 'httpProxyConfig.noProxy'],
    [['azure', 'nodes', 'proxyCa'], trustedCa && pemOf(trustedCa), 'httpProxyConfig.trustedCa'],
  ]
  return all.flatMap(([path, value, field]) =>
    value === undefined || value.length === 0 ? [] : [{ path, value, source: `managedCluster properties.${field}` }],
  )
}

/** AKS holds certificates as PEM in base64. */
const pemOf = (text: string) => Buffer.from(text, 'base64').toString('utf8')
