import { z } from 'zod'
import { parseGoDuration } from '../../core/values/duration.ts'

/** A Go duration in the environment, in milliseconds. */
export const duration = z.string().transform((text, context) => {
  const nanoseconds = parseGoDuration(text)
  if (nanoseconds === undefined || nanoseconds < 0n) context.addIssue('is not a duration such as 500ms, 10s or 1m30s')
  return Number((nanoseconds ?? 0n) / 1_000_000n)
})

/** Required text. `what` ends the sentence "set it to". */
export const required = (what: string) =>
  z.string({ error: `is missing: set it to ${what}` }).min(1, `is empty: set it to ${what}`)

/** Optional text; empty counts as absent. */
export const optionalText = z
  .string()
  .optional()
  .transform((text) => (text === '' ? undefined : text))

export const port = z.coerce.number().int().min(0).max(65535)

export const commaList = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
)

/** A boolean in Go's spellings; empty means `otherwise`, as unset does. */
export const flag = (otherwise: boolean) =>
  z
    .string()
    .default('')
    .refine((text) => text === '' || /^(true|false|1|0|t|f)$/i.test(text), 'is not a switch; use true or false')
    .transform((text) => (text === '' ? otherwise : isTrue(text)))

/** Whether a boolean of the environment is on. */
export function isTrue(text: string | undefined): boolean {
  return /^(true|1|t)$/i.test(text ?? '')
}
