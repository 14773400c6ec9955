// The flags that a kubelet was given beside what it says of itself.

interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect: string
}

type Json = Readonly<Record<string, unknown>>

/** Fields of a kubelet's configuration that are not named as their flags. */
const fields: Readonly<Record<string, string>> = {
  '--anonymous-auth': 'authentication.anonymous.enabled',
  '--authentication-token-webhook': 'authentication.webhook.enabled',
  '--authorization-mode': 'authorization.mode',
  '--client-ca-file': 'authentication.x509.clientCAFile',
  '--cgroups-per-qos': 'cgroupsPerQOS',
  '--cluster-dns': 'clusterDNS',
  '--cpu-cfs-quota': 'cpuCFSQuota',
  '--event-qps': 'eventRecordQPS',
  '--image-gc-high-threshold': 'imageGCHighThresholdPercent',
  '--image-gc-low-threshold': 'imageGCLowThresholdPercent',
  '--pod-manifest-path': 'staticPodPath',
  '--pod-max-pids': 'podPidsLimit',
  '--resolv-conf': 'resolvConf',
}

/** Flags that stand in no configuration. What they do is seen otherwise: the node has joined, its provider is another, and its taints were compared. */
const withoutField = [
  '--kubeconfig',
  '--cloud-provider',
  '--image-credential-provider-config',
  '--image-credential-provider-bin-dir',
]

/** Flags of which the kubelet says something else than it was given, or nothing. `flags`: as a node's scripts have them. */
export function otherFlags(flags: string, configuration: Json): readonly string[] {
  return flags.split(' ').flatMap((flag) => {
    const [name = '', ...rest] = flag.split('=')
    if (withoutField.includes(name)) return []
    const given = rest.join('=')
    const said = textOf(at(configuration, fields[name] ?? camelCase(name)), given.includes('<') ? '<' : '=')
    // Zero is left out.
    if (said === 'undefined' && given === '0') return []
    return sorted(said) === sorted(given) ? [] : [`${name} is ${said}, not ${given}`]
  })
}

const camelCase = (flag: string) => flag.slice(2).replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())
const sorted = (text: string) => text.split(',').toSorted().join(',')

function at(configuration: Json, path: string): unknown {
  return path.split('.').reduce<unknown>((found, name) => (found as Json | undefined)?.[name], configuration)
}

/** A value as a flag has it. `sign`: between a name and its amount. */
function textOf(value: unknown, sign: string): string {
  if (Array.isArray(value))
    return value.map((entry: string | Taint) => (typeof entry === 'string' ? entry : taintText(entry))).join(',')
  if (typeof value !== 'object' || value === null) return String(value)
  const amounts = Object.entries(value as Readonly<Record<string, string>>)
  return amounts.map(([name, amount]) => `${name}${sign}${amount}`).join(',')
}

function taintText({ key, value = '', effect }: Taint): string {
  return `${key}${value === '' ? '' : `=${value}`}:${effect}`
}
