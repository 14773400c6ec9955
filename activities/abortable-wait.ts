/** Resolves after a time, or as soon as the signal fires. */
export function pauseOf(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve()
      return
    }
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
  })
}

/** Resolves when `subscribe`'s callback is called. Rejects when the signal fires, also where it has fired already. */
export function untilCalled(subscribe: (called: () => void) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancelled = () => reject(signal.reason instanceof Error ? signal.reason : new Error('the wait was cancelled'))
    if (signal.aborted) return cancelled()
    signal.addEventListener('abort', cancelled, { once: true })
    subscribe(() => {
      signal.removeEventListener('abort', cancelled)
      resolve()
    })
  })
}

/** Resolves when the signal fires. */
export function whenAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
}

/** Waits; ends after `ms` as `timeout`. */
export async function untilDeadline<T>(
  ms: number,
  signal: AbortSignal,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T | 'timeout'> {
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), Math.max(ms, 1))
  try {
    return await wait(AbortSignal.any([signal, deadline.signal]))
  } catch (error) {
    if (deadline.signal.aborted && !signal.aborted) return 'timeout'
    throw error
  } finally {
    clearTimeout(timer)
  }
}
