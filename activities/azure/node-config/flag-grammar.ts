import { labelValueErrors, qualifiedNameErrors } from '../../../core/requirements/label-syntax.ts'

type Check = (text: string) => boolean

const of = (pattern: RegExp) => (text: string) => pattern.test(text)
const listOf = (isEntry: Check) => (text: string) => text.split(',').every(isEntry)

const bool = of(/^(true|false)$/)
const number = of(/^-?\d+$/)
const word = of(/^[A-Za-z0-9-]+$/)
const path = of(/^\/[A-Za-z0-9._/-]+$/)
const duration = of(/^\+?[0-9.]+(ns|us|ms|s|m|h)([0-9.]+(ns|us|ms|s|m|h))*$/)
const address = of(/^[0-9A-Fa-f:.]+$/)
const amount = '[+-]?[0-9.]*([eE][+-]?[0-9]+|[A-Za-z]{0,2})'
/** Empty where the VM size is unknown. */
const reserved: Check = (text) => text === '' || reservation(text)
const reservation = listOf(of(new RegExp(`^[a-z0-9./-]+=${amount}$`)))
const threshold = listOf(of(new RegExp(`^[a-zA-Z.]+<(${amount}|[0-9.]+%)$`)))
const effects = /:(NoSchedule|PreferNoSchedule|NoExecute)$/

/** `key=value:Effect`, the value only where there is one. */
const taint: Check = (text) => {
  const [key = '', ...value] = text.replace(effects, '').split('=')
  return effects.test(text) && qualifiedNameErrors(key).length === 0 && labelValueErrors(value.join('=')).length === 0
}

/** The form of each flag's value. Joiner sets no others. */
const flags: Readonly<Record<string, Check>> = {
  '--address': address,
  '--allowed-unsafe-sysctls': listOf(of(/^[a-z0-9_./-]+\*?$/)),
  '--anonymous-auth': bool,
  '--authentication-token-webhook': bool,
  '--authorization-mode': word,
  '--azure-container-registry-config': path,
  '--cgroups-per-qos': bool,
  '--client-ca-file': path,
  '--cloud-config': path,
  '--cloud-provider': word,
  '--cluster-dns': listOf(address),
  '--cluster-domain': of(/^[a-z0-9.-]+$/),
  '--container-log-max-files': number,
  '--container-log-max-size': of(new RegExp(`^${amount}$`)),
  '--cpu-cfs-quota': bool,
  '--cpu-manager-policy': word,
  '--enforce-node-allocatable': listOf(word),
  '--event-qps': number,
  '--eviction-hard': threshold,
  '--eviction-max-pod-grace-period': number,
  '--eviction-soft': threshold,
  '--eviction-soft-grace-period': listOf((text) => {
    const [signal = '', time = ''] = text.split('=')
    return /^[a-zA-Z.]+$/.test(signal) && duration(time)
  }),
  '--feature-gates': listOf(of(/^[A-Za-z]+=(true|false)$/)),
  '--image-credential-provider-bin-dir': path,
  '--image-credential-provider-config': path,
  '--image-gc-high-threshold': number,
  '--image-gc-low-threshold': number,
  '--keep-terminated-pod-volumes': bool,
  '--kube-reserved': reserved,
  '--kubeconfig': path,
  '--max-pods': number,
  '--node-status-update-frequency': duration,
  '--pod-infra-container-image': of(/^[a-z0-9./:-]+$/),
  '--pod-manifest-path': path,
  '--pod-max-pids': number,
  '--pods-per-core': number,
  '--protect-kernel-defaults': bool,
  '--read-only-port': number,
  '--register-with-taints': listOf(taint),
  '--resolv-conf': path,
  '--rotate-certificates': bool,
  '--streaming-connection-idle-timeout': duration,
  '--system-reserved': reserved,
  '--tls-cert-file': path,
  '--tls-cipher-suites': listOf(of(/^[A-Z0-9_]+$/)),
  '--tls-private-key-file': path,
  '--topology-manager-policy': word,
}

/** Returns whether Joiner sets a kubelet flag, and its value has the form of that flag. */
export function isFlagValue(flag: string, value: string): boolean {
  return Object.hasOwn(flags, flag) && (flags[flag] as Check)(value)
}
