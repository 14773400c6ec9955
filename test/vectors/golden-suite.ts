import { describe, it } from 'vitest'
import { readVectors } from './packs.ts'

/** What of a file a suite is about. */
interface GoldenScope {
  /** Which of the file's cases the suite compares; all of `cases` by default. */
  readonly of?: (file: never) => readonly unknown[]
  /** What of the cases is not compared, as it is printed beside their number. */
  readonly leavesOut?: string
}

/**
 * A suite on the cases of one file of the golden vectors, such as `azure/errors`. It prints how many cases there are. `count` is how many
 * are known to be in the file; `define` says what it takes the file to be. Errors: the file is missing, which fails the suite.
 */
export function goldenSuite(path: string, count: number, define: (file: never) => void, scope: GoldenScope = {}): void {
  const file = readVectors(path)
  const cases = scope.of?.(file as never) ?? (file as { readonly cases: readonly unknown[] }).cases
  describe(path, () => {
    define(file as never)
    it('holds all the cases that are known', ({ expect }) => {
      console.log(
        `${path}: ${cases.length} cases${scope.leavesOut === undefined ? '' : `, without ${scope.leavesOut}`}`,
      )
      expect(cases.length).toBeGreaterThanOrEqual(count)
    })
  })
}
