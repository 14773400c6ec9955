import { describe, expect, it } from 'vitest'
import { goldenSuite } from './golden-suite.ts'

/** A case of a small pure function: its result, or that it throws (the text of an error binds nobody). */
interface FunctionCase {
  readonly name: string
  readonly function: string
  readonly input: never
  readonly output?: unknown
  readonly error?: string
}

/** A suite on functions of the golden vectors by their names there: how many cases are known of each, and the function of the product. */
export function goldenFunctions(
  functions: Readonly<Record<string, readonly [count: number, run: (input: never) => unknown]>>,
): void {
  const casesOf = ({ cases }: { readonly cases: readonly FunctionCase[] }) =>
    cases.filter((golden) => Object.hasOwn(functions, golden.function))
  const count = Object.values(functions).reduce((sum, [known]) => sum + known, 0)
  goldenSuite(
    'azure/functions',
    count,
    (file: { readonly cases: readonly FunctionCase[] }) => {
      for (const [name, [known, run]] of Object.entries(functions)) {
        const own = casesOf(file).filter((golden) => golden.function === name)
        describe(name, () => {
          it(`has ${known} cases at least`, () => expect(own.length).toBeGreaterThanOrEqual(known))
          it.each(own)('$name', ({ input, output, error }) => {
            if (error === undefined) expect(run(input)).toEqual(output)
            else expect(() => run(input)).toThrow()
          })
        })
      }
    },
    { of: casesOf },
  )
}
