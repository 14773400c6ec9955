import { createHmac } from 'node:crypto'

/**
 * Returns the name of the OS disk of an attempt of a claim. Azure gives a disk that is made with its VM no tags. Nothing else can identify the
 * owner of a disk that outlived its VM. So the name ends in a mark of the cluster, and of claim and attempt, that only the cluster's UID can make.
 * At most 80 characters, as Azure allows, for a claim of 60 and 999 attempts.
 */
export function osDiskName(clusterUid: string, claimName: string, attempt: number): string {
  return `aks-${claimName}-${attempt}-${clusterMark(clusterUid)}${claimMark(clusterUid, claimName, attempt)}`
}

/** The owner of an OS disk by its name. Only a disk that is `ours` may be deleted. */
export type DiskMark =
  | { readonly kind: 'ours'; readonly claimName: string; readonly attempt: number }
  | { readonly kind: 'otherCluster' }
  /** It has the form of a mark, and no cluster's Joiner made it as it is. */
  | { readonly kind: 'malformed' }

/** Returns the mark in the name of a disk; undefined for a name of another form, such as that of a persistent volume. */
export function readDiskMark(clusterUid: string, name: string): DiskMark | undefined {
  const [, claimName = '', digits = '', mark] = /^aks-(.+)-(\d+)-([0-9a-z]+)$/.exec(name) ?? []
  if (mark === undefined) return undefined
  const attempt = Number(digits)
  if (name === osDiskName(clusterUid, claimName, attempt)) return { kind: 'ours', claimName, attempt }
  const isWellFormed = /^[0-9a-f]{11}$/.test(mark)
  return { kind: isWellFormed && !mark.startsWith(clusterMark(clusterUid)) ? 'otherCluster' : 'malformed' }
}

/** Returns the attempt in the name of a disk, whoever owns it. */
export function attemptInDiskName(name: string): number | undefined {
  const digits = /-(\d+)(?:-[0-9a-f]{11})?$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** Returns a cluster's mark, which separates disks of other clusters from names that are merely wrong. */
const clusterMark = (clusterUid: string) => keyed(clusterUid, 'cluster', 3)

const claimMark = (clusterUid: string, claimName: string, attempt: number) =>
  keyed(clusterUid, `${claimName}/${attempt}`, 8)

function keyed(clusterUid: string, text: string, characters: number): string {
  return createHmac('sha256', clusterUid).update(text).digest('hex').slice(0, characters)
}
