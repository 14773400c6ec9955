import type { KubernetesClient } from './client.ts'

/** Delays before the checks: an API server that has just started forbids requests until it has read its roles. */
const looksAfterMs = [3000, 10_000]

interface Right {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
}

/** Returns the right that a refusal by RBAC names. Undefined when it names none, as when an event comes too late for its namespace. */
export function refusedRight(message: string): Right | undefined {
  const found =
    /(?:^| )[a-z0-9.]+(?: "(?<name>[^"]*)")? is forbidden: User "[^"]*" cannot (?<verb>\w+) resource "(?<resource>[^"/]+)(?:\/(?<subresource>[^"]+))?" in API group "(?<group>[^"]*)"(?: in the namespace "(?<namespace>[^"]+)")?/.exec(
      message,
    )
  if (found === null) return undefined
  return Object.fromEntries(Object.entries(found.groups ?? {}).filter(([, value]) => value !== undefined)) as never
}

/** Reports refusals by RBAC that the API server confirms some seconds later. */
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

  /** Records that a request was answered with 403. */
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

  /** Undefined when the API server does not answer. */
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
