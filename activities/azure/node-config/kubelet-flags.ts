import type { KubeletConversion } from '../../../core/node-class/kubelet-conversion.ts'
import type { Taint } from '../../../core/objects.ts'
import { taintKeys } from '../../../core/requirements/labels.ts'
import { formatResources, type Resources } from '../../../core/resources.ts'
import { describeTaint } from '../../../core/taints.ts'
import type { KubeletSettings } from '../node-class/node-class-settings.ts'

interface KubeletFlagsInput {
  readonly kubernetesVersion: string
  readonly maxPods: number
  readonly clusterDnsServiceIp: string
  readonly kubelet: KubeletSettings
  readonly v1beta1Kubelet: KubeletConversion | undefined
  readonly taints: readonly Taint[]
  readonly startupTaints: readonly Taint[]
  readonly kubeReserved: Resources
  readonly systemReserved: Resources
}

const cipherSuites = [
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_RSA_WITH_AES_128_GCM_SHA256',
].join(',')

// Flags of AKS nodes of every version (reference/azure-provider.md 7.2).
const everyVersion: Readonly<Record<string, string>> = {
  '--address': '0.0.0.0',
  '--anonymous-auth': 'false',
  '--authentication-token-webhook': 'true',
  '--authorization-mode': 'Webhook',
  '--cgroups-per-qos': 'true',
  '--client-ca-file': '/etc/kubernetes/certs/ca.crt',
  '--cloud-provider': 'external',
  '--cluster-domain': 'cluster.local',
  '--enforce-node-allocatable': 'pods',
  '--event-qps': '0',
  '--eviction-hard': 'memory.available<750Mi',
  '--image-gc-high-threshold': '85',
  '--image-gc-low-threshold': '80',
  '--kubeconfig': '/var/lib/kubelet/kubeconfig',
  '--node-status-update-frequency': '10s',
  '--pod-manifest-path': '/etc/kubernetes/manifests',
  '--pod-max-pids': '-1',
  '--protect-kernel-defaults': 'true',
  '--read-only-port': '0',
  '--resolv-conf': '/run/systemd/resolve/resolv.conf',
  '--rotate-certificates': 'true',
  '--streaming-connection-idle-timeout': '4h',
  '--tls-cert-file': '/etc/kubernetes/certs/kubeletserver.crt',
  '--tls-cipher-suites': cipherSuites,
  '--tls-private-key-file': '/etc/kubernetes/certs/kubeletserver.key',
}

/** Returns the kubelet's flags: AKS' own, then those of node class and instance type (reference/azure-provider.md 7.2). */
export function kubeletFlags(input: KubeletFlagsInput): Record<string, string> {
  const { kubeReserved, systemReserved } = input.v1beta1Kubelet ?? {}
  return {
    ...everyVersion,
    ...versionFlags(minorVersion(input.kubernetesVersion)),
    ...nodeClassFlags(input.kubelet),
    '--cluster-dns': input.clusterDnsServiceIp,
    '--max-pods': String(input.maxPods),
    '--kube-reserved': list({ ...formatResources(input.kubeReserved), ...kubeReserved }),
    '--system-reserved': list({ cpu: '0', memory: '0', ...formatResources(input.systemReserved), ...systemReserved }),
    ...v1beta1Flags(input.v1beta1Kubelet),
    '--register-with-taints': registeredTaints(input).map(describeTaint).join(','),
  }
}

/** Returns the minor version of `1.33.4` or `v1.33.4`: 33. */
export function minorVersion(kubernetesVersion: string): number {
  return Number(kubernetesVersion.replace(/^v/, '').split('.')[1] ?? 0)
}

function versionFlags(minor: number): Record<string, string> {
  const provider = '/var/lib/kubelet/credential-provider'
  return {
    ...(minor < 34 ? { '--cloud-config': '/etc/kubernetes/azure.json' } : {}),
    ...(minor < 35 ? { '--pod-infra-container-image': 'mcr.microsoft.com/oss/kubernetes/pause:3.6' } : {}),
    ...(minor < 31 ? { '--keep-terminated-pod-volumes': 'false' } : {}),
    ...(minor >= 30
      ? {
          '--image-credential-provider-config': `${provider}-config.yaml`,
          '--image-credential-provider-bin-dir': provider,
        }
      : {
          '--feature-gates': 'DisableKubeletCloudCredentialProviders=false',
          '--azure-container-registry-config': '/etc/kubernetes/azure.json',
        }),
  }
}

const fieldFlags: Readonly<Record<Exclude<keyof KubeletSettings, 'cpuCFSQuotaPeriod' | 'failSwapOn'>, string>> = {
  cpuManagerPolicy: '--cpu-manager-policy',
  cpuCFSQuota: '--cpu-cfs-quota',
  imageGCHighThresholdPercent: '--image-gc-high-threshold',
  imageGCLowThresholdPercent: '--image-gc-low-threshold',
  topologyManagerPolicy: '--topology-manager-policy',
  allowedUnsafeSysctls: '--allowed-unsafe-sysctls',
  containerLogMaxSize: '--container-log-max-size',
  containerLogMaxFiles: '--container-log-max-files',
  podPidsLimit: '--pod-max-pids',
}

/** Returns fields that kubelet accepts as flags; `cpuCFSQuotaPeriod` and `failSwapOn` have none and need the kubelet's config file. */
function nodeClassFlags(kubelet: KubeletSettings): Record<string, string> {
  const fields = Object.keys(fieldFlags) as (keyof typeof fieldFlags)[]
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = String(kubelet[field] ?? '')
      return value === '' ? [] : [[fieldFlags[field], value]]
    }),
  )
}

/**
 * Returns kubelet settings of a v1beta1 template as flags. AKS' threshold of memory stays where only another signal is named, since instance
 * types are planned with it.
 */
function v1beta1Flags(kubelet: KubeletConversion = {}): Record<string, string> {
  const { clusterDNS = [], podsPerCore, evictionMaxPodGracePeriod } = kubelet
  const flags: Record<string, string> = {
    '--cluster-dns': clusterDNS.join(','),
    '--pods-per-core': text(podsPerCore),
    '--eviction-hard': thresholds({ 'memory.available': '750Mi', ...withoutEmpty(kubelet.evictionHard) }),
    '--eviction-soft': thresholds(withoutEmpty(kubelet.evictionSoft)),
    '--eviction-soft-grace-period': list(kubelet.evictionSoftGracePeriod ?? {}),
    '--eviction-max-pod-grace-period': text(evictionMaxPodGracePeriod),
    '--image-gc-high-threshold': text(kubelet.imageGCHighThresholdPercent),
    '--image-gc-low-threshold': text(kubelet.imageGCLowThresholdPercent),
    '--cpu-cfs-quota': text(kubelet.cpuCFSQuota),
  }
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== ''))
}

const text = (value: number | boolean | undefined) => (value === undefined ? '' : String(value))

/** Removes empty thresholds, which count as unset. */
export function withoutEmpty(amounts: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount !== ''))
}

function thresholds(amounts: Readonly<Record<string, string>>): string {
  return Object.entries(amounts)
    .map(([signal, amount]) => `${signal}<${amount}`)
    .sort()
    .join(',')
}

/** Returns the taints. A new node keeps pods away until it is registered, unless the claim has that taint itself. */
function registeredTaints({ taints, startupTaints }: KubeletFlagsInput): readonly Taint[] {
  const unregistered: Taint = { key: taintKeys.unregistered, effect: 'NoExecute' }
  const given = [...taints, ...startupTaints]
  return given.some(({ key, effect }) => key === unregistered.key && effect === unregistered.effect)
    ? given
    : [...given, unregistered]
}

function list(amounts: Readonly<Record<string, string>>): string {
  return Object.entries(amounts)
    .map(([name, amount]) => `${name}=${amount}`)
    .sort()
    .join(',')
}
