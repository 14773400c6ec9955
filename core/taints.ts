import type { Taint, Toleration } from './objects.ts'

/**
 * Whether a toleration covers a taint, numeric comparisons included (reference/karpenter-core.md 2, "Taints"). An unknown operator covers nothing.
 */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false
  if (toleration.key && toleration.key !== taint.key) return false
  switch (toleration.operator || 'Equal') {
    case 'Exists':
      return true
    case 'Lt':
      return compareNumbers(taint.value, toleration.value, (a, b) => a < b)
    case 'Gt':
      return compareNumbers(taint.value, toleration.value, (a, b) => a > b)
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '')
    default:
      return false
  }
}

const maxInt64 = (1n << 63n) - 1n
const minInt64 = -(1n << 63n)

/** Compares decimal whole numbers of 64 bits; anything else, leading zeros included, compares as false. */
function compareNumbers(
  a: string | undefined,
  b: string | undefined,
  holds: (a: bigint, b: bigint) => boolean,
): boolean {
  const left = parseDecimal(a ?? '')
  const right = parseDecimal(b ?? '')
  return left !== undefined && right !== undefined && holds(left, right)
}

function parseDecimal(text: string): bigint | undefined {
  if (!/^(0|-?[1-9][0-9]*)$/.test(text)) return undefined
  const value = BigInt(text)
  return value > maxInt64 || value < minInt64 ? undefined : value
}

/** Returns the taints that no toleration covers. PreferNoSchedule counts: it is hard until it is relaxed. */
export function untolerated(taints: readonly Taint[], tolerations: readonly Toleration[]): readonly Taint[] {
  return taints.filter((taint) => !tolerations.some((toleration) => tolerates(toleration, taint)))
}

/** Returns that a pod does not tolerate these taints, in upstream's words. */
export function intoleranceText(taints: readonly Taint[]): string {
  return taints.map((taint) => `did not tolerate taint (taint=${describeTaint(taint)})`).join('; ')
}

/** `key=value:Effect`; the value only where there is one. */
export function describeTaint({ key, value, effect }: Taint): string {
  return `${key}${value ? `=${value}` : ''}:${effect}`
}

/** Whether key and effect are equal: taints are identified without their values. */
export function sameTaint(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect
}

/** Returns the first list, and the taints of the second whose key and effect are new. */
export function mergeTaints(taints: readonly Taint[], added: readonly Taint[]): readonly Taint[] {
  const merged = [...taints]
  for (const taint of added) if (!merged.some((other) => sameTaint(other, taint))) merged.push(taint)
  return merged
}

const ephemeral: readonly Taint[] = [
  { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
  { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' },
  { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
]

/** Whether a taint is expected to vanish while a node starts (reference/karpenter-core.md 1.5). */
export function isEphemeralTaint(taint: Taint): boolean {
  return taint.key.startsWith('readiness.k8s.io/') || ephemeral.some((known) => sameTaint(known, taint))
}
