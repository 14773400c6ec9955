import type { Operation } from '../../activities/kubernetes/client/json-patch.ts'
import { type Json } from '../../api/conversion/residue.ts'
import { conversionService } from '../../core/installation.ts'
import { isObject } from '../../core/values/json.ts'

/** The CRDs whose versions the webhook converts. */
export const convertedCrds = ['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh'] as const

/** Annotation of the webhook's Secret with the chart's value `conversion.nodeClaims.serveV1beta1`. */
export const serveAnnotation = 'joiner.sh/serve-v1beta1-nodeclaims'

/** The old version that is served on request only. */
const onRequest = { crd: 'nodeclaims.karpenter.sh', version: 'v1beta1' } as const

/**
 * What is to be patched in a CRD, so that the API server trusts the webhook and finds it; undefined when nothing is. A CRD that says how
 * it is converted by somebody else, or not at all, is left alone. One with a URL keeps its host.
 */
export function conversionPatch(
  crd: Json,
  { trusted, path }: { readonly trusted: string; readonly path: string },
  namespace: string,
): Json | undefined {
  const config = ownConfig(crd)
  if (config === undefined) return undefined
  const caBundle = Buffer.from(trusted).toString('base64')
  const service = isObject(config['service']) ? config['service'] : undefined
  const place = service === undefined ? withPath(config['url'], path) : { service: { namespace, path } }
  const isThere = service === undefined ? config['url'] === place['url'] : hasAll(service, { namespace, path })
  if (config['caBundle'] === caBundle && isThere) return undefined
  return { spec: { conversion: { webhook: { clientConfig: { caBundle, ...place } } } } }
}

/**
 * What is to be patched in a CRD, so that v1beta1 of NodeClaims is served where the Secret says so, and otherwise not; undefined when nothing is. The
 * version stays in the CRD: NodeClaims that are stored in it are read through the webhook. A CRD that is converted by somebody else is left alone.
 */
export function servingPatch(name: string, crd: Json, secret: Json): readonly Operation[] | undefined {
  if (name !== onRequest.crd || ownConfig(crd) === undefined) return undefined
  const versions = isObject(crd['spec']) && Array.isArray(crd['spec']['versions']) ? crd['spec']['versions'] : []
  const at = versions.findIndex((each) => isObject(each) && each['name'] === onRequest.version)
  const version: unknown = versions[at]
  const served = isAskedFor(secret)
  if (!isObject(version) || version['storage'] === true || version['served'] === served) return undefined
  const path = `/spec/versions/${at}`
  return [
    { op: 'test', path: `${path}/name`, value: onRequest.version },
    { op: 'replace', path: `${path}/served`, value: served },
  ]
}

function isAskedFor({ metadata }: Json): boolean {
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined
  return isObject(annotations) && annotations[serveAnnotation] === 'true'
}

/** A URL with this path; nothing where there is none. */
function withPath(url: unknown, path: string): Json {
  if (typeof url !== 'string' || !URL.canParse(url)) return {}
  return { url: new URL(path, url).href }
}

function hasAll(object: Json, wanted: Json): boolean {
  return Object.entries(wanted).every(([key, value]) => object[key] === value)
}

/** Whether the API server trusts a certificate where it converts this CRD. A CRD that Joiner does not convert has nothing to trust. */
export function trusts(crd: Json, certificate: string): boolean {
  const config = clientConfig(crd)
  if (config === undefined) return true
  const { caBundle } = config
  return typeof caBundle === 'string' && Buffer.from(caBundle, 'base64').toString('utf8').includes(certificate.trim())
}

/** Where a CRD is converted, unless that is at a Service of somebody else. */
function ownConfig(crd: Json): Json | undefined {
  const config = clientConfig(crd)
  const service = config?.['service']
  return isObject(service) && service['name'] !== conversionService ? undefined : config
}

function clientConfig(crd: Json): Json | undefined {
  const conversion = isObject(crd['spec']) ? crd['spec']['conversion'] : undefined
  if (!isObject(conversion) || conversion['strategy'] !== 'Webhook' || !isObject(conversion['webhook']))
    return undefined
  const config = conversion['webhook']['clientConfig']
  return isObject(config) ? config : undefined
}
