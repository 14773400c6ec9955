// Values that kubelet accepts in allowedUnsafeSysctls (kubernetes/kubernetes, pkg/kubelet/sysctl/allowlist.go): with any other it does not start.

const segment = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const pattern = new RegExp(`^(${segment}[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$`)
const maxLength = 253

const namespaced = ['kernel.shm', 'kernel.msg', 'fs.mqueue.', 'net.']
const namespacedName = 'kernel.sem'

/** Returns the error in the name of an unsafe sysctl that pods may set, or in a prefix that ends in `*`; undefined when it is valid. */
export function sysctlError(text: string): string | undefined {
  if (text.length > maxLength) return `has more than ${maxLength} characters; shorten it`
  if (!pattern.test(text)) return 'is no name of a sysctl; write it as net.core.somaxconn, or a prefix as net.core.*'
  const name = dotted(text).replace(/\*$/, '')
  if (name === namespacedName || namespaced.some((known) => name.startsWith(known))) return undefined
  return `is not namespaced, and kubelet does not start with it; use ${namespacedName} or names that begin with ${namespaced.join(', ')}`
}

/** Returns the name with dots between its parts. Where a slash comes first, slashes separate the parts and a dot belongs to a part. */
function dotted(text: string): string {
  if (/^[^./]*\//.exec(text) === null) return text
  return text.replaceAll(/[./]/g, (separator) => (separator === '/' ? '.' : '/'))
}
