import { isGrpcServiceError } from '@temporalio/client'

const invalidArgument = 3
/** How long workflows start without search attributes after a refusal, before it is tried with them again: Joiner makes them again meanwhile. */
const withoutMs = 30_000

/** Starts of workflows with search attributes. These are decoration: a start that Temporal refuses for them is repeated without. */
export class AttributedStarts {
  readonly #now: () => number
  #hasAttributes = true
  /** Until when workflows start without search attributes, since Temporal refused one for them. Epoch ms. */
  #withoutUntilMs = 0

  /** `now`: epoch ms. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Says whether Temporal's namespace has the search attributes; a start that names an unknown one would fail. */
  useAttributes(areUsable: boolean): void {
    this.#hasAttributes = areUsable
  }

  /** Starts a workflow, without attributes where Temporal refuses them, and so those of the next moments. Errors: those of `start`. */
  async start(start: (areUsable: boolean) => Promise<unknown>): Promise<void> {
    const areUsable = this.#hasAttributes && this.#now() >= this.#withoutUntilMs
    try {
      await start(areUsable)
    } catch (error) {
      if (!areUsable || !namesAttribute(error)) throw error
      this.#withoutUntilMs = this.#now() + withoutMs
      await start(false)
    }
  }
}

/** Whether Temporal refuses a start since the namespace lacks a search attribute, or has it with another type. */
function namesAttribute(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    const code: number = isGrpcServiceError(each) ? each.code : 0
    if (code === invalidArgument) return /search attribute/i.test(each.message)
  }
  return false
}
