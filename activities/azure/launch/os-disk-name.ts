import { createHash } from 'node:crypto'

/**
 * Name of the OS disk that an attempt of a claim makes. Azure gives such a disk no tags, and nothing else can say later whose a disk is
 * that outlived its VM: so the name itself ends in a digest of cluster, claim and attempt.
 */
export function osDiskName(cluster: string, claimName: string, attempt: number): string {
  return `aks-${claimName}-${attempt}-${digest(cluster, claimName, attempt)}`
}

/** The claim and the attempt that a disk was made for; undefined when no Joiner of this cluster named it. */
export function readOsDiskName(
  cluster: string,
  name: string,
): { readonly claimName: string; readonly attempt: number } | undefined {
  const [, claimName = '', digits = '', suffix] = /^aks-(.+)-(\d+)-([0-9a-f]{8})$/.exec(name) ?? []
  const attempt = Number(digits)
  return suffix !== undefined && suffix === digest(cluster, claimName, attempt) ? { claimName, attempt } : undefined
}

/** The attempt in the name of a disk, whoever's it is. */
export function attemptInDiskName(name: string): number | undefined {
  const digits = /-(\d+)(?:-[0-9a-f]{8})?$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

function digest(cluster: string, claimName: string, attempt: number): string {
  return createHash('sha256').update(`${cluster}/${claimName}/${attempt}`).digest('hex').slice(0, 8)
}
