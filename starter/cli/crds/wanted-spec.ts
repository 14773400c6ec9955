import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { conversionService } from '../../../core/installation.ts'
import { isObject } from '../../../core/values/json.ts'

/** Version of NodePools and NodeClaims that Joiner converts. */
export const oldVersion = 'v1beta1'

/** Returns whether a CRD has old versions converted by Joiner: at its Service, or at a URL, as clusters without Services have it. */
export function isConvertedByJoiner(crd: Json): boolean {
  const config = clientConfig(crd)
  if (config === undefined) return false
  const { service } = config
  return isObject(service) ? service['name'] === conversionService : typeof config['url'] === 'string'
}

/**
 * Returns the spec that a CRD is to have: that of the manifest, converted in the namespace of the installation. Where Joiner converts the installed one
 * already, its place, its path and the authority to trust stay, and so does whether an old version is served: both are written by running processes.
 */
export function wantedSpec(manifest: Json, installed: Json | undefined, namespace: string): Json {
  const spec = specOf(manifest)
  if (clientConfig(manifest) === undefined) return spec
  if (installed === undefined || !isConvertedByJoiner(installed))
    return { ...spec, conversion: placed(spec, namespace) }
  const { conversion, versions } = specOf(installed)
  return { ...spec, conversion, versions: servedAs(spec['versions'], versions) }
}

/** Returns the spec of a CRD that nobody converts: the old version is not served, since it would be stored as if it were the new one. */
export function releasedSpec(installed: Json): Json {
  const spec = specOf(installed)
  const versions = listOf(spec['versions']).map((each) =>
    each['name'] === oldVersion ? { ...each, served: false } : each,
  )
  return { ...spec, conversion: { strategy: 'None' }, versions }
}

function servedAs(wanted: unknown, installed: unknown): readonly Json[] {
  const before = listOf(installed).find(({ name }) => name === oldVersion)
  return listOf(wanted).map((each) =>
    each['name'] === oldVersion && before !== undefined ? { ...each, served: before['served'] } : each,
  )
}

function placed(spec: Json, namespace: string): Json {
  const conversion = structuredClone(spec['conversion']) as {
    webhook: { clientConfig: { service: { namespace: string } } }
  }
  conversion.webhook.clientConfig.service.namespace = namespace
  return conversion
}

function clientConfig(crd: Json): Json | undefined {
  const { conversion } = specOf(crd)
  if (!isObject(conversion) || conversion['strategy'] !== 'Webhook' || !isObject(conversion['webhook']))
    return undefined
  const config = conversion['webhook']['clientConfig']
  return isObject(config) ? config : undefined
}

function specOf(crd: Json): Json {
  return isObject(crd['spec']) ? crd['spec'] : {}
}

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}
