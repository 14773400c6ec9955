import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { isForbidden, isNotFound } from '../../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../../activities/kubernetes/client/client.ts'
import { printableStart } from '../../../../core/values/printable.ts'

const longestReason = 200

/** Reads lists of a cluster, as far as the user's rights allow, and keeps what could not be read. It only gets and lists. */
export class TolerantReader {
  readonly #client: KubernetesClient
  /** What was not read, and why, a sentence each. */
  readonly unread: string[] = []

  constructor(client: KubernetesClient) {
    this.#client = client
  }

  /**
   * Returns all objects of a kind; undefined without the right to list them. A kind that the cluster does not have has no objects. What cannot be understood is
   * left out and counted. Errors: what else the API server says.
   */
  async all<T>(path: string, decode: (json: Json) => T): Promise<readonly T[] | undefined> {
    const found: T[] = []
    const odd: string[] = []
    const kind = path.slice(path.lastIndexOf('/') + 1)
    try {
      for await (const page of this.#client.listPages(path))
        for (const json of page.items) {
          try {
            found.push(decode(json))
          } catch (error) {
            odd.push(`${nameOf(json)} (${printableStart((error as Error).message, longestReason)})`)
          }
        }
    } catch (error) {
      if (isNotFound(error)) return []
      if (!isForbidden(error)) throw error
      this.unread.push(`${kind}: you may not list them (kubectl auth can-i list ${kind} --all-namespaces)`)
      return undefined
    }
    if (odd.length > 0) this.unread.push(`${odd.length} of the ${kind}, which are not as their kind is: ${odd[0]}`)
    return found
  }

  /** Returns an object; undefined where there is none, or where it may not be read. */
  async one(path: string, what: string): Promise<Json | undefined> {
    try {
      return await this.#client.get(path)
    } catch (error) {
      if (isNotFound(error)) return undefined
      if (!isForbidden(error)) throw error
      this.unread.push(`${what}: you may not read it`)
      return undefined
    }
  }
}

function nameOf({ metadata }: Json): string {
  const { name, namespace } = (metadata ?? {}) as { readonly name?: unknown; readonly namespace?: unknown }
  return printableStart([namespace, name].filter((part) => typeof part === 'string').join('/'), longestReason)
}
