// Everything in which requests to Azure and node configurations differ from the reference provider's, each with its reason (reference/bootstrap.md 7,
// reference/real-aks.md 4). Prices: what costs 0 or has no price costs 999 in both.

type Json = Readonly<Record<string, unknown>>

/**
 * Returns the properties of a VM without what Joiner sends besides: boot diagnostics in storage that Azure manages. Anything else stays, so that it is
 * compared.
 */
export function withoutOwnFields(ours: Json): Json {
  const { diagnosticsProfile, ...rest } = ours
  const isOwn = JSON.stringify(diagnosticsProfile) === '{"bootDiagnostics":{"enabled":true}}'
  return isOwn ? rest : ours
}

export type Variables = Readonly<Record<string, string>>

interface Difference {
  readonly reason: string
  /** Whether the two may differ as they do. `ours`: undefined where the node's controller has no such variable. */
  readonly isAllowed: (ours: string | undefined, theirs: string, variables: Variables) => boolean
}

const exactly =
  (mine: string | undefined, other: string): Difference['isAllowed'] =>
  (ours, theirs) =>
    ours === mine && theirs === other
const retired: Difference = {
  reason: 'scripts of node images do not read it any more, and the contract has no field for it',
  isAllowed: (ours) => ours === undefined,
}
const byImage: Difference = {
  reason: 'the node takes it from its image; the vectors hold a fingerprint, which is not to be reproduced',
  isAllowed: (ours, theirs) => ours === undefined && theirs.startsWith('sha256:'),
}
const gpu: Difference = {
  reason: 'the node reads the driver of its image; without a GPU nothing uses it',
  isAllowed: (_ours, theirs, { GPU_NODE }) => GPU_NODE === 'false' && theirs === '',
}
const dhcpV6: Difference = {
  reason: 'the node names the scripts of its image; without IPv6 nothing uses them',
  isAllowed: (ours, theirs, { IPV6_DUAL_STACK_ENABLED }) =>
    ours !== undefined && theirs === '' && IPV6_DUAL_STACK_ENABLED === 'false',
}

const bootstrapDifferences: Readonly<Record<string, Difference>> = {
  CNI_PLUGINS_URL: retired,
  CONTAINER_RUNTIME: retired,
  ENABLE_TLS_BOOTSTRAPPING: retired,
  HYPERKUBE_URL: retired,
  IS_KRUSTLET: retired,
  MCR_REPOSITORY_BASE: retired,
  NEEDS_CONTAINERD: retired,
  NEEDS_DOCKER_LOGIN: retired,
  TELEPORTD_PLUGIN_DOWNLOAD_URL: retired,
  TELEPORT_ENABLED: retired,
  CONTAINERD_CONFIG_CONTENT: byImage,
  SYSCTL_CONTENT: byImage,
  GPU_DRIVER_TYPE: gpu,
  GPU_DRIVER_VERSION: gpu,
  GPU_IMAGE_SHA: gpu,
  DHCPV6_CONFIG_FILEPATH: dhcpV6,
  DHCPV6_SERVICE_FILEPATH: dhcpV6,
  ADMINUSER: {
    reason: "the reference provider's script knows the default only; the user of the VM is the setting's",
    isAllowed: (ours, theirs) => ours !== undefined && theirs === 'azureuser',
  },
  KUBELET_CONFIG_FILE_ENABLED: {
    reason: "fields of spec.kubelet without a flag go into the kubelet's file; the reference provider drops them",
    isAllowed: exactly('true', 'false'),
  },
  CSE_TIMEOUT: { reason: 'the contract counts seconds', isAllowed: exactly('900', '15m') },
  LOAD_BALANCER_SKU: {
    reason: "the node's controller writes it in small letters",
    isAllowed: exactly('standard', 'Standard'),
  },
  NETWORK_POLICY: {
    reason: 'the contract has no value for Cilium, which its own components set up',
    isAllowed: exactly('', 'cilium'),
  },
  KUBELET_CONFIG_FILE_CONTENT: {
    reason: "the kubelet's file is compared by itself; without one the scripts write an empty object",
    isAllowed: exactly(undefined, ''),
  },
  KUBE_CA_CRT: {
    reason: "the vectors' CA is a text that is no base64, which Joiner refuses",
    isAllowed: exactly('Y2EtYnVuZGxl', 'ca-bundle'),
  },
  TLS_BOOTSTRAP_TOKEN: {
    reason: "the vectors' token does not have the form of one, which Joiner refuses",
    isAllowed: exactly('abcdef.0123456789abcdef', 'test-token'),
  },
  USER_ASSIGNED_IDENTITY_ID: {
    reason: "the vectors' provider was built with an identity other than that of its options",
    isAllowed: (ours, theirs) => ours !== '' && theirs === 'test-kubelet-identity-client-id',
  },
}

/** Returns the variables that differ and may not, each with both values. */
export function forbiddenDifferences(ours: Variables, theirs: Variables): readonly string[] {
  return Object.entries(theirs).flatMap(([name, value]) => {
    const own = ours[name]
    if (own === value || bootstrapDifferences[name]?.isAllowed(own, value, theirs) === true) return []
    return [`${name}: ${own ?? '(none)'} instead of ${value}`]
  })
}
