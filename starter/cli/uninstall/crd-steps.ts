import { inParallel } from '../../../activities/in-parallel.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { isNotFound, isTooManyRequests } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { markedCrd } from '../../../activities/kubernetes/client/installation.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { conversionService, installationAnnotation } from '../../../core/installation.ts'
import { isObject } from '../../../core/values/json.ts'
import { counted } from '../simulate/words.ts'
import type { Step, Uninstallation } from './context.ts'
import { listObjects } from './node-objects.ts'

/** The CRDs of the chart, with the resource of those that the webhook converts. */
export const chartCrds = [
  'nodepools.karpenter.sh',
  'nodeclaims.karpenter.sh',
  'nodeoverlays.karpenter.sh',
  'aksnodeclasses.karpenter.azure.com',
  'capacitybuffers.autoscaling.x-k8s.io',
] as const

const converted = { 'nodepools.karpenter.sh': 'nodepools', 'nodeclaims.karpenter.sh': 'nodeclaims' } as const
type Converted = keyof typeof converted
const convertedNames = Object.keys(converted) as readonly Converted[]
const storageVersion = 'v1'

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

/**
 * Stores objects of old versions as v1, while the webhook still converts them: afterwards nobody could read them. A write that changes nothing is
 * enough, since the API server writes an object whose stored version is old.
 */
export function migrateStep({ kubernetes }: Uninstallation): Step {
  const old = async () => {
    const crds = await Promise.all(convertedNames.map(async (name) => ({ name, crd: await readCrd(kubernetes, name) })))
    return crds.flatMap(({ name, crd }) => {
      const stored = storedVersions(crd).filter((version) => version !== storageVersion)
      return crd === undefined || stored.length === 0 || !isConverted(crd) ? [] : [{ name, stored }]
    })
  }
  return {
    todo: async () => {
      const found = await old()
      return found.length === 0
        ? undefined
        : `store as ${storageVersion} what is stored as ${found.map(({ name, stored }) => `${stored.join(', ')} (${converted[name]})`).join(' and ')}`
    },
    run: async () => {
      for (const { name } of await old()) {
        const resource = converted[name]
        const objects = await listObjects(kubernetes, resourcePath(resource))
        await inParallel(objects, 8, async ({ metadata }) => {
          await kubernetes.mergePatch(resourcePath(resource, metadata.name), { metadata: { uid: metadata.uid } })
        })
        await kubernetes.patchStatus(crdPath(name), { status: { storedVersions: [storageVersion] } })
      }
    },
  }
}

function storedVersions(crd: Json | undefined): readonly string[] {
  const status = crd?.['status']
  return isObject(status) && Array.isArray(status['storedVersions']) ? (status['storedVersions'] as string[]) : []
}

/** Whether a CRD is converted by Joiner's webhook: at its Service, or at a URL as in a local cluster. */
export function isConverted(crd: Json): boolean {
  const conversion = isObject(crd['spec']) ? crd['spec']['conversion'] : undefined
  if (!isObject(conversion) || conversion['strategy'] !== 'Webhook' || !isObject(conversion['webhook'])) return false
  const config = conversion['webhook']['clientConfig']
  if (!isObject(config)) return false
  return isObject(config['service'])
    ? config['service']['name'] === conversionService
    : typeof config['url'] === 'string'
}

/**
 * A merge patch that takes Joiner's webhook and marker out of a CRD; undefined when neither is in it. Old versions are no longer served: without a
 * webhook the API server would take an old manifest and drop the fields that v1 has elsewhere.
 */
export function detachPatch(name: string, crd: Json): Json | undefined {
  const metadata = crd['metadata'] as {
    readonly resourceVersion: string
    readonly annotations?: Readonly<Record<string, string>>
  }
  const isMarked = name === markedCrd && metadata.annotations?.[installationAnnotation] !== undefined
  const marker = isMarked ? { annotations: { [installationAnnotation]: null } } : {}
  const isOurs = isConverted(crd)
  if (!isMarked && !isOurs) return undefined
  const versions = (crd['spec'] as { readonly versions: readonly { readonly name: string }[] }).versions
  return {
    metadata: { resourceVersion: metadata.resourceVersion, ...marker },
    ...(isOurs && {
      spec: {
        conversion: { strategy: 'None', webhook: null },
        versions: versions.map((each) => (each.name === storageVersion ? each : { ...each, served: false })),
      },
    }),
  }
}

/** Sets the conversion of the CRDs to None and removes the marker of the installation, so that no CRD names a Service that goes. */
export function detachStep({ kubernetes }: Uninstallation): Step {
  const attached = async () => {
    const found = await Promise.all(
      convertedNames.map(async (name) => {
        const crd = await readCrd(kubernetes, name)
        const patch = crd === undefined ? undefined : detachPatch(name, crd)
        return patch === undefined ? [] : [{ name, patch }]
      }),
    )
    return found.flat()
  }
  return {
    todo: async () => {
      const found = await attached()
      return found.length === 0
        ? undefined
        : `set the conversion of ${counted(found.length, 'CRD')} to None, which stops serving v1beta1: ${found.map(({ name }) => name).join(', ')}`
    },
    run: async () => {
      const found = await attached()
      for (const { name, patch } of found) await kubernetes.mergePatch(crdPath(name), patch)
      for (const { name } of found) await untilServed(kubernetes, resourcePath(converted[name]))
    },
  }
}

const mostLooks = 60

/** Waits until the API server serves a resource again: for a second after its CRD changed it refuses requests. Errors: the API server's. */
async function untilServed(client: KubernetesClient, path: string): Promise<void> {
  for (let look = 1; ; look++) {
    try {
      await client.list(path, { limit: 1 })
      return
    } catch (error) {
      if (!isTooManyRequests(error) || look >= mostLooks) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
