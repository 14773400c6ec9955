/** How many times longer than written a suite waits: suites that share a busy machine with others wait longer than those that hold Joiner to seconds. */
const factor = Number(process.env['JOINER_TEST_PATIENCE'] ?? 1)

/** How long a wait of so many ms lasts at most in this run. */
export function patient(ms: number): number {
  return ms * factor
}
