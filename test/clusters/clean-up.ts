import { patient } from '../runner/patience.ts'

/** A step of a clean-up. */
export interface CleanUpStep {
  /** What is waited for, as it is when the time is over. */
  readonly what: () => string
  readonly work: () => Promise<unknown>
  readonly ms?: number
}

/** Runs the steps of a clean-up in order, each with a deadline, and the later ones also after one has failed. Errors: the first that failed, or did not end in time. */
export async function cleanUp(steps: readonly CleanUpStep[]): Promise<void> {
  const errors: unknown[] = []
  for (const step of steps) await within(step).catch((error: unknown) => errors.push(error))
  if (errors.length > 0) throw errors[0]
}

async function within({ what, work, ms = patient(30_000) }: CleanUpStep): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the clean-up waited ${ms / 1000} s for ${what()}`)), ms)
  })
  try {
    await Promise.race([work(), deadline])
  } finally {
    clearTimeout(timer)
  }
}

/** Ends this process, whose work is done, when something keeps it running: prints what that is, and exits with 1. */
export function exitSoon(ms = 10_000): void {
  const exit = () => {
    const kept = process.getActiveResourcesInfo().join(', ')
    console.error(`all is done, and ${ms / 1000} s later the process still runs because of: ${kept}`)
    process.exit(1)
  }
  // The timer itself keeps nothing running.
  setTimeout(exit, ms).unref()
}
