import type { parse } from '@bufbuild/cel'
import type { z } from 'zod'

/** What an expression is parsed into. */
export type SyntaxTree = ReturnType<typeof parse>['expr']

/** Makes the syntax trees of expressions, by text. The bundled program has those of the CRDs and policies here (`deploy/parse-ahead.ts`), sources have none. */
export const parsedAhead: ReadonlyMap<string, () => SyntaxTree> = new Map()

/** Reads schemas as JSON, which the bundled program has here as well. */
export const schemasAhead: ReadonlyMap<z.ZodType, () => Readonly<Record<string, unknown>>> = new Map()
