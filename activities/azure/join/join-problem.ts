// What a machine's own words say about why its Node does not join: the serial log, and what extensions and provisioning report.

interface Problem {
  readonly pattern: RegExp
  readonly problem: string
  readonly remedy: string
}

const outbound =
  'allow the outbound traffic that AKS nodes need in the network security group, route table, firewall and proxy'

/** Results of provisioning, by exit code (reference/bootstrap.md 3). */
const exitCodes: Readonly<Record<string, readonly [problem: string, remedy: string]>> = {
  '4': ['a service of the node did not start', 'read /var/log/azure/cluster-provision.log on the VM'],
  '5': ['cloud-init did not end in time', 'try another node image'],
  '28': ['containerd could not be installed', outbound],
  '34': ['kubelet did not start', 'check spec.kubelet of the AKSNodeClass; journalctl -u kubelet on the VM says why'],
  '41': ["the CNI's plugins could not be downloaded", outbound],
  '50': ['the node reaches nothing outside', outbound],
  '51': [
    'the node does not reach the API server',
    'check CLUSTER_ENDPOINT and the way to it from the subnet of the nodes',
  ],
  '52': ["the API server's name has no address", 'check CLUSTER_ENDPOINT and the DNS servers of the virtual network'],
  '83': ['the GPU driver was not installed', 'choose another GPU size, or gpu.mode None in the AKSNodeClass'],
  '84': ['the GPU driver was not installed', 'choose another GPU size, or gpu.mode None in the AKSNodeClass'],
  '121': ['kubelet could not be installed', outbound],
  '122': ['kubectl could not be installed', outbound],
  '124': ['provisioning did not end in its time', outbound],
  '205': ["the registry's credential provider could not be downloaded", outbound],
  '240': ["the node's controller refused its configuration", 'take a newer node image (JOINER_IMAGE_MIN_VERSION)'],
}

/** The first that matches counts, so what causes others stands first. */
const problems: readonly Problem[] = [
  {
    pattern: /no such host|server misbehaving|Temporary failure in name resolution/i,
    problem: "kubelet finds no address for the API server's name",
    remedy: 'check CLUSTER_ENDPOINT and the DNS servers of the virtual network',
  },
  {
    pattern: /(dial tcp|connect(ion)?)[^\n]*(i\/o timeout|refused|timed out|no route to host|network is unreachable)/i,
    problem: 'kubelet could not reach the API server',
    remedy:
      'check CLUSTER_ENDPOINT, and the network security group, routes and firewall between it and the subnet of the nodes',
  },
  {
    pattern: /x509|certificate signed by unknown authority/i,
    problem: "kubelet does not trust the API server's certificate",
    remedy: 'check that CLUSTER_ENDPOINT is of this cluster; Joiner gives nodes the CA that it uses itself',
  },
  {
    pattern: /(bootstrap|kubelet)[^\n]*(Unauthorized|forbidden)|invalid bearer token/i,
    problem: "the API server refused the node's bootstrap token",
    remedy:
      'check that bootstrap tokens are enabled and that the group system:bootstrappers:joiner may create certificate signing requests',
  },
  {
    pattern:
      /(pull|ErrImagePull|ImagePullBackOff|failed to resolve)[^\n]*\bpause\b|\bpause\b[^\n]*(pull|not found|ErrImagePull)/i,
    problem: 'image pull of pause failed',
    remedy: `let the nodes reach mcr.microsoft.com: ${outbound}`,
  },
  {
    pattern: /cni plugin not initialized|no networks found in \/etc\/cni|NetworkPluginNotReady/i,
    problem: 'CNI missing',
    remedy:
      "check NETWORK_PLUGIN, NETWORK_PLUGIN_MODE and NETWORK_DATAPLANE, and that the network's DaemonSet runs on new nodes",
  },
  {
    pattern: /No space left on device/i,
    problem: 'the OS disk is full',
    remedy: 'raise spec.osDiskSizeGB of the AKSNodeClass',
  },
]

/**
 * Returns in words why a node does not join, with the remedy, by what its machine wrote; undefined when nothing of it is known. A result of provisioning
 * counts more than a log, which may hold a problem that is over.
 */
export function joinProblem(text: string): string | undefined {
  const code = /"?ExitCode"?\s*[:=]\s*"?(\d+)|exit (?:status|code)[ :=]+(\d+)/i.exec(text)
  const byCode = exitCodes[code?.[1] ?? code?.[2] ?? '']
  if (byCode !== undefined) return `${byCode[0]}: ${byCode[1]}`
  const found = problems.find(({ pattern }) => pattern.test(text))
  return found && `${found.problem}: ${found.remedy}`
}
