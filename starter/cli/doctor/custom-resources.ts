import { z } from 'zod'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { ApiError, isNotFound } from '../../../activities/kubernetes/client/api-error.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { capacityBufferSpec } from '../../../api/capacity-buffer.ts'
import { nodeClaimSpec } from '../../../api/node-claim.ts'
import { nodeClassSpec } from '../../../api/node-class.ts'
import { nodeOverlaySpec } from '../../../api/node-overlay.ts'
import { nodePoolSpec } from '../../../api/node-pool.ts'
import { whyOf } from '../../picture/missing.ts'
import { type DoctorContext, type Finding, fail, ok, warn, worst } from './check.ts'

interface Kind {
  readonly kind: string
  readonly group: string
  /** The version that Joiner reads, those that it converts, and one that it converts where the chart's values ask for it. */
  readonly versions: readonly [string, ...string[]]
  readonly onRequest?: string
  readonly spec: z.ZodType
}

/** A version of NodeClaims that is served on request only, and its CRD. */
const oldClaims = { crd: 'nodeclaims.karpenter.sh', group: 'karpenter.sh', version: 'v1beta1' } as const
const apiVersion = `${oldClaims.group}/${oldClaims.version}`

const kinds: Readonly<Record<string, Kind>> = {
  nodepools: { kind: 'NodePool', group: 'karpenter.sh', versions: ['v1', 'v1beta1'], spec: nodePoolSpec },
  nodeclaims: {
    kind: 'NodeClaim',
    group: 'karpenter.sh',
    versions: ['v1'],
    onRequest: oldClaims.version,
    spec: nodeClaimSpec,
  },
  nodeoverlays: { kind: 'NodeOverlay', group: 'karpenter.sh', versions: ['v1alpha1'], spec: nodeOverlaySpec },
  aksnodeclasses: {
    kind: 'AKSNodeClass',
    group: 'karpenter.azure.com',
    versions: ['v1beta1', 'v1alpha2'],
    spec: nodeClassSpec,
  },
  capacitybuffers: {
    kind: 'CapacityBuffer',
    group: 'autoscaling.x-k8s.io',
    versions: ['v1beta1'],
    spec: capacityBufferSpec,
  },
}

const remedies = [
  'as an administrator: joiner admin crds apply, or: kubectl apply --server-side --force-conflicts -f deploy/crds',
]

/** Whether the CRDs are there, serve every version that is needed, and know every field that this Joiner knows. */
export async function examineCustomResources({ kubernetes, config, now }: DoctorContext): Promise<Finding> {
  return worst((await Promise.all(Object.entries(kinds).map(lookAt))).flat())

  async function lookAt([plural, wanted]: readonly [string, Kind]): Promise<readonly Finding[]> {
    const { group, versions, onRequest } = wanted
    const name = `${plural}.${group}`
    const missing: string[] = []
    for (const each of versions) if (!(await isServed(group, each, plural))) missing.push(each)
    if (missing.includes(versions[0]))
      return [fail(`${name} is not installed, or does not serve ${versions[0]}`, remedies)]
    if (missing.length > 0) return [fail(`${name} does not serve ${missing.join(', ')}`, remedies)]
    const isAsked = onRequest !== undefined && (await isServed(group, onRequest, plural))
    const fields = await fieldsFinding(name, wanted, isAsked ? [...versions, onRequest] : versions)
    return onRequest === undefined || isAsked ? [fields] : [fields, await unservedOldClaims()]
  }

  async function unservedOldClaims(): Promise<Finding> {
    const [crd, { items }] = await Promise.all([
      kubernetes.get(resourcePath('customresourcedefinitions', oldClaims.crd)).catch((error: unknown) => {
        if (error instanceof ApiError && error.code === 403) return undefined
        throw error
      }),
      kubernetes.list(`/apis/${oldClaims.group}/v1/nodeclaims`),
    ])
    return unservedFinding({ crd, claims: items, now: now(), namespace: config.JOINER_NAMESPACE })
  }

  async function fieldsFinding(name: string, { group, kind, versions, spec }: Kind, served: readonly string[]) {
    const [version] = versions
    const document = await kubernetes.get(`/openapi/v3/apis/${group}/${version}`)
    const installed = new Set(fieldsOf(installedSpec(document, { group, version, kind }), document))
    const unknown = fieldsOf(z.toJSONSchema(spec, { io: 'input', unrepresentable: 'any' }) as Schema).filter(
      (path) => !installed.has(path),
    )
    if (unknown.length === 0) return ok(`${name}: ${served.join(', ')} served, all ${installed.size} fields known`)
    const shown = unknown.slice(0, 5).map((path) => `spec.${path}`)
    return fail(
      `${name} is of another version: it lacks ${unknown.length} fields, such as ${shown.join(', ')}`,
      remedies,
    )
  }

  async function isServed(group: string, version: string, plural: string): Promise<boolean> {
    try {
      const list = (await kubernetes.get(`/apis/${group}/${version}`)) as { resources?: readonly { name: string }[] }
      return (list.resources ?? []).some(({ name }) => name === plural)
    } catch (error) {
      if (isNotFound(error)) return false
      throw new Error(`${group}/${version}: ${whyOf(error)}`, { cause: error })
    }
  }
}

/** A schema as JSON Schema and OpenAPI both write it. */
interface Schema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly $defs?: Readonly<Record<string, Schema>>
}

function installedSpec(document: Json, wanted: { group: string; version: string; kind: string }): Schema {
  const { schemas = {} } = (document['components'] ?? {}) as { schemas?: Record<string, Schema> }
  for (const schema of Object.values(schemas)) {
    const named = (schema as { 'x-kubernetes-group-version-kind'?: readonly Record<string, string>[] })[
      'x-kubernetes-group-version-kind'
    ]
    const isIt = named?.some(
      (each) => each['group'] === wanted.group && each['version'] === wanted.version && each['kind'] === wanted.kind,
    )
    if (isIt === true) return schema.properties?.['spec'] ?? {}
  }
  return {}
}

/** Paths of all fields of a schema, such as `template.spec.requirements[].key`. */
function fieldsOf(schema: Schema, document: unknown = schema, prefix = ''): readonly string[] {
  if (schema.$ref !== undefined) return fieldsOf(resolve(schema.$ref, document), document, prefix)
  const inner = [...(schema.allOf ?? []), ...(schema.anyOf ?? [])].flatMap((each) => fieldsOf(each, document, prefix))
  const { items, additionalProperties } = schema
  if (items !== undefined) inner.push(...fieldsOf(items, document, `${prefix}[]`))
  if (typeof additionalProperties === 'object') inner.push(...fieldsOf(additionalProperties, document, `${prefix}{}`))
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const path = prefix === '' ? name : `${prefix}.${name}`
    inner.push(path, ...fieldsOf(property, document, path))
  }
  return inner
}

function resolve(reference: string, document: unknown): Schema {
  let found: unknown = document
  for (const part of reference
    .replace(/^#\/?/, '')
    .split('/')
    .filter((each) => each !== ''))
    found = (found as Record<string, unknown> | undefined)?.[part]
  return found ?? {}
}

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

interface OldClaims {
  /** Undefined: it may not be read. */
  readonly crd: Json | undefined
  readonly claims: readonly Json[]
  readonly now: number
  readonly namespace: string
}

/** Whether somebody needs v1beta1 of NodeClaims, which is not served. */
export function unservedFinding({ crd, claims, now, namespace }: OldClaims): Finding {
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
        `store them again: kubectl get nodeclaims -o json | kubectl replace -f -; then: kubectl patch crd ${oldClaims.crd} --subresource=status --type=merge -p '${rest}'`,
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
