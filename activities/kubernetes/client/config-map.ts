import type { NoteFaults } from '../../../api/kept/document.ts'
import type { Parts } from '../parts.ts'
import type { Json } from './answers.ts'
import { isConflict, isNotFound } from './api-error.ts'
import type { KubernetesClient } from './client.ts'
import { resourcePath } from './resources.ts'

export interface ConfigMapRef {
  readonly name: string
  readonly namespace: string
}

/** Where Joiner's ConfigMaps are read from. */
export interface KeptSource extends Pick<Parts, 'client' | 'namespace'> {
  /** Takes what of their documents cannot be read. Unset: it is left out. */
  readonly note?: NoteFaults
}

/** Returns the entries of a ConfigMap, read from the API server; undefined when there is no such ConfigMap. */
export async function readConfigMap(
  client: KubernetesClient,
  { name, namespace }: ConfigMapRef,
): Promise<Readonly<Record<string, string>> | undefined> {
  try {
    return entriesOf(await client.get(resourcePath('configmaps', name, namespace)))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/**
 * Sets entries of a ConfigMap, and removes those that are null; the others stay. Creates it when there is something to set. Returns all
 * entries as they are afterwards.
 */
export async function writeConfigMap(
  client: KubernetesClient,
  { name, namespace }: ConfigMapRef,
  entries: Readonly<Record<string, string | null>>,
): Promise<Readonly<Record<string, string>>> {
  const path = resourcePath('configmaps', name, namespace)
  try {
    return entriesOf(await client.mergePatch(path, { data: entries }))
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  const data = Object.fromEntries(
    Object.entries(entries).filter((entry): entry is [string, string] => entry[1] !== null),
  )
  if (Object.keys(data).length === 0) return {}
  try {
    await client.create(resourcePath('configmaps', undefined, namespace), {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace },
      data,
    })
    return data
  } catch (error) {
    // Another process created it in between: then it can be patched.
    if (!isConflict(error)) throw error
    return entriesOf(await client.mergePatch(path, { data: entries }))
  }
}

function entriesOf({ data }: Json): Readonly<Record<string, string>> {
  return (data ?? {}) as Record<string, string>
}
