import { configPath, firstBoot } from './custom-data.ts'

/*
 * What a node must never be given, whoever wrote the custom data. The grammar is the simulator's own, and stricter than a node: it is there to
 * find what the product's checks let through.
 */

/** Ends a line, a word or a quotation in a shell or in an EnvironmentFile, or begins something else there. */
const forbidden = /[\s"'\\$`;|&<>\p{Cc}]/u

/** Texts with blanks in them, by their path, as they may be. */
const withBlanks: Readonly<Record<string, RegExp>> = {
  outbound_command: /^curl( -{1,2}[a-z-]+)* https:\/\/[a-z./0-9]+$/,
  'custom_linux_os_config.sysctl_config.net_ipv4_ip_local_port_range': /^[0-9]{1,5} [0-9]{1,5}$/,
}

const labels = 'kubelet_config.kubelet_node_labels'
const flags = 'kubelet_config.kubelet_flags'
const labelKey = /^([a-z0-9][a-z0-9.-]{0,252}\/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/
const labelValue = /^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/
const flagName = /^--[a-z]+(-[a-z]+)*$/
/** What occurs in flags: lists, amounts, paths, addresses, taints; a threshold has a "<", a prefix of sysctls ends in "*". */
const flagValue = /^[A-Za-z0-9._:,=/%+-]*$/
const looserFlags: Readonly<Record<string, RegExp>> = {
  '--eviction-hard': /^[A-Za-z0-9.,<%+-]*$/,
  '--eviction-soft': /^[A-Za-z0-9.,<%+-]*$/,
  '--allowed-unsafe-sysctls': /^[a-z0-9._/,*-]*$/,
}

/** Returns the places in custom data that break the grammar, without what stands there. Custom data that holds no node configuration has none. */
export function violationsOf(customData: string): readonly string[] {
  const content = firstBoot(customData).files.get(configPath)?.content
  if (content === undefined) return []
  try {
    return violationsAt(JSON.parse(content), '')
  } catch {
    return [`${configPath} is not JSON`]
  }
}

function violationsAt(value: unknown, path: string): readonly string[] {
  if (typeof value === 'string') return isClean(value, path) ? [] : [path]
  if (Array.isArray(value)) return value.flatMap((entry: unknown, at) => violationsAt(entry, `${path}[${at}]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, entry]) => {
    const at = path === '' ? key : `${path}.${key}`
    if (path === labels) return labelKey.test(key) && labelValue.test(String(entry)) ? [] : [at]
    if (path === flags) return flagName.test(key) && (looserFlags[key] ?? flagValue).test(String(entry)) ? [] : [at]
    return [...(forbidden.test(key) ? [at] : []), ...violationsAt(entry, at)]
  })
}

function isClean(text: string, path: string): boolean {
  return Object.hasOwn(withBlanks, path) ? (withBlanks[path] as RegExp).test(text) : !forbidden.test(text)
}
