import type { NodeClass } from '../../../api/objects.ts'
import { isTrue } from '../../../core/conditions.ts'
import type { Finding } from './finding.ts'

/** The API server's version, or why it is unknown. */
export type ServerVersion =
  | { readonly kind: 'version'; readonly gitVersion: string }
  | { readonly kind: 'error'; readonly error: unknown }

/**
 * Returns the finding for the Kubernetes version of new nodes: the API server's, but never an older one than before, as during an upgrade of its
 * replicas. A newer one makes the images invalid (reference/azure-provider.md 1.6). An answer without a version changes nothing.
 */
export function kubernetesVersionFinding({ status }: Pick<NodeClass, 'status'>, server: ServerVersion): Finding {
  if (server.kind === 'error') return { error: server.error }
  const version = server.gitVersion.replace(/^v/, '')
  const ready = { type: 'KubernetesVersionReady', status: 'True' } as const
  if (!semver.test(version)) {
    return { error: new Error(`API server: version "${server.gitVersion}" is not of the form v1.2.3`) }
  }
  const before = status.kubernetesVersion
  if (before === undefined || before === '' || !isTrue(status.conditions, ready.type))
    return { conditions: [ready], status: { kubernetesVersion: version } }
  if (compareVersions(version, before) <= 0) return { conditions: [ready] }
  const upgrade = {
    type: 'ImagesReady',
    status: 'False',
    reason: 'KubernetesUpgrade',
    message: `Kubernetes was upgraded from ${before} to ${version}; images are searched again`,
  } as const
  return { conditions: [upgrade, ready], status: { kubernetesVersion: version } }
}

const semver = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?$/

/** Compares two versions without "v" (https://semver.org, 11): below zero when the first is older. A text that is no version is older than all. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [semver.exec(a), semver.exec(b)]
  if (left === null || right === null) return Number(left !== null) - Number(right !== null)
  for (const part of [1, 2, 3]) {
    const difference = Number(left[part]) - Number(right[part])
    if (difference !== 0) return difference
  }
  return comparePreReleases(left[4], right[4])
}

function comparePreReleases(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  const [left, right] = [a.split('.'), b.split('.')]
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = compareIdentifiers(left[i] as string, right[i] as string)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

function compareIdentifiers(a: string, b: string): number {
  const [isNumber, otherIsNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (isNumber && otherIsNumber) return Number(a) - Number(b)
  if (isNumber !== otherIsNumber) return isNumber ? -1 : 1
  return a < b ? -1 : a > b ? 1 : 0
}
