import type { KubernetesClient } from './client.ts'

/** An API server that has just started refuses what it allows a moment later: it has not read its roles yet. */
const looksAfterMs = [3000, 10_000]

interface Right {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
}

/** The right that a refusal by RBAC speaks of. Undefined: it speaks of none, as when an event comes too late for its namespace. */
export function refusedRight(message: string): Right | undefined {
  const found =
    /(?:^| )[a-z0-9.]+(?: "(?<name>[^"]*)")? is forbidden: User "[^"]*" cannot (?<verb>\w+) resource "(?<resource>[^"/]+)(?:\/(?<subresource>[^"]+))?" in API group "(?<group>[^"]*)"(?: in the namespace "(?<namespace>[^"]+)")?/.exec(
      message,
    )
  if (found === null) return undefined
  return Object.fromEntries(Object.entries(found.groups ?? {}).filter(([, value]) => value !== undefined)) as never
}

/** Reports refusals by RBAC that are still true some seconds later, by the API server's own word. */
export class MissingRights {
  readonly #client: Pick<KubernetesClient, 'create'>
  readonly #report: (reason: string) => void
  readonly #looksAfterMs: readonly number[]
  readonly #pending = new Set<string>()

  constructor(
    client: Pick<KubernetesClient, 'create'>,
    report: (reason: string) => void,
    looks: readonly number[] = looksAfterMs,
  ) {
    this.#client = client
    this.#report = report
    this.#looksAfterMs = looks
  }

  /** Notes that a request was answered with 403. */
  refused(message: string): void {
    const right = refusedRight(message)
    if (right === undefined || this.#pending.has(message)) return
    this.#pending.add(message)
    void this.#look(right).then((isMissing) => {
      this.#pending.delete(message)
      if (isMissing) this.#report(message)
    })
  }

  async #look(right: Right): Promise<boolean> {
    for (const waitMs of this.#looksAfterMs) {
      await new Promise((resolve) => setTimeout(resolve, waitMs).unref())
      if ((await this.#isAllowed(right)) !== false) return false
    }
    return true
  }

  /** Undefined: the API server does not say. */
  async #isAllowed(right: Right): Promise<boolean | undefined> {
    try {
      const { status } = await this.#client.create('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: right },
      })
      return (status as { readonly allowed: boolean }).allowed
    } catch {
      return undefined
    }
  }
}
