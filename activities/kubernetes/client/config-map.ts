import type { NoteFaults } from '../../../api/kept/document.ts'
import type { Parts } from '../parts.ts'
import { getIfAny, type Json } from './answers.ts'
import { expecting, isConflict, isNotFound } from './api-error.ts'
import type { KubernetesClient } from './client.ts'
import { resourcePath } from './resources.ts'

export interface ConfigMapRef {
  readonly name: string
  readonly namespace: string
}

/** A ConfigMap as it travels. */
export interface ConfigMap extends Json {
  readonly metadata: { readonly resourceVersion: string; readonly annotations?: Readonly<Record<string, string>> }
  readonly data?: Readonly<Record<string, string>>
  readonly binaryData?: Readonly<Record<string, string>>
}

/** What is written into a ConfigMap. Entries that are null go; those that are not named stay. */
interface Written {
  readonly metadata?: Readonly<Partial<Record<'labels' | 'annotations', Readonly<Record<string, string>>>>>
  readonly data: Readonly<Record<string, string | null>>
  readonly binaryData?: Readonly<Record<string, string>>
}

/** Where Joiner's ConfigMaps are read from. */
export interface KeptSource extends Pick<Parts, 'client' | 'namespace'> {
  /** Takes what of their documents cannot be read. Unset: it is left out. */
  readonly note?: NoteFaults
}

/** Returns the path that lists and watches a ConfigMap alone, as the rights of the chart name it. */
export function watchPath({ name, namespace }: ConfigMapRef): string {
  return `${resourcePath('configmaps', undefined, namespace)}?fieldSelector=metadata.name%3D${name}`
}

/** Returns a ConfigMap, read from the API server; undefined when there is none. Errors: what else the API server answers. */
export async function findConfigMap(
  client: Pick<KubernetesClient, 'get'>,
  { name, namespace }: ConfigMapRef,
): Promise<ConfigMap | undefined> {
  return (await getIfAny(client, resourcePath('configmaps', name, namespace))) as ConfigMap | undefined
}

/** Returns the entries of a ConfigMap, read from the API server; undefined when there is no such ConfigMap. */
export async function readConfigMap(
  client: KubernetesClient,
  ref: ConfigMapRef,
): Promise<Readonly<Record<string, string>> | undefined> {
  const map = await findConfigMap(client, ref)
  return map && (map.data ?? {})
}

/**
 * Writes into a ConfigMap that is as it was at `version`, or creates it where that is undefined. Returns it. Errors: a conflict, where somebody wrote
 * since; that it is gone.
 */
export async function putConfigMap(
  client: Pick<KubernetesClient, 'create' | 'mergePatch'>,
  { name, namespace, version }: ConfigMapRef & { readonly version: string | undefined },
  { metadata, data, ...more }: Written,
): Promise<ConfigMap> {
  const written =
    version === undefined
      ? await client.create(resourcePath('configmaps', undefined, namespace), {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { ...metadata, name, namespace },
          data: Object.fromEntries(Object.entries(data).filter(([, text]) => text !== null)),
          ...more,
        })
      : await client.mergePatch(resourcePath('configmaps', name, namespace), {
          metadata: { ...metadata, resourceVersion: version },
          data,
          ...more,
        })
  return written as ConfigMap
}

/** Writes into a ConfigMap, whatever others wrote. Creates it when there is something to set. Returns it; undefined: there is none. */
async function replaceConfigMap(
  client: KubernetesClient,
  ref: ConfigMapRef,
  written: Written,
): Promise<ConfigMap | undefined> {
  const patch = async () =>
    (await client.mergePatch(resourcePath('configmaps', ref.name, ref.namespace), { ...written })) as ConfigMap
  const found = await patch().catch(expecting(isNotFound, undefined))
  if (found !== undefined || Object.values(written.data).every((text) => text === null)) return found
  const made = await putConfigMap(client, { ...ref, version: undefined }, written).catch(
    expecting(isConflict, undefined),
  )
  // Another process created it in between: then it can be patched.
  return made ?? patch()
}

/**
 * Sets entries of a ConfigMap, and removes those that are null; the others stay. Creates it when there is something to set. Returns all
 * entries as they are afterwards.
 */
export async function writeConfigMap(
  client: KubernetesClient,
  ref: ConfigMapRef,
  data: Written['data'],
): Promise<Readonly<Record<string, string>>> {
  return (await replaceConfigMap(client, ref, { data }))?.data ?? {}
}
