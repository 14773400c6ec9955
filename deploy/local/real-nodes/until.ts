import { underLoad } from '../machine-load.ts'

/** Waits for a condition; a look that fails counts as not yet. `ms` is its limit on a quiet machine. Errors: what did not come, and what the last look said. */
export async function until(what: string, ms: number, look: () => Promise<boolean>): Promise<void> {
  const startedAtMs = Date.now()
  let failure = ''
  for (;;) {
    const isSo = await look().catch((error: unknown) => {
      failure = String(error).slice(0, 500)
      return false
    })
    if (isSo) return
    const limit = underLoad(ms)
    if (Date.now() > startedAtMs + limit)
      throw new Error(`${what}: not within ${Math.round(limit / 1000)} s${failure === '' ? '' : `; ${failure}`}`)
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}
