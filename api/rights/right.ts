import type { Role } from '../config.ts'

/**
 * Grantee of a right: a role of Joiner, the page that a team shares, the chart's Jobs for CRDs while they run, a person with the command line, or anyone with Kubernetes' own `view`,
 * `edit` or `admin`.
 */
export type Grantee = Role | 'ui' | 'crds' | 'operator' | 'view' | 'edit' | 'admin'

/** Condition of a right. `uiEnabled`: the page runs in the cluster. `localDnsPreferred`: the cluster has a version in which localDNS may be `Preferred`, and enforces policies. */
export type RightCondition =
  | 'defaultSpread'
  | 'overlays'
  | 'buffers'
  | 'dnsServiceIpUnset'
  | 'localDnsPreferred'
  | 'uiEnabled'
  | 'bundledTemporal'

/** A rule of a Role or ClusterRole of the chart, with its purpose. */
export interface Right {
  readonly to: Grantee
  /** `cluster`: the whole cluster; `own`: the namespace of the release. */
  readonly where: 'cluster' | 'own' | 'kube-system'
  readonly group: string
  readonly resources: readonly string[]
  /** Only objects of these names. Default: all. */
  readonly names?: readonly string[]
  readonly verbs: readonly string[]
  readonly why: string
  /** Default: always granted. */
  readonly when?: RightCondition
}

export type Rule = Omit<Right, 'to'>
type About = Pick<Right, 'why'> & Partial<Pick<Right, 'names' | 'when'>>

/** Returns a builder of rules for one API group and place. Resources and verbs are separated by blanks; `about` is the purpose, or more fields. */
export function on(group: string, where: Right['where'] = 'cluster') {
  return (resources: string, verbs: string, about: string | About): Rule => ({
    where,
    group,
    resources: resources.split(' '),
    verbs: verbs.split(' '),
    ...(typeof about === 'string' ? { why: about } : about),
  })
}
