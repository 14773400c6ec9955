/** Resolves in the next turn of the event loop, after heartbeats, watches and requests had theirs. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
