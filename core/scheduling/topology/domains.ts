import { allows, type Requirement } from '../../requirements/requirement.ts'

/** The domains of all topology keys, numbered by key, and which of them a requirement allows. */
export class Domains {
  readonly #ids = new Map<string, Map<string, number>>()
  readonly #names = new Map<string, string[]>()
  readonly #allowed = new WeakMap<Requirement, (boolean | undefined)[]>()

  id(key: string, name: string): number {
    let ids = this.#ids.get(key)
    if (ids === undefined) {
      ids = new Map()
      this.#ids.set(key, ids)
      this.#names.set(key, [])
    }
    const known = ids.get(name)
    if (known !== undefined) return known
    const id = ids.size
    ids.set(name, id)
    this.#names.get(key)?.push(name)
    return id
  }

  name(key: string, id: number): string {
    return (this.#names.get(key) as string[])[id] as string
  }

  allows(requirement: Requirement, key: string, domain: number): boolean {
    let allowed = this.#allowed.get(requirement)
    if (allowed === undefined) {
      allowed = []
      this.#allowed.set(requirement, allowed)
    }
    return (allowed[domain] ??= allows(requirement, this.name(key, domain)))
  }
}
