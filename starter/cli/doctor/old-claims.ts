import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { type Finding, ok, warn, worst } from './check.ts'

/** A version of NodeClaims that is served on request only, and its CRD. */
export const oldClaims = { crd: 'nodeclaims.karpenter.sh', group: 'karpenter.sh', version: 'v1beta1' } as const
const apiVersion = `${oldClaims.group}/${oldClaims.version}`

/** Whoever wrote longer ago is taken to have stopped by itself. */
const recentMs = 7 * 24 * 3_600_000
/** Its place is Joiner's; what it wrote in the old version it wrote before. */
const predecessor = 'karpenter'
const mostShown = 5

interface Claim {
  readonly metadata: {
    readonly name: string
    readonly managedFields?: readonly {
      readonly manager?: string
      readonly apiVersion?: string
      readonly time?: string
    }[]
  }
}

/** Whether somebody needs v1beta1 of NodeClaims, which is not served. `crd`: undefined where it may not be read. */
export function unservedFinding({
  crd,
  claims,
  now,
  namespace,
}: {
  readonly crd: Json | undefined
  readonly claims: readonly Json[]
  readonly now: number
  readonly namespace: string
}): Finding {
  const found = [...storedFindings(crd), ...writerFindings(claims as unknown as readonly Claim[], now, namespace)]
  if (found.length > 0) return worst(found)
  if (crd !== undefined) return ok(`${oldClaims.crd}: ${oldClaims.version} is not served, and nothing needs it`)
  return ok(`${oldClaims.crd}: ${oldClaims.version} is not served, and no client has written it lately`, [
    `status.storedVersions of CustomResourceDefinition ${oldClaims.crd} was not looked at: this identity may not read it`,
  ])
}

function storedFindings(crd: Json | undefined): readonly Finding[] {
  const { storedVersions = [] } = (crd?.['status'] ?? {}) as { readonly storedVersions?: readonly string[] }
  if (!storedVersions.includes(oldClaims.version)) return []
  const rest = JSON.stringify({
    status: { storedVersions: storedVersions.filter((each) => each !== oldClaims.version) },
  })
  return [
    warn(
      `CustomResourceDefinition ${oldClaims.crd}: status.storedVersions has "${oldClaims.version}", which is not served: NodeClaims that are stored in it can be read only while the conversion webhook answers`,
      [
        `store them anew: kubectl get nodeclaims -o json | kubectl replace -f -; then: kubectl patch crd ${oldClaims.crd} --subresource=status --type=merge -p '${rest}'`,
      ],
    ),
  ]
}

/** Clients that wrote NodeClaims in the old version lately, each with its last write. */
function writerFindings(claims: readonly Claim[], now: number, namespace: string): readonly Finding[] {
  const last = new Map<string, { readonly claim: string; readonly time: string }>()
  for (const { metadata } of claims)
    for (const { manager = '', time = '', ...entry } of metadata.managedFields ?? []) {
      if (entry.apiVersion !== apiVersion || manager === predecessor) continue
      const isRecent = now - Date.parse(time) < recentMs
      if (isRecent && time > (last.get(manager)?.time ?? '')) last.set(manager, { claim: metadata.name, time })
    }
  return [...last]
    .slice(0, mostShown)
    .map(([manager, { claim, time }]) =>
      warn(
        `NodeClaim ${claim}: metadata.managedFields has apiVersion "${apiVersion}" of manager "${manager}" at ${time}; that version is not served, so "${manager}" is refused with 404`,
        [
          `let it use karpenter.sh/v1, or serve the old version: helm upgrade --install joiner deploy/chart --namespace ${namespace} --reset-then-reuse-values --set conversion.nodeClaims.serveV1beta1=true`,
        ],
      ),
    )
}
