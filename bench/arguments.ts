// What the arguments of benchmarks may be.
import { InvalidArgumentError } from 'commander'
import { type Cloud, clouds } from '../deploy/local/cluster.ts'

/** `5,100` -> [5, 100]. */
export function counts(text: string): readonly number[] {
  const values = text.split(',').map(Number)
  if (!values.every((value) => Number.isSafeInteger(value) && value > 0))
    throw new InvalidArgumentError(`"${text}" is not a list of positive numbers like 5,100.`)
  return values
}

export function count(text: string): number {
  const [value, ...more] = counts(text)
  if (value === undefined || more.length > 0) throw new InvalidArgumentError(`"${text}" is not one positive number.`)
  return value
}

/** From 0 on: a seed, or the number of one in a row. */
export function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError(`"${text}" is not a whole number from 0.`)
  return value
}

/** `instant,boot` -> both, each once. */
export function cloudNames(text: string): readonly Cloud[] {
  const names = [...new Set(text.split(','))]
  const isCloud = (name: string): name is Cloud => (clouds as readonly string[]).includes(name)
  if (!names.every(isCloud)) throw new InvalidArgumentError(`"${text}" is not boot, instant, or both as instant,boot.`)
  return names
}
