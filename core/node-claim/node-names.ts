import { shortened } from '../values/texts.ts'

/** Prefix of the names of VMs and their computers; the NodeClaim's name follows (reference/azure-provider.md 4.1). */
export const nodeNamePrefix = 'aks-'

/**
 * Azure takes VM names of 64 characters, but the kubelet registers its host name as the label kubernetes.io/hostname, and label values end at
 * 63 characters.
 */
const maxNodeName = 63
/** Each node has the name of its AKSNodeClass as the value of a label. */
export const maxNodeClassName = 63
const maxClaimName = maxNodeName - nodeNamePrefix.length

/** Length of the dash and the random characters after a NodePool's name. */
const claimSuffix = 6
export const maxPoolName = maxClaimName - claimSuffix

/** Returns the name of the replacement number `at` of a command. A long NodePool name is cut, so that a node can be named after it. */
export function replacementName(nodePool: string, digest: string, at: number): string {
  const suffix = `-${digest}-${at}`
  return `${nodePool.slice(0, maxClaimName - suffix.length).replace(/[.-]+$/, '')}${suffix}`
}

/** Returns why nodes cannot be named after a NodePool. */
export function nodePoolNameErrors(name: string): readonly string[] {
  if (name.length <= maxPoolName) return []
  return [
    `"${shortened(name)}" has ${name.length} characters, and nodes named after it would have more than ${maxNodeName}; use at most ${maxPoolName}`,
  ]
}

/** Returns why a node cannot be named after a NodeClaim. */
export function claimNameErrors(name: string): readonly string[] {
  if (name.length <= maxClaimName) return []
  return [
    `"${shortened(name)}" has ${name.length} characters, and its node would have a name of more than ${maxNodeName}; use at most ${maxClaimName}`,
  ]
}

/** Returns why a node class' name cannot be the value of a label, which each of its nodes has. */
export function nodeClassNameErrors(name: string): readonly string[] {
  if (name.length <= maxNodeClassName) return []
  return [
    `"${shortened(name)}" has ${name.length} characters, and each node has it as the value of a label; use at most ${maxNodeClassName}`,
  ]
}
