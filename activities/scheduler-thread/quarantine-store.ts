import { createHash } from 'node:crypto'
import { formatEntry, parseEntries, type QuarantineEntries, type QuarantineEntry } from '../../core/quarantine.ts'
import type { KubernetesClient } from '../kubernetes/client/client.ts'
import { readConfigMap, writeConfigMap } from '../kubernetes/client/config-map.ts'

const name = 'joiner-quarantine'

/** The ConfigMap in Joiner's namespace that holds quarantined objects, one entry each. Errors: the API server's. */
export class QuarantineStore {
  readonly #client: KubernetesClient
  readonly #ref: { readonly name: string; readonly namespace: string }

  constructor(client: KubernetesClient, namespace: string) {
    this.#client = client
    this.#ref = { name, namespace }
  }

  async read(): Promise<QuarantineEntries> {
    return parseEntries(Object.values((await readConfigMap(this.#client, this.#ref)) ?? {}))
  }

  async add(entry: QuarantineEntry): Promise<void> {
    await writeConfigMap(this.#client, this.#ref, { [keyOf(entry.id)]: formatEntry(entry) })
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await writeConfigMap(this.#client, this.#ref, Object.fromEntries(ids.map((id) => [keyOf(id), null])))
  }
}

/** Returns an id as a ConfigMap key, which takes no slashes. */
function keyOf(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 16)
}
