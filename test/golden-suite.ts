import { describe, it } from 'vitest'
import { hasGoldenCases, readGolden } from './golden-cases.ts'

/**
 * A suite on the cases of one file of the reference data. It prints how many cases there are; where the data is absent, one skipped test
 * says how many were left out. `count` is how many cases are known to be in the file; `define` says what it takes the file to be.
 */
export function goldenSuite(path: string, count: number, define: (file: never) => void): void {
  if (!hasGoldenCases) {
    describe(path, () => it.skip(`${count} cases are skipped: ../shared/azure does not lie beside the project`))
    return
  }
  const file = readGolden(path) as { readonly cases: readonly unknown[] }
  describe(path, () => {
    define(file as never)
    it('holds all the cases that are known', ({ expect }) => {
      console.log(`${path}: ${file.cases.length} cases`)
      expect(file.cases.length).toBeGreaterThanOrEqual(count)
    })
  })
}
