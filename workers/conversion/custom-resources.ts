import { type Json } from '../../api/conversion/residue.ts'
import { isObject } from '../../core/values/json.ts'

/** The CRDs whose versions the webhook converts. */
export const convertedCrds = ['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh'] as const

export const serviceName = 'joiner-conversion'

/**
 * What is to be patched in a CRD, so that the API server trusts the webhook and finds it; undefined when nothing is. A CRD that says how
 * it is converted by somebody else, or not at all, is left alone. One with a URL keeps its host.
 */
export function conversionPatch(
  crd: Json,
  { trusted, path }: { readonly trusted: string; readonly path: string },
  namespace: string,
): Json | undefined {
  const config = clientConfig(crd)
  if (config === undefined) return undefined
  const caBundle = Buffer.from(trusted).toString('base64')
  const service = isObject(config['service']) ? config['service'] : undefined
  if (service !== undefined && service['name'] !== serviceName) return undefined
  const place = service === undefined ? withPath(config['url'], path) : { service: { namespace, path } }
  const isThere = service === undefined ? config['url'] === place['url'] : hasAll(service, { namespace, path })
  if (config['caBundle'] === caBundle && isThere) return undefined
  return { spec: { conversion: { webhook: { clientConfig: { caBundle, ...place } } } } }
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

function clientConfig(crd: Json): Json | undefined {
  const conversion = isObject(crd['spec']) ? crd['spec']['conversion'] : undefined
  if (!isObject(conversion) || conversion['strategy'] !== 'Webhook' || !isObject(conversion['webhook']))
    return undefined
  const config = conversion['webhook']['clientConfig']
  return isObject(config) ? config : undefined
}
