import { inParallel } from '../../../activities/concurrency.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { isConflict, isNotFound } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { ownInstallation } from '../../../activities/kubernetes/client/installation.ts'
import type { Operation } from '../../../activities/kubernetes/client/json-patch.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { conversionService, type Installation, installationAnnotation } from '../../../core/installation.ts'
import { isObject } from '../../../core/values/json.ts'
import { CommandError } from '../../document/reported-error.ts'

/** The CRDs with old versions, and the resource whose objects each defines. */
export const converted = { 'nodepools.karpenter.sh': 'nodepools', 'nodeclaims.karpenter.sh': 'nodeclaims' } as const
export type Converted = keyof typeof converted
export const convertedNames = Object.keys(converted) as readonly Converted[]

/** How often a write is tried again that came between two of others. */
const attempts = 5
const writesAtOnce = 8

/** A CRD, as far as these commands look into it. */
export interface Crd {
  readonly metadata: {
    readonly name: string
    readonly resourceVersion: string
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly status?: {
    readonly storedVersions?: readonly string[]
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

const crdPath = (name: string) => resourcePath('customresourcedefinitions', name)

/** Returns a CRD; undefined when it is not installed. Errors: the API server's. */
export async function readCrd(client: Pick<KubernetesClient, 'get'>, name: string): Promise<Json | undefined> {
  try {
    return await client.get(crdPath(name))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** Returns whether objects of a CRD may be stored in the old version, which Joiner converts. */
export function holdsOld(crd: Json): boolean {
  return (crd as unknown as Crd).status?.storedVersions?.includes(oldVersion) === true && isConvertedByJoiner(crd)
}

/**
 * Stores what is stored in the old version in the new one, while somebody still converts it: afterwards nobody could read it. A write that changes nothing
 * is enough, since the API server writes an object whose stored version is old. Returns the number of objects. Errors: the API server's.
 */
export async function storeAsNew(client: KubernetesClient, name: Converted, crd: Json): Promise<number> {
  const resource = converted[name]
  const { items } = await client.list(resourcePath(resource))
  await inParallel(
    items as unknown as readonly { readonly metadata: { readonly name: string; readonly uid: string } }[],
    writesAtOnce,
    async ({ metadata }) => {
      await client
        .mergePatch(resourcePath(resource, metadata.name), { metadata: { uid: metadata.uid } })
        .catch((error: unknown) => {
          // It went meanwhile, or another of its name came, which is stored as new.
          if (!isNotFound(error) && !isConflict(error)) throw error
        })
    },
  )
  const { storedVersions = [] } = (crd as unknown as Crd).status ?? {}
  await client.patchStatus(crdPath(name), {
    status: { storedVersions: storedVersions.filter((each) => each !== oldVersion) },
  })
  return items.length
}

/** What takes Joiner's webhook and marker out of a CRD; nothing where neither is in it. */
export function releaseOf(crd: Json): readonly Operation[] {
  const isMarked = (crd as unknown as Crd).metadata.annotations?.[installationAnnotation] !== undefined
  const path = `/metadata/annotations/${installationAnnotation.replaceAll('/', '~1')}`
  return [
    ...(isConvertedByJoiner(crd) ? ([{ op: 'replace', path: '/spec', value: releasedSpec(crd) }] as const) : []),
    ...(isMarked ? ([{ op: 'remove', path }] as const) : []),
  ]
}

/** Changes a CRD as it was read, and again if somebody wrote it meanwhile. Returns whether anything changed. Errors: the API server's. */
export async function patched(
  client: KubernetesClient,
  name: string,
  change: (crd: Json) => readonly Operation[],
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const crd = await client.get(crdPath(name))
    const { resourceVersion } = (crd as unknown as Crd).metadata
    const asRead: Operation = { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }
    try {
      const after = await client.jsonPatch(crdPath(name), [asRead, ...change(crd)])
      return (after as unknown as Crd).metadata.resourceVersion !== resourceVersion
    } catch (error) {
      if (!isConflict(error) || attempt === attempts) throw error
    }
  }
}

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

/** Returns the installation that options name. Errors: `CommandError` where there is no such namespace. */
export function installationOf(
  client: KubernetesClient,
  { release, joinerNamespace: namespace }: { readonly release: string; readonly joinerNamespace: string },
): Promise<Installation> {
  return ownInstallation(client, release, namespace).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
    throw new CommandError(
      `--joiner-namespace "${namespace}": there is no such namespace; name the one that Joiner is installed in`,
    )
  })
}
