import { isAtLeast } from './version.ts'

interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect: string
}

/** How a kubelet proves who it is: by a token that it trades for a certificate, or by a certificate that it was given. */
type KubeletIdentity =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'certificate'; readonly cert: string; readonly key: string }

export interface KubeletStart {
  /** Base URL of the API server. */
  readonly server: string
  /** PEM. */
  readonly ca: string
  readonly identity: KubeletIdentity
  /** As Nodes show it, such as `v1.36.3`. */
  readonly version: string
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  readonly maxPods: number
  /** Quantities by resource: reserved for Kubernetes and for the system. */
  readonly kubeReserved: Readonly<Record<string, string>>
  readonly systemReserved: Readonly<Record<string, string>>
  /** Thresholds by signal, such as `memory.available`. */
  readonly evictionHard: Readonly<Record<string, string>>
  /** Whether Azure's cloud provider gives the Node its provider id. */
  readonly hasCloudProvider: boolean
  /** What works, and should be otherwise. */
  readonly remarks: readonly string[]
}

type Settings = Readonly<Record<string, unknown>>

/**
 * Starts a kubelet from the environment of the provisioning scripts, as `/etc/default/kubelet` and `/etc/default/kubeletconfig.json`
 * would (reference/bootstrap.md 4.3, 5). Flags win over the file.
 * Errors: what makes a kubelet end at once.
 */
export function kubeletStart(environment: Readonly<Record<string, string>>, file: Settings = {}): KubeletStart {
  const flags = flagsOf(environment['KUBELET_FLAGS'] ?? '')
  if (flags.size === 0) throw new Error('KUBELET_FLAGS is empty; kubelet_config.kubelet_flags is needed')
  const version = environment['KUBERNETES_VERSION'] ?? ''
  refuseUnknownFlags(flags, version)
  if (!flags.has('--kubeconfig'))
    throw new Error('without --kubeconfig it runs on its own and joins no cluster; give --kubeconfig')
  const settings = environment['KUBELET_CONFIG_FILE_ENABLED'] === 'true' ? file : {}
  const labels = pairsOf(environment['KUBELET_NODE_LABELS'] ?? '')
  refuseForeignLabels(labels)
  return {
    server: serverUrl(environment['API_SERVER_NAME'] ?? ''),
    ca: Buffer.from(environment['KUBE_CA_CRT'] ?? '', 'base64').toString(),
    identity: identityOf(environment),
    version: `v${version.replace(/^v/, '')}`,
    labels,
    taints: (flags.get('--register-with-taints') ?? '').split(',').filter(Boolean).map(parseTaint),
    maxPods: Number(flags.get('--max-pods') ?? settings['maxPods'] ?? 110),
    kubeReserved: mapSetting(flags.get('--kube-reserved'), settings['kubeReserved']),
    systemReserved: mapSetting(flags.get('--system-reserved'), settings['systemReserved']),
    evictionHard: mapSetting(
      flags.get('--eviction-hard')?.replaceAll('<', '='),
      settings['evictionHard'] ?? { 'memory.available': '100Mi' },
    ),
    hasCloudProvider: flags.get('--cloud-provider') === 'external',
    remarks: [...flags.keys()]
      .filter((flag) => fileSettings[flag] !== undefined && fileSettings[flag] in settings)
      .map((flag) => `kubelet: ${flag} is given as a flag and in its configuration file; the flag wins`),
  }
}

/** Flags whose setting may stand in the file instead. */
const fileSettings: Readonly<Record<string, string>> = {
  '--max-pods': 'maxPods',
  '--kube-reserved': 'kubeReserved',
  '--system-reserved': 'systemReserved',
  '--eviction-hard': 'evictionHard',
}

function serverUrl(name: string): string {
  return `https://${name.includes(':') ? name : `${name}:443`}`
}

function identityOf(environment: Readonly<Record<string, string>>): KubeletIdentity {
  const token = environment['TLS_BOOTSTRAP_TOKEN'] ?? ''
  if (token !== '') {
    if (!/^[a-z0-9]{6}\.[a-z0-9]{16}$/.test(token))
      throw new Error('the bootstrap token is not of the form id.secret, with 6 and 16 small letters and digits')
    return { kind: 'token', token }
  }
  if (environment['ENABLE_SECURE_TLS_BOOTSTRAPPING'] === 'true')
    throw new Error(
      'secure TLS bootstrapping is not offered by the simulated cluster, and no token stands as its fallback',
    )
  const cert = Buffer.from(environment['KUBELET_CLIENT_CERT_CONTENT'] ?? '', 'base64').toString()
  const key = Buffer.from(environment['KUBELET_CLIENT_CONTENT'] ?? '', 'base64').toString()
  if (cert === '' || key === '')
    throw new Error('there is neither a bootstrap token nor a client certificate with its key')
  return { kind: 'certificate', cert, key }
}

function flagsOf(text: string): ReadonlyMap<string, string> {
  return new Map(
    text
      .split(' ')
      .filter(Boolean)
      .map((flag) => {
        const equals = flag.indexOf('=')
        return equals < 0 ? [flag, 'true'] : [flag.slice(0, equals), flag.slice(equals + 1)]
      }),
  )
}

/** Flags that kubelets have lost, with the minor version of Kubernetes 1 from which on (reference/azure-provider.md 7.2). */
const goneFrom: Readonly<Record<string, number>> = {
  '--keep-terminated-pod-volumes': 31,
  '--azure-container-registry-config': 30,
  '--cloud-config': 34,
  '--pod-infra-container-image': 35,
}

function refuseUnknownFlags(flags: ReadonlyMap<string, string>, version: string): void {
  for (const flag of flags.keys()) {
    const minor = goneFrom[flag]
    const isGone = minor !== undefined && isAtLeast(version, 1, minor)
    if (isGone || !/^--[a-z0-9-]+$/.test(flag)) throw new Error(`unknown flag: ${flag} (Kubernetes ${version})`)
  }
}

const ownLabels = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
])

/**
 * A kubelet may not give its Node labels of Kubernetes' own domains, besides a few
 * (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction).
 */
function refuseForeignLabels(labels: Readonly<Record<string, string>>): void {
  const foreign = Object.keys(labels).filter((label) => {
    const domain = label.includes('/') ? label.slice(0, label.indexOf('/')) : ''
    const isKubernetes = /(^|\.)(kubernetes|k8s)\.io$/.test(domain)
    const isAllowed = ownLabels.has(label) || /(^|\.)(kubelet|node)\.kubernetes\.io$/.test(domain)
    return isKubernetes && !isAllowed
  })
  if (foreign.length > 0)
    throw new Error(`unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: ${foreign.join(', ')}`)
}

function mapSetting(flag: string | undefined, setting: unknown): Readonly<Record<string, string>> {
  return flag === undefined ? ((setting ?? {}) as Readonly<Record<string, string>>) : pairsOf(flag)
}

function pairsOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text
      .split(',')
      .filter(Boolean)
      .map((pair) => {
        const equals = pair.indexOf('=')
        return equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
      }),
  )
}

function parseTaint(text: string): Taint {
  const [, key = '', value, effect = ''] = /^([^=:]+)(?:=([^:]*))?:(.+)$/.exec(text) ?? []
  if (effect === '') throw new Error(`invalid taint "${text}" in --register-with-taints`)
  return { key, effect, ...(value === undefined ? {} : { value }) }
}
